"""Natural language: Moses normalisation and tokenisation, by sacremoses."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from voi.extras import load_extra


@dataclass(frozen=True)
class Moses:
    """Words and punctuation marks of normalised text.

    Writing tokens back as text follows the rules of the target's language. The round trip is not
    exact: quotation marks and dashes are normalised, and which word a mark belonged to is a guess.

    Relative to the usual scripts: marks such as & and < stay themselves, not XML entities.
    """

    source_language: str = "en"
    target_language: str = "en"

    @cached_property
    def _source(self) -> "_Language":
        return _Language(self.source_language)

    @cached_property
    def _target(self) -> "_Language":
        return _Language(self.target_language)

    def source_tokens(self, text: str) -> list[str]:
        return self._source.tokens(text)

    def target_tokens(self, text: str) -> list[str]:
        return self._target.tokens(text)

    def text(self, tokens: Sequence[str]) -> str:
        return self._target.text(tokens)


class _Language:
    """The three tools of sacremoses for one language."""

    def __init__(self, language: str) -> None:
        moses: Any = load_extra("sacremoses", "text", 'data.tokens.pretokenizer = "moses"')
        self._normalizer = moses.MosesPunctNormalizer(lang=language)
        self._tokenizer = moses.MosesTokenizer(lang=language)
        self._detokenizer = moses.MosesDetokenizer(lang=language)

    def tokens(self, text: str) -> list[str]:
        return list(self._tokenizer.tokenize(self._normalizer.normalize(text), escape=False))

    def text(self, tokens: Sequence[str]) -> str:
        return str(self._detokenizer.detokenize(list(tokens), unescape=False))
