"""The pieces of a text with gaps -> their tokens, cut as in a whole text."""

import re
from collections.abc import Sequence

from voi.tokens.bpe import Subwords
from voi.tokens.words import Tokenizer


def tokens_around_gaps(pieces: Sequence[str], tokenizer: Tokenizer) -> list[list[str]]:
    """Return the target tokens of each piece of a text that has a gap between any two.

    They are those of the text with a word in every gap: how a piece is cut can depend on what
    follows it, and a piece of a line of code is none. A gap beside a letter is a word of its own.

    >>> from voi.tokens.python_code import PythonCode
    >>> tokens_around_gaps(["if x:\\n    ", " = foo(", ")"], PythonCode())
    [['if', 'x', ':', '⏎', '⇥'], ['=', 'foo', '('], [')']]
    """
    gap, whole = _word_beside(pieces), pieces[0]
    for piece in pieces[1:]:
        whole = _joined(_joined(whole, gap), piece)
    words = tokenizer.inner if isinstance(tokenizer, Subwords) else tokenizer
    around: list[list[str]] = [[]]
    for token in words.target_tokens(whole):
        first, *rest = _around(gap, token)
        around[-1] += first
        around += rest
    assert len(around) == len(pieces), "a word of letters stays one token, or part of one"
    if isinstance(tokenizer, Subwords):
        return [[x for word in found for x in tokenizer.pieces_of(word)] for found in around]
    return around


def _around(gap: str, token: str) -> list[list[str]]:
    """Return what stands before, between and after the gaps of a token; one without stays whole."""
    parts = re.split(gap, token, flags=re.IGNORECASE)  # its letters may be lowered
    if len(parts) == 1:
        return [[token]]
    return [[part.strip()] if part.strip() else [] for part in parts]


def _word_beside(pieces: Sequence[str]) -> str:
    """Return a word that stands in none of the pieces, written as at the start of a sentence.

    Nor in their letters alone: a tokenizer may remove what stands between them.
    """
    letters = ["".join(filter(str.isalnum, piece)).lower() for piece in pieces]
    word = "Gap"
    while any(word.lower() in each for each in letters):
        word += "p"
    return word


def _joined(left: str, right: str) -> str:
    """Return two texts as one in which no word or sentence goes on from one into the other."""
    touching = left[-1:] + right[:1]
    return f"{left} {right}" if re.fullmatch(r"[\w.!?]\w", touching) else left + right
