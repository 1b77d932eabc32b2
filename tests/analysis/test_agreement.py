"""Agreement of sampled orders, by hand."""

import numpy as np
import pytest
import torch

from voi.analysis.agreement import agreement, agreement_summaries
from voi.analysis.traces import Trace


def trace(samples):
    return Trace(
        target="a b c",
        tokens=("a", "b", "c"),
        order=(0, 1, 2),
        slots=(0, 1, 2),
        kind="inferred",
        samples=samples,
    )


def test_pairs_by_hand():
    # Of the three pairs one is identical; the other two move one token: 2 of 3 edits.
    found = agreement([[0, 1, 2], [1, 2, 0], [0, 1, 2]])
    assert found.num_samples == 3
    assert found.identical == pytest.approx(1 / 3)
    assert found.nld == pytest.approx((2 / 3 + 2 / 3) / 3)
    assert agreement(torch.tensor([[0, 1], [0, 1]])).identical == 1.0
    assert agreement([[], []]).nld == 0.0


def test_summary_averages_targets_with_samples():
    traces = [
        trace(((0, 1, 2), (0, 1, 2))),
        trace(((0, 1, 2), (2, 1, 0))),
        trace(((0, 1, 2),)),
        trace(None),
    ]
    nld, identical = agreement_summaries(traces, rng=np.random.default_rng(0))
    assert (nld.measure, nld.num, nld.mean) == ("nld", 2, pytest.approx(1 / 3))
    assert (identical.measure, identical.mean) == ("identical", 0.5)
    assert (identical.low, identical.high) == (0.0, 1.0)
    assert agreement_summaries(traces[2:], rng=np.random.default_rng(0)) == []


@pytest.mark.parametrize("samples", [[], [[0, 1]], [0, 1]])
def test_too_few_samples_are_explained(samples):
    with pytest.raises(ValueError, match="at least two orders"):
        agreement(samples)
