"""Subwords: byte-pair encoding learned on source and target together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from voi.extras import load_extra
from voi.tokens.words import Tokenizer

MARK = "▁"  # stands before the first letter of every word


@dataclass(frozen=True)
class Subwords:
    """Another tokenizer's tokens, cut into pieces; the first piece of each starts with a mark.

    Joining the pieces restores the other tokenizer's tokens exactly, except that the mark (U+2581)
    inside a text is read as "_". A letter that no training text holds is a piece by itself, which
    no vocabulary knows.
    """

    inner: Tokenizer
    model: str  # as the tokenizers library writes it

    def source_tokens(self, text: str) -> list[str]:
        return self._pieces(self.inner.source_tokens(text))

    def target_tokens(self, text: str) -> list[str]:
        return self._pieces(self.inner.target_tokens(text))

    def text(self, tokens: Sequence[str]) -> str:
        return self.inner.text([word for word in "".join(tokens).split(MARK) if word])

    def pieces_of(self, word: str) -> tuple[str, ...]:
        """Return the pieces of one word."""
        return self._cut(word)

    def _pieces(self, words: Iterable[str]) -> list[str]:
        return [piece for word in words for piece in self._cut(word)]

    @cached_property
    def _cut(self) -> Any:
        library: Any = load_extra("tokenizers", "text", 'data.tokens.kind = "bpe"')
        model = library.Tokenizer.from_str(self.model).model
        letters = self.letters

        @lru_cache(maxsize=1 << 17)
        def cut(word: str) -> tuple[str, ...]:
            pieces: list[str] = []
            for is_known, run in groupby(_marked(word), letters.__contains__):
                text = "".join(run)
                pieces += [piece.value for piece in model.tokenize(text)] if is_known else text
            return tuple(pieces)

        return cut

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """All pieces that words are cut into, unknown letters aside."""
        library: Any = load_extra("tokenizers", "text", 'data.tokens.kind = "bpe"')
        return tuple(library.Tokenizer.from_str(self.model).get_vocab())

    @cached_property
    def letters(self) -> frozenset[str]:
        """The pieces that are one letter."""
        return frozenset(piece for piece in self.pieces if len(piece) == 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Subwords, (self.inner, self.model)  # what was cached stays behind


def learn_subwords(
    inner: Tokenizer, words: Iterable[Sequence[str]], size: int, min_count: int
) -> Subwords:
    """Return subwords learned from the words of many texts.

    The `size` counts all pieces. Two pieces seen together less than `min_count` times are not
    merged.
    """
    library: Any = load_extra("tokenizers", "text", 'data.tokens.kind = "bpe"')
    tokenizer = library.Tokenizer(library.models.BPE())
    trainer = library.trainers.BpeTrainer(
        vocab_size=size, min_frequency=min_count, show_progress=False
    )
    tokenizer.train_from_iterator(([_marked(word) for word in text] for text in words), trainer)
    return Subwords(inner, tokenizer.to_str())


def piece_counts(subwords: Subwords, word_counts: Counter[str]) -> Counter[str]:
    """Return how often each piece stands in texts with these words."""
    counts: Counter[str] = Counter()
    for word, count in word_counts.items():
        for piece in subwords.pieces_of(word):
            counts[piece] += count
    return counts


def _marked(word: str) -> str:
    return MARK + word.replace(MARK, "_")
