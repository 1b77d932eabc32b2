"""A source and the tokens of a target, as they are, in ids: nothing is tokenised again."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from voi.batch import Batch, collate
from voi.data import Regions, Source
from voi.errors import DataError
from voi.pos import UNIVERSAL, Tagger, make_tagger
from voi.study.tagging import tagging_words
from voi.tokens import Codec, Corpus, Ragged


def frozen_batch(codec: Codec, source: Source, tokens: Sequence[str]) -> Batch:
    """Return a batch of one example; a generated target keeps the tokens it was written in."""
    if not tokens:
        raise DataError(
            "expected a target with at least one token, got none: take another example, or the "
            "reference target"
        )
    targets = Ragged.of([codec.target_ids(tokens, source)])
    tags = Ragged.of([_tag_numbers(codec, tokens)]) if codec.config.tags else None
    if isinstance(source, Regions):
        features, boxes = (Ragged.joined([part]) for part in (source.features, source.boxes))
        corpus = Corpus(targets, features=features, boxes=boxes, tags=tags)
    elif source is None:
        corpus = Corpus(targets, tags=tags)
    else:
        corpus = Corpus(targets, sources=Ragged.of([codec.encode_source(source)]), tags=tags)
    return collate(corpus, np.arange(1))


def _tag_numbers(codec: Codec, tokens: Sequence[str]) -> list[int]:
    """Return the parts of speech of tokens for a generator that sees them."""
    return [UNIVERSAL.index(tag) for tag in _tagger(codec.config.tags)(tokens)]


@cache
def _tagger(name: str) -> Tagger:
    return tagging_words(make_tagger(name))
