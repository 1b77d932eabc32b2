"""Text -> tokens -> text: what a tokenizer is, and the plainest one."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class Tokenizer(Protocol):
    """Splits sources and targets; only targets need to be written back as text."""

    def source_tokens(self, text: str) -> list[str]:
        """Return the tokens of a source."""
        ...

    def target_tokens(self, text: str) -> list[str]:
        """Return the tokens of a target."""
        ...

    def text(self, tokens: Sequence[str]) -> str:
        """Return the text that target tokens stand for."""
        ...


@dataclass(frozen=True)
class Words:
    """Words between white space. The round trip is exact up to the amount of white space.

    >>> Words().text(Words().target_tokens(" a  b\\n"))
    'a b'
    """

    def source_tokens(self, text: str) -> list[str]:
        return text.split()

    def target_tokens(self, text: str) -> list[str]:
        return text.split()

    def text(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)


@dataclass(frozen=True)
class Folded:
    """Another tokenizer's tokens of a text whose letters were simplified first."""

    inner: Tokenizer
    lowercase: bool = False  # both sides
    strip_diacritics: bool = False  # of the source

    def source_tokens(self, text: str) -> list[str]:
        text = without_diacritics(text) if self.strip_diacritics else text
        return self.inner.source_tokens(text.lower() if self.lowercase else text)

    def target_tokens(self, text: str) -> list[str]:
        return self.inner.target_tokens(text.lower() if self.lowercase else text)

    def text(self, tokens: Sequence[str]) -> str:
        return self.inner.text(tokens)


def without_diacritics(text: str) -> str:
    """Return the text with the marks above and below its letters removed.

    Romanian texts write them differently or leave them out, which splits one word into several.

    >>> without_diacritics("Şi știința țării a început în sâmbătă")
    'Si stiinta tarii a inceput in sambata'
    """
    letters = unicodedata.normalize("NFD", text)
    kept = (letter for letter in letters if unicodedata.category(letter) != "Mn")
    return unicodedata.normalize("NFC", "".join(kept))
