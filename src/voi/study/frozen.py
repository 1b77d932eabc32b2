"""A batch of one source and given target tokens, which are not tokenised again."""

from collections.abc import Sequence

import numpy as np

from voi.batch import Batch, collate
from voi.data import Source
from voi.errors import DataError
from voi.tokens import Codec, Corpus, Ragged


def frozen_batch(codec: Codec, source: Source, tokens: Sequence[str]) -> Batch:
    """Return a batch of one example; a generated target keeps the tokens it was written in."""
    if not tokens:
        raise DataError(
            "expected a target with at least one token, got none: take another example, or the "
            "reference target"
        )
    targets = Ragged.of([codec.target_ids(tokens, source)])
    tags = Ragged.of([codec.tags(tokens)]) if codec.config.tags else None
    return collate(Corpus.of_sources([source], codec, targets, tags), np.arange(1))
