"""What one text must and must not hold: rules, made from a user's gaps, prefixes and keywords."""

from collections.abc import Sequence
from dataclasses import dataclass

from voi.data import Source
from voi.errors import DataError
from voi.tokens import UNK, Codec
from voi.tokens.bpe import MARK
from voi.tokens.gaps import tokens_around_gaps
from voi.tokens.vocabulary import SPECIALS

GAP = "___"


@dataclass(frozen=True)
class Rules:
    """The rules of one example, in token ids; voi.search.rule_state keeps them."""

    given: tuple[int, ...] = ()  # tokens that stand in the text, in reading order
    open_slots: tuple[bool, ...] = (True,)  # before, between and after them: may more be inserted?
    gaps: tuple[bool, ...] = (False,)  # must something be inserted there?
    required: tuple[tuple[int, ...], ...] = ()  # words that must be written, in any order
    joins: frozenset[int] = frozenset()  # pieces that lengthen the word on their left
    sealed: tuple[bool, ...] = ()  # right of a whole given word: no such piece may follow
    marks: frozenset[int] = frozenset()  # pieces without a letter, which fill no gap

    def __post_init__(self) -> None:
        for slots in (self.open_slots, self.gaps):
            if len(slots) != len(self.given) + 1:
                raise ValueError(f"expected {len(self.given) + 1} slots, got {len(slots)}")
        if any(gap > is_open for gap, is_open in zip(self.gaps, self.open_slots, strict=True)):
            raise ValueError("a gap must be an open slot")
        if self.required and not any(self.open_slots):
            raise ValueError("required words need an open slot")
        if not all(self.required):
            raise ValueError("a required word needs at least one token")

    @property
    def fills_before_given(self) -> bool:
        """Must something be written left of a word that is given?"""
        return any(self.gaps[:-1]) or (bool(self.required) and not self.open_slots[-1])

    @property
    def least_length(self) -> int:
        """A number of tokens that always suffices to obey."""
        return len(self.given) + sum(map(len, self.required)) + sum(self.gaps)


def check_lengths(rules: Sequence[Rules], max_length: int) -> None:
    """Raise where a text of `max_length` tokens cannot obey."""
    for i, rule in enumerate(rules):
        if rule.least_length > max_length:
            which = f"input {i + 1}" if len(rules) > 1 else "the target"
            raise DataError(
                f"{which} needs room for {rule.least_length} tokens (given words, gaps and "
                f"required words), the longest allowed text has {max_length}: raise "
                f"max_length (--max-length)"
            )


def rules_with_gaps(text: str, codec: Codec, source: Source) -> Rules:
    """Return the rules of a text in which every `___` stands for one or more tokens."""
    for word in text.split():
        if set(word) == {"_"} and word != GAP and UNK in codec.encode_target(word, source):
            raise DataError(f"a gap is {GAP}, three underscores, got {word!r} in {text!r}")
    pieces = text.split(GAP)
    if len(pieces) == 1:
        raise DataError(f"expected a text with {GAP} where something is missing, got {text!r}")
    given: list[int] = []
    gaps, sealed = [False], [False]
    around = tokens_around_gaps(pieces, codec.tokenizer)
    for i, (piece, tokens) in enumerate(zip(pieces, around, strict=True)):
        ids = _known_ids(tokens, codec, source)
        given += ids
        gaps += [False] * len(ids)
        sealed += [False] * len(ids)
        gaps[-1] = gaps[-1] or i < len(pieces) - 1
        sealed[-1] = sealed[-1] or (len(given) > 0 and piece[-1:].isspace())
    return Rules(
        tuple(given),
        tuple(gaps),
        tuple(gaps),
        joins=_joins(codec),
        sealed=tuple(sealed),
        marks=_marks(codec),
    )


def rules_with_prefix(text: str, codec: Codec, source: Source) -> Rules:
    """Return the rules of a text that is to be continued at its end."""
    tokens, _ = tokens_around_gaps((text, ""), codec.tokenizer)
    given = tuple(_known_ids(tokens, codec, source))
    closed = (False,) * len(given)
    return Rules(given, open_slots=(*closed, True), gaps=(*closed, False))


def rules_with_keywords(
    words: Sequence[str], codec: Codec, source: Source, *, in_order: bool
) -> Rules:
    """Return the rules of a text in which all words appear, as ordered or in any order.

    A word of several tokens stays whole.
    """
    cut = codec.tokenizer.target_tokens
    encoded = [_known_ids(cut(word), codec, source) for word in words]
    if not all(encoded):
        raise DataError(f"expected keywords, one in {list(words)} has no token: leave it out")
    if not in_order:
        return Rules(required=tuple(map(tuple, encoded)), joins=_joins(codec))
    given = tuple(i for ids in encoded for i in ids)
    is_open = [True]
    for ids in encoded:
        is_open += [False] * (len(ids) - 1) + [True]
    sealed = (False, *is_open[1:])  # a slot is open where a word has ended
    closed = (False,) * (len(given) + 1)
    return Rules(given, tuple(is_open), closed, joins=_joins(codec), sealed=sealed)


def _joins(codec: Codec) -> frozenset[int]:
    """Return the pieces that continue a word; none where tokens are words."""
    if codec.config.kind != "bpe":
        return frozenset()
    words = codec.vocabulary.words
    pieces = range(len(SPECIALS), len(words))
    return frozenset([UNK, *(i for i in pieces if not words[i].startswith(MARK))])


def _marks(codec: Codec) -> frozenset[int]:
    """Return the piece that is a mark alone; none where every word begins with it."""
    words = codec.vocabulary.words
    starts = [i for i, word in enumerate(words) if word.startswith(MARK)]
    bare = [i for i in starts if words[i] == MARK]
    return frozenset(bare if codec.config.kind == "bpe" and len(bare) < len(starts) else ())


def _known_ids(tokens: Sequence[str], codec: Codec, source: Source) -> list[int]:
    """Return the ids of tokens; unknown ones are an error that names them."""
    ids = codec.target_ids(tokens, source)
    unknown = [token for token, number in zip(tokens, ids, strict=True) if number == UNK]
    if unknown:
        named = ", ".join(map(repr, unknown))
        other = "only texts with gaps have gaps" if GAP in unknown else "use another word"
        raise DataError(
            f"{named} cannot stand in a text of this model: not in its vocabulary; {other}"
        )
    return ids
