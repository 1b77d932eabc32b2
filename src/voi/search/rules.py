"""From text to rules: gaps, prefixes and keywords in the words of a user."""

from collections.abc import Sequence

from voi.data import Source
from voi.errors import DataError
from voi.search.constraints import Rules
from voi.tokens import UNK, Codec

GAP = "___"


def rules_with_gaps(text: str, codec: Codec, source: Source) -> Rules:
    """Return the rules of a text in which every `___` stands for one or more tokens."""
    pieces = text.split(GAP)
    if len(pieces) == 1:
        raise DataError(f"expected a text with {GAP} where something is missing, got {text!r}")
    given: list[int] = []
    gaps = [False]
    for i, piece in enumerate(pieces):
        ids = _known_ids(piece, codec, source)
        given += ids
        gaps += [False] * len(ids)
        gaps[-1] = gaps[-1] or i < len(pieces) - 1
    return Rules(tuple(given), open_slots=tuple(gaps), gaps=tuple(gaps))


def rules_with_prefix(text: str, codec: Codec, source: Source) -> Rules:
    """Return the rules of a text that is to be continued at its end."""
    given = tuple(_known_ids(text, codec, source))
    closed = (False,) * len(given)
    return Rules(given, open_slots=(*closed, True), gaps=(*closed, False))


def rules_with_keywords(
    words: Sequence[str], codec: Codec, source: Source, *, in_order: bool
) -> Rules:
    """Return the rules of a text in which all words appear, as ordered or in any order.

    A word of several tokens stays whole.
    """
    encoded = [_known_ids(word, codec, source) for word in words]
    if not in_order:
        return Rules(required=tuple(map(tuple, encoded)))
    given = tuple(i for ids in encoded for i in ids)
    is_open = [True]
    for ids in encoded:
        is_open += [False] * (len(ids) - 1) + [True]
    return Rules(given, tuple(is_open), (False,) * (len(given) + 1))


def _known_ids(text: str, codec: Codec, source: Source) -> list[int]:
    ids = codec.encode_target(text, source)
    if UNK in ids:
        unknown = [
            token
            for token in codec.tokenizer.target_tokens(text)
            if UNK in codec.encode_target(token, source)
        ]
        named = ", ".join(map(repr, unknown or [text]))
        raise DataError(
            f"{named} cannot stand in a text of this model: not in its vocabulary; use another word"
        )
    return ids
