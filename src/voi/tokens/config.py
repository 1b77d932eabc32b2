"""The settings of a codec, and the tokenizer they ask for."""

from dataclasses import dataclass
from typing import Literal

from voi.errors import ConfigError
from voi.tables import require_least, require_read
from voi.tokens.moses import Moses
from voi.tokens.python_code import PythonCode
from voi.tokens.words import Folded, Tokenizer, Words


@dataclass(frozen=True)
class TokensConfig:
    """How text becomes tokens: the table [data.tokens]."""

    kind: Literal["words", "bpe"] = "words"  # bpe: words are cut into pieces
    pretokenizer: Literal["whitespace", "moses", "code"] = "whitespace"  # text -> words
    source_language: str = "en"  # for moses
    target_language: str = "en"  # for moses
    lowercase: bool = False  # both sides
    strip_diacritics: bool = False  # of the source: Romanian ș -> s
    min_count: int = 1  # words of fewer examples are unknown; bpe: rarer pairs are not merged
    max_size: int = 0  # kind words: words in the vocabulary; 0: all
    size: int = 32000  # kind bpe: pieces in the vocabulary
    copy: bool = False  # kind words: unknown target words are copied from the source
    num_copies: int = 16  # different unknown words of one source that can be copied
    tags: str = ""  # a tagger whose tags the order generator may see: hanta, a file, or yours

    def __post_init__(self) -> None:
        require_least(self, "data.tokens.", min_count=1, max_size=0, size=1, num_copies=1)
        if self.kind == "bpe" and self.copy:
            raise ConfigError(
                'data.tokens.copy copies whole words: set data.tokens.kind = "words", '
                "or leave copying out, since pieces can spell any word"
            )
        is_bpe, where = self.kind == "bpe", "data.tokens."
        require_read(self, where, not is_bpe, "set data.tokens.size for bpe", "max_size")
        require_read(self, where, is_bpe, 'set data.tokens.kind = "bpe"', "size")
        require_read(self, where, self.copy, "set data.tokens.copy = true", "num_copies")


MANY_UNKNOWN = 0.1  # share of target tokens that a model should know


def unknown_advice(share: float, config: TokensConfig) -> str:
    """Return what to set if a large share of target tokens is unknown; empty if it is not.

    Where all words are known, or are pieces, none is left to be copied: the advice says so.

    >>> unknown_advice(0.5, TokensConfig(max_size=9))        # doctest: +ELLIPSIS
    '50.0% of the training target tokens are unknown: know all words with --set ...max_size=0, or...
    """
    if share <= MANY_UNKNOWN or config.kind == "bpe":
        return ""
    setting = "min_count=1" if config.min_count > 1 else "max_size=0"
    without = " --set data.tokens.copy=false" if config.copy else ""
    price = "; with either, no word is copied from its source any more" if config.copy else ""
    return (
        f"{share:.1%} of the training target tokens are unknown: know all words with "
        f"--set data.tokens.{setting}{without}, or cut them into pieces with "
        f"""--set 'data.tokens={{kind="bpe", size=8000}}'{price}"""
    )


def make_pretokenizer(config: TokensConfig) -> Tokenizer:
    """Return the tokenizer that splits texts into words."""
    tokenizer: Tokenizer = Words()
    if config.pretokenizer == "moses":
        tokenizer = Moses(config.source_language, config.target_language)
    elif config.pretokenizer == "code":
        tokenizer = PythonCode()
    if config.lowercase or config.strip_diacritics:
        return Folded(tokenizer, config.lowercase, config.strip_diacritics)
    return tokenizer
