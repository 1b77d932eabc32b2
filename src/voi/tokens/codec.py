"""Examples -> ids and back: a tokenizer and a vocabulary, stored together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from voi.data.example import Example, Source
from voi.pos import UNIVERSAL, Tagger, located_tagger, make_tagger
from voi.tables import from_table, to_table
from voi.tokens.bpe import Subwords, learn_subwords, piece_counts
from voi.tokens.config import TokensConfig, make_pretokenizer
from voi.tokens.copying import ids_with_copies, tokens_with_copies, unknown_words
from voi.tokens.tagging import tagging_words
from voi.tokens.vocabulary import END, PAD, START, UNK, Vocabulary
from voi.tokens.words import Tokenizer


@dataclass(frozen=True)
class Encoded:
    """One example in ids; START and END are left to the model."""

    source: list[int] | None  # None: no text
    target: list[int]
    tags: list[int] | None = None  # parts of speech of target tokens, if asked for


@dataclass(frozen=True)
class Codec:
    """Examples -> ids and back."""

    config: TokensConfig
    tokenizer: Tokenizer
    vocabulary: Vocabulary

    def encode(self, example: Example) -> Encoded:
        """Return both sides of an example in ids."""
        tokens = self.tokenizer.target_tokens(example.target)
        tags = self.tags(tokens) if self.config.tags else None
        if not isinstance(example.source, str):
            return Encoded(None, self.target_ids(tokens, None), tags)
        source = self.tokenizer.source_tokens(example.source)
        copied = unknown_words(source, self.vocabulary)
        return Encoded(
            ids_with_copies(source, copied, self.vocabulary),
            ids_with_copies(tokens, copied, self.vocabulary),
            tags,
        )

    def tags(self, tokens: Sequence[str]) -> list[int]:
        """Return the part of speech of every target token, by its number in UNIVERSAL.

        The pieces of a word have the word's.
        """
        return [UNIVERSAL.index(tag) for tag in tagging_words(self._tagger)(tokens)]

    @cached_property
    def _tagger(self) -> Tagger:
        return make_tagger(self.config.tags)

    def encode_source(self, text: str) -> list[int]:
        """Return a source text in ids."""
        tokens = self.tokenizer.source_tokens(text)
        return ids_with_copies(tokens, unknown_words(tokens, self.vocabulary), self.vocabulary)

    def knows_any(self, text: str) -> bool:
        """Return whether a word of a source text is in the vocabulary, not only to be copied."""
        return any(number >= self.vocabulary.copies.stop for number in self.encode_source(text))

    def encode_target(self, text: str, source: Source) -> list[int]:
        """Return a target text in ids; unknown words that stand in the source become copies."""
        return self.target_ids(self.tokenizer.target_tokens(text), source)

    def target_ids(self, tokens: Sequence[str], source: Source) -> list[int]:
        """Return the ids of target tokens; unknown ones that stand in the source become copies."""
        return ids_with_copies(tokens, self._copied(source), self.vocabulary)

    def unknown_tokens(self, tokens: Sequence[str], source: Source) -> list[str]:
        """Return the different target tokens that are neither in the vocabulary nor copied."""
        ids = self.target_ids(tokens, source)
        pairs = zip(tokens, ids, strict=True)
        return list(dict.fromkeys(token for token, number in pairs if number == UNK))

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
        table = {"config": to_table(self.config), "vocabulary": self.vocabulary.to_table()}
        return {**table, "bpe": _model(self.tokenizer)}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Codec":
        """Return the codec that `to_table` described."""
        config: TokensConfig = from_table(TokensConfig, table["config"], "data.tokens.")
        tokenizer = make_pretokenizer(config)
        if config.kind == "bpe":
            tokenizer = Subwords(tokenizer, table["bpe"])
        return cls(config, tokenizer, Vocabulary.from_table(table["vocabulary"]))


def _model(tokenizer: Tokenizer) -> str:
    return tokenizer.model if isinstance(tokenizer, Subwords) else ""


def build_codec(settings: Mapping[str, Any], examples: Iterable[Example]) -> Codec:
    """Return the codec for the training examples, as [data.tokens] describes it.

    A tagger's file is named by its absolute path, so that the codec finds it from anywhere.
    """
    config: TokensConfig = from_table(TokensConfig, settings, "data.tokens.")
    config = replace(config, tags=located_tagger(config.tags))
    examples = list(examples) if iter(examples) is examples else examples
    if config.kind == "bpe":
        return _subword_codec(config, examples)
    tokenizer = make_pretokenizer(config)
    words = _CountedWords(tokenizer, examples, with_examples=config.min_count > 1)
    for _ in words:
        pass
    rare = {word for word, count in words.examples.items() if count < config.min_count}
    num_copies = config.num_copies if config.copy else 0
    vocabulary = Vocabulary.build(words.sources, words.targets, rare, config.max_size, num_copies)
    return Codec(config, tokenizer, vocabulary)


class _CountedWords:
    """The words of each text, counted while they are read, so that one reading is enough.

    A word that can be copied stands on both sides of an example: only the number of examples tells
    whether it is rare, not how often it occurs.
    """

    def __init__(
        self, tokenizer: Tokenizer, examples: Iterable[Example], with_examples: bool = False
    ) -> None:
        self.sources: Counter[str] = Counter()
        self.targets: Counter[str] = Counter()
        self.examples: Counter[str] = Counter()  # in which a word stands, if asked for
        self._tokenizer = tokenizer
        self._read = examples
        self._with_examples = with_examples

    def __iter__(self) -> Iterator[list[str]]:
        for example in self._read:
            source: list[str] = []
            if isinstance(example.source, str):
                source = self._tokenizer.source_tokens(example.source)
                self.sources.update(source)
                yield source
            target = self._tokenizer.target_tokens(example.target)
            self.targets.update(target)
            yield target
            if self._with_examples:
                self.examples.update({*source, *target})


def shared_counts(tokenizer: Tokenizer, examples: Iterable[Example]) -> set[int]:
    """Return the numbers of examples of the words that stand on both sides of an example.

    >>> from voi.tokens.words import Words
    >>> shared_counts(Words(), [Example("a b", "a c"), Example("c d", "a d"), Example("b", "c")])
    {1, 2}
    """
    counts: Counter[str] = Counter()
    shared: set[str] = set()
    for example in examples:
        target = set(tokenizer.target_tokens(example.target))
        text = example.source if isinstance(example.source, str) else ""
        source = set(tokenizer.source_tokens(text))
        counts.update(source | target)
        shared |= source & target
    return {counts[word] for word in shared}


def _subword_codec(config: TokensConfig, examples: Iterable[Example]) -> Codec:
    pretokenizer = make_pretokenizer(config)
    words = _CountedWords(pretokenizer, examples)
    tokenizer = learn_subwords(pretokenizer, words, config.size, config.min_count)
    sources, targets = (piece_counts(tokenizer, side) for side in (words.sources, words.targets))
    sources.update(dict.fromkeys(tokenizer.pieces, 0))  # unseen pieces may be met later
    return Codec(config, tokenizer, Vocabulary.build(sources, targets))
