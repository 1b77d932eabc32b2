"""Sums of resamples against sums of the examples that numpy draws, in chunks of any size."""

import tracemalloc

import numpy as np
import pytest

from voi import resampling
from voi.resampling import resampled_sums


@pytest.mark.parametrize("chunk", [1, 64, 200, 1 << 20])
def test_sums_are_those_of_the_drawn_examples(monkeypatch, chunk):
    monkeypatch.setattr(resampling, "CHUNK_DRAWS", chunk)
    values = np.random.default_rng(2).normal(size=(3, 64))
    found = resampled_sums(values, np.random.default_rng(5), 40)
    drawn = np.random.default_rng(5).choice(64, size=(40, 64), replace=True)
    counts = np.stack([np.bincount(row, minlength=64) for row in drawn])  # [resamples, num]
    np.testing.assert_allclose(found, values @ counts.T, atol=1e-12)
    monkeypatch.undo()
    assert (found == resampled_sums(values, np.random.default_rng(5), 40)).all()


def test_memory_does_not_grow_with_the_resamples():
    values = np.random.default_rng(0).normal(size=(1, 100_000))
    tracemalloc.start()
    resampled_sums(values, np.random.default_rng(0), 100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * values.nbytes / 2  # all draws at once take 100 * values.nbytes
