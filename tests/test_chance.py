"""Tolerances of statistical tests hold what they promise, and their seeds can be shifted."""

import random

import numpy as np
import pytest
import torch

from chance import assert_frequencies, errors, shift_seeds


def test_more_comparisons_have_more_room():
    assert errors() == pytest.approx(4)
    assert 4 < errors(2) < errors(100) < 5


@pytest.mark.parametrize(
    ("counts", "probabilities"),
    [
        ([7400, 2600], [0.75, 0.25]),  # 2.3 standard errors
        ([0, 1, 9999], [0.0, 0.0001, 0.9999]),
        ([10_000], [1.0000001]),  # rounding
        ([3], [0.00005]),  # 3.5 standard errors, and rare enough to be chance
    ],
)
def test_likely_counts_pass(counts, probabilities):
    assert_frequencies(counts, probabilities, 10_000)


@pytest.mark.parametrize(
    ("counts", "probabilities"),
    [
        ([7300, 2700], [0.75, 0.25]),  # 4.6 standard errors
        ([1, 9999], [0.0, 1.0]),  # impossible
        ([0, 10_000], [0.002, 0.998]),  # missing
        ([8], [0.00005]),
    ],
)
def test_unlikely_counts_fail(counts, probabilities):
    with pytest.raises(AssertionError, match="of 10000, expected"):
        assert_frequencies(counts, probabilities, 10_000)


def draws():
    torch.manual_seed(3)
    return [
        torch.rand(()).item(),
        torch.rand((), generator=torch.Generator().manual_seed(3)).item(),
        np.random.default_rng(3).random(),
        np.random.default_rng([3, 1]).random(),
        random.Random(3).random(),
    ]


def test_every_way_to_seed_is_shifted():
    usual = draws()
    assert draws() == usual
    with pytest.MonkeyPatch.context() as patched:
        shift_seeds(patched, 1)
        others = draws()
        assert draws() == others
    assert all(a != b for a, b in zip(usual, others, strict=True))
    assert draws() == usual
