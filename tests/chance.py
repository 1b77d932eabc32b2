"""Tolerances of statistical tests, and another seed for all of them.

A test marked `statistical` compares samples with an exact value. One comparison may be off by 4
standard errors, which chance exceeds in 1 of 16,000 runs. A test with more comparisons gives each a
little more room (`errors`), so that all of them together fail as rarely. No seed is a lucky one:
`make seeds` runs each test with 20 others, set by the test or by the library below it.
"""

import os
import random
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from scipy.stats import binom, norm

NUM_SEEDS = int(os.environ.get("VOI_TEST_SEEDS", "0"))  # further runs of each statistical test


def errors(num_comparisons: int = 1) -> float:
    """Return how many standard errors each of some comparisons may be off.

    >>> [round(errors(num), 2) for num in (1, 2, 24, 100)]
    [4.0, 4.16, 4.7, 4.98]
    """
    return float(norm.isf(norm.sf(4) / num_comparisons))


def assert_frequencies(counts: Iterable[float], probabilities: Iterable[float], total: int) -> None:
    """Assert that outcomes came up as often as their probabilities say, by binomial tails.

    The level is that of `errors`; tails hold for rare outcomes too, where counts are not normal.
    """
    found = np.array([float(count) for count in counts])
    expected = np.clip([float(p) for p in probabilities], 0.0, 1.0)
    assert len(found) == len(expected)
    tails = np.minimum(binom.cdf(found, total, expected), binom.sf(found - 1, total, expected))
    worst = tails.argmin()
    assert tails[worst] >= norm.sf(4) / len(found), (
        f"outcome {worst}: {found[worst]:.0f} of {total}, expected {total * expected[worst]:.1f}"
    )


def shift_seeds(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let all seeds that are given from now on, in tests or in the library, be others."""
    offset = 1000 * number

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + offset)

    class Random(random.Random):
        def __init__(self, seed: int | None = None) -> None:
            super().__init__(seed if seed is None else seed + offset)

    set_seed, new_rng = torch.manual_seed, np.random.default_rng

    def default_rng(seed=None):
        if isinstance(seed, int):
            return new_rng(seed + offset)
        return new_rng([seed[0] + offset, *seed[1:]] if isinstance(seed, list | tuple) else seed)

    monkeypatch.setattr(torch, "manual_seed", lambda seed: set_seed(seed + offset))
    monkeypatch.setattr(torch, "Generator", Generator)
    monkeypatch.setattr(random, "Random", Random)
    monkeypatch.setattr(np.random, "default_rng", default_rng)
