"""Epochs of a phase: which rows make its batches, and how many updates it has."""

import math

import numpy as np
from jaxtyping import Int64

from voi.batch import make_batches
from voi.config import Phase
from voi.tokens import Corpus


def epoch_batches(
    corpus: Corpus, phase: Phase, seed: int, number: int = 0, epoch: int = 0
) -> list[Int64[np.ndarray, " rows"]]:
    """Return the rows of all batches of an epoch; `number` is the phase's place in the run."""
    rng = np.random.default_rng([seed, number, epoch])
    lengths = corpus.targets.lengths, corpus.source_lengths
    return make_batches(*lengths, phase.batch_size, phase.max_tokens, rng)


def num_updates(corpus: Corpus, phase: Phase, seed: int) -> int:
    """Return the updates of a phase; epochs are counted in the batches of one epoch."""
    if phase.steps:
        return phase.steps
    per_epoch = len(epoch_batches(corpus, phase, seed)) / phase.accumulate
    return max(1, math.ceil(phase.epochs * per_epoch))
