"""Parts of speech of tokens that may be pieces of words."""

from collections.abc import Sequence

from voi.pos import Tagger
from voi.tokens.bpe import MARK

NOTHING = "X"  # the universal tag of what is no word


def tagging_words(tagger: Tagger) -> Tagger:
    """Return a tagger that joins subwords before it tags; a piece has the tag of its word.

    The tagger sees no empty words; they are X.

    >>> tagging_words(lambda words: [word.upper() for word in words])(["▁a", "▁bu", "s"])
    ['A', 'BUS', 'BUS']
    >>> tagging_words(lambda words: [word.upper() for word in words])(["a", "bus"])
    ['A', 'BUS']
    """

    def tags(tokens: Sequence[str]) -> list[str]:
        words, places = _joined(tokens)
        shown = [word for word in words if word.strip()]
        found = iter(tagger(shown) if shown else ())
        by_word = [next(found) if word.strip() else NOTHING for word in words]
        return [by_word[place] for place in places]

    return tags


def _joined(tokens: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the words of pieces, and for each piece the index of its word."""
    if not any(token.startswith(MARK) for token in tokens):
        return list(tokens), list(range(len(tokens)))
    words: list[str] = []
    places = []
    for token in tokens:
        if token.startswith(MARK) or not words:
            words.append("")
        words[-1] += token.removeprefix(MARK)
        places.append(len(words) - 1)
    return words, places
