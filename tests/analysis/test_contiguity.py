"""Contiguity by hand, by its definition in words, and by enumeration."""

from itertools import permutations

import numpy as np
import pytest
import torch

from voi.analysis.contiguity import contiguity, contiguity_summaries
from voi.analysis.slots import slots_of
from voi.analysis.traces import Trace


def trace(order):
    return Trace(
        target="",
        tokens=("w",) * len(order),
        order=tuple(order),
        slots=slots_of(order),
        kind="inferred",
    )


def stands_beside(order, t):
    """Whether no token written before step t stands between the tokens of steps t - 1 and t."""
    low, high = sorted(order[t - 1 : t + 1])
    return not any(low < position < high for position in order[:t])


@pytest.mark.parametrize(
    ("order", "final", "written"),
    [
        ([0, 1, 2, 3], 1.0, 1.0),
        ([3, 2, 1, 0], 1.0, 1.0),
        ([0, 3, 1, 2], 1 / 3, 1.0),
        ([1, 3, 0, 2], 0.0, 1 / 3),  # 3 beside 1; 0 and 3 have 1 between; 2 and 0 have 1 between
        ([1, 0], 1.0, 1.0),
    ],
)
def test_by_hand(order, final, written):
    found = contiguity(order)
    assert (found.num_steps, found.final, found.written) == (
        len(order) - 1,
        pytest.approx(final),
        pytest.approx(written),
    )
    assert contiguity(torch.tensor(order)) == contiguity(np.array(order, dtype=np.uint8)) == found


def test_all_orders_of_five_and_their_average():
    orders = list(permutations(range(5)))
    found = [contiguity(order) for order in orders]
    for order, one in zip(orders, found, strict=True):
        beside = [stands_beside(order, t) for t in range(1, 5)]
        assert one.written == pytest.approx(np.mean(beside))
        assert one.final <= one.written
    assert np.mean([one.final for one in found]) == pytest.approx(found[0].final_chance)
    assert np.mean([one.written for one in found]) == pytest.approx(found[0].written_chance)


def test_summary_weighs_steps():
    # One step out of one, and one out of three.
    traces = [trace([0, 1]), trace([0, 3, 1, 2]), trace([0]), trace([])]
    final, written = contiguity_summaries(traces, rng=np.random.default_rng(0))
    assert (final.neighbour, final.num, final.mean) == ("final", 2, pytest.approx(2 / 4))
    assert (written.neighbour, written.mean) == ("written", pytest.approx(1.0))
    assert (final.low, final.high) == pytest.approx((1 / 3, 1.0))
    assert final.chance == pytest.approx((1 * 1 + 3 * 0.5) / 4)
    assert contiguity_summaries([trace([0])], rng=np.random.default_rng(0)) == []


@pytest.mark.parametrize("order", [[], [0], [[0, 1]], [0, 2]])
def test_wrong_input_is_explained(order):
    with pytest.raises(ValueError, match="order must"):
        contiguity(order)
