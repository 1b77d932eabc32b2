"""Examples -> ids and back: a tokenizer and a vocabulary, stored together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from voi.config import from_table, to_table
from voi.data.example import Example, Source
from voi.errors import ConfigError
from voi.tokens.copying import ids_with_copies, tokens_with_copies, unknown_words
from voi.tokens.vocabulary import END, PAD, START, Vocabulary
from voi.tokens.words import Folded, Tokenizer, Words


@dataclass(frozen=True)
class TokensConfig:
    """How text becomes tokens: the table [data.tokens]."""

    kind: Literal["words"] = "words"
    lowercase: bool = False  # both sides
    strip_diacritics: bool = False  # of the source: Romanian ș -> s
    min_count: int = 1  # words seen less often are unknown
    max_size: int = 0  # words in the vocabulary; 0: all
    copy: bool = False  # unknown target words that stand in the source are copied from it
    num_copies: int = 16  # different unknown words of one source that can be copied

    def __post_init__(self) -> None:
        for name, least in (("min_count", 1), ("max_size", 0), ("num_copies", 1)):
            if getattr(self, name) < least:
                raise ConfigError(
                    f"data.tokens.{name} must be at least {least}, got {getattr(self, name)}"
                )


@dataclass(frozen=True)
class Encoded:
    """One example in ids; START and END are left to the model."""

    source: list[int] | None  # None: no text
    target: list[int]


@dataclass(frozen=True)
class Codec:
    """Examples -> ids and back."""

    config: TokensConfig
    tokenizer: Tokenizer
    vocabulary: Vocabulary

    def encode(self, example: Example) -> Encoded:
        """Return both sides of an example in ids."""
        if not isinstance(example.source, str):
            return Encoded(None, self.encode_target(example.target, None))
        tokens = self.tokenizer.source_tokens(example.source)
        copied = unknown_words(tokens, self.vocabulary)
        target = self.tokenizer.target_tokens(example.target)
        return Encoded(
            ids_with_copies(tokens, copied, self.vocabulary),
            ids_with_copies(target, copied, self.vocabulary),
        )

    def encode_source(self, text: str) -> list[int]:
        """Return a source text in ids."""
        tokens = self.tokenizer.source_tokens(text)
        return ids_with_copies(tokens, unknown_words(tokens, self.vocabulary), self.vocabulary)

    def encode_target(self, text: str, source: Source) -> list[int]:
        """Return a target text in ids; unknown words that stand in the source become copies."""
        tokens = self.tokenizer.target_tokens(text)
        return ids_with_copies(tokens, self._copied(source), self.vocabulary)

    def decode(self, ids: Iterable[int], source: Source) -> list[str]:
        """Return the target tokens of ids, without PAD, START and END.

        Copies are restored from the source; what stays unknown is shown as "<unk>".
        """
        written = [number for number in ids if number not in (PAD, START, END)]
        return tokens_with_copies(written, self._copied(source), self.vocabulary)

    def text(self, tokens: Sequence[str]) -> str:
        """Return the text of target tokens."""
        return self.tokenizer.text(tokens)

    def _copied(self, source: Source) -> list[str]:
        if not self.vocabulary.num_copies or not isinstance(source, str):
            return []
        return unknown_words(self.tokenizer.source_tokens(source), self.vocabulary)

    def to_table(self) -> dict[str, Any]:
        """Return plain values for JSON from which `from_table` rebuilds the codec."""
        return {"config": to_table(self.config), "vocabulary": self.vocabulary.to_table()}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Codec":
        """Return the codec that `to_table` described."""
        config: TokensConfig = from_table(TokensConfig, table["config"], "data.tokens.")
        return cls(config, _pretokenizer(config), Vocabulary.from_table(table["vocabulary"]))


def build_codec(settings: Mapping[str, Any], examples: Iterable[Example]) -> Codec:
    """Return the codec for the training examples, as [data.tokens] describes it."""
    config: TokensConfig = from_table(TokensConfig, settings, "data.tokens.")
    tokenizer = _pretokenizer(config)
    examples = list(examples) if iter(examples) is examples else examples
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for example in examples:
        if isinstance(example.source, str):
            sources.update(tokenizer.source_tokens(example.source))
        targets.update(tokenizer.target_tokens(example.target))
    num_copies = config.num_copies if config.copy else 0
    vocabulary = Vocabulary.build(sources, targets, config.min_count, config.max_size, num_copies)
    codec = Codec(config, tokenizer, vocabulary)
    return _with_counted_copies(codec, examples) if config.copy else codec


def _pretokenizer(config: TokensConfig) -> Tokenizer:
    if config.lowercase or config.strip_diacritics:
        return Folded(Words(), config.lowercase, config.strip_diacritics)
    return Words()


def _with_counted_copies(codec: Codec, examples: Iterable[Example]) -> Codec:
    """Return the codec with the counts of target ids as they are after copying."""
    counts: Counter[int] = Counter()
    for example in examples:
        counts.update(codec.encode(example).target)
    vocabulary = codec.vocabulary.with_counts([counts[i] for i in range(len(codec.vocabulary))])
    return Codec(codec.config, codec.tokenizer, vocabulary)
