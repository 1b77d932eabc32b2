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
    """Another tokenizer's tokens with their letters simplified.

    Tokens are made first: where a sentence ends can depend on capital letters.
    """

    inner: Tokenizer
    lowercase: bool = False  # both sides
    strip_diacritics: bool = False  # of the source

    def source_tokens(self, text: str) -> list[str]:
        tokens = self._lower(self.inner.source_tokens(text))
        if not self.strip_diacritics:
            return tokens
        stripped = map(without_diacritics, tokens)
        return [token for token in stripped if token]  # a token may be nothing but a mark

    def target_tokens(self, text: str) -> list[str]:
        return self._lower(self.inner.target_tokens(text))

    def text(self, tokens: Sequence[str]) -> str:
        return self.inner.text(tokens)

    def _lower(self, tokens: list[str]) -> list[str]:
        return [token.lower() for token in tokens] if self.lowercase else tokens


def without_diacritics(text: str) -> str:
    """Return the text with the marks above and below its letters removed.

    Romanian texts write them differently or leave them out, which splits one word into several.

    >>> without_diacritics("Şi știința țării a început în sâmbătă")
    'Si stiinta tarii a inceput in sambata'
    """
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFD", text)
    kept = (letter for letter in letters if unicodedata.category(letter) != "Mn")
    return unicodedata.normalize("NFC", "".join(kept))
