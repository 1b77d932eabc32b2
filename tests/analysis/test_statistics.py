"""Comparisons with reference orders on sentences small enough to count by hand."""

import json

import numpy as np
import pytest

from voi.analysis.distances import generation_ranks
from voi.analysis.slots import slots_of
from voi.analysis.statistics import (
    comparisons,
    sampled_comparisons,
    summaries,
    summaries_by_length,
    to_rows,
)
from voi.analysis.traces import Trace

COUNTS = {"a": 50, "on": 20, "bus": 3}


def trace(text, order, **fields):
    tokens = tuple(text.split())
    return Trace(
        target=text,
        tokens=tokens,
        order=tuple(order),
        slots=slots_of(order),
        kind="generated",
        **fields,
    )


def rows_of(traces, **options):
    return {(row.reference, row.example): row for row in comparisons(traces, **options)}


def test_each_reference_has_a_row_per_example():
    traces = [trace("a bus", [1, 0]), trace("a b c", [0, 1, 2])]
    rows = comparisons(traces)
    expected = [(name, i) for name in ("l2r", "r2l", "tree") for i in (0, 1)]
    assert [(row.reference, row.example) for row in rows] == expected
    assert {row.length for row in rows if row.example == 1} == {3}
    names = {row.reference for row in comparisons(traces, counts=COUNTS)}
    assert names == {"l2r", "r2l", "tree", "common", "rare"}
    assert comparisons([]) == []


def test_values_by_hand():
    row = rows_of([trace("a b c d", [3, 0, 1, 2])])["l2r", 0]
    # Delete and insert one of four; squares 9 + 1 + 1 + 1; three of six pairs discordant.
    assert (row.nld, row.orc, row.tau) == pytest.approx((0.5, 1 - 6 * 12 / 60, 0.0))
    assert (row.l2r_nld, row.l2r_orc, row.l2r_tau) == (0.0, 1.0, 1.0)
    back = rows_of([trace("a b c d", [3, 2, 1, 0])])["r2l", 0]
    assert (back.nld, back.orc, back.tau) == (0.0, 1.0, 1.0)
    assert (back.l2r_nld, back.l2r_orc, back.l2r_tau) == (1.0, -1.0, -1.0)


def test_frequency_and_tree_references():
    # common: a, on, bus, zebra; rare: zebra, bus, on, a.
    rows = rows_of([trace("zebra on a bus", [2, 1, 3, 0])], counts=COUNTS)
    assert rows["common", 0].nld == 0.0
    assert rows["rare", 0].tau == pytest.approx(1 - 4 * 4 / 12)  # 2130 and 0312 agree on two pairs
    tree = rows_of([trace("a b c d", [1, 0, 2, 3])])["tree", 0]
    assert (tree.nld, tree.orc, tree.tau) == (0.0, 1.0, 1.0)
    assert tree.l2r_nld == 0.5


def test_the_closest_known_order_counts_for_each_metric():
    known = ((2, 1, 0, 3), (0, 1, 3, 2))
    traces = [trace("a b c d", [0, 1, 2, 3], known_orders=known), trace("a b", [1, 0])]
    rows = [row for row in comparisons(traces) if row.reference == "known"]
    assert [row.example for row in rows] == [0]
    assert rows[0].nld == 0.5  # both are two substitutions away
    assert rows[0].tau == pytest.approx(1 - 4 * 1 / 12)  # the second: one discordant pair
    assert rows[0].orc == pytest.approx(1 - 6 * 2 / 60)
    assert rows[0].l2r_nld == 0.5
    exact = rows_of([trace("a b c d", known[1], known_orders=known)])["known", 0]
    assert (exact.nld, exact.orc, exact.tau) == (0.0, 1.0, 1.0)


def test_ranks_are_the_inverse_permutations():
    written = trace("zebra on a bus", [1, 3, 0, 2], known_orders=((0, 3, 1, 2),))
    by_order = rows_of([written], counts=COUNTS)
    by_rank = rows_of([written], counts=COUNTS, compare="ranks")
    inverse = trace(
        "w x y z",
        generation_ranks(written.order).tolist(),
        known_orders=(tuple(generation_ranks(written.known_orders[0]).tolist()),),
    )
    expected = rows_of([inverse])["known", 0]
    found = by_rank["known", 0]
    assert (found.nld, found.orc, found.tau) == (expected.nld, expected.orc, expected.tau)
    assert by_rank["l2r", 0] == by_order["l2r", 0]
    assert found.tau != by_order["known", 0].tau


def test_short_targets_are_at_every_reference():
    rows = comparisons([trace("", []), trace("bus", [0])], counts=COUNTS)
    assert {(row.nld, row.orc, row.tau) for row in rows} == {(0.0, 1.0, 1.0)}
    assert {row.length for row in comparisons([trace("", [])])} == {0}


def test_summaries_are_means_of_the_rows():
    traces = [trace("a b", [0, 1]), trace("a b", [1, 0]), trace("a b c", [2, 1, 0])]
    found = {
        (row.reference, row.metric): row
        for row in summaries(comparisons(traces), rng=np.random.default_rng(0))
    }
    assert len(found) == 12
    tau = found["l2r", "tau"]
    assert (tau.num, tau.length) == (3, None)
    assert tau.mean == pytest.approx(-1 / 3)
    assert tau.low <= tau.mean <= tau.high
    assert tau.l2r == 1.0
    assert found["r2l", "orc"].l2r == -1.0
    # Reversing three tokens leaves the middle one: 2 / 3 of the length.
    assert found["l2r", "nld"].mean == pytest.approx((0 + 1 + 2 / 3) / 3)


def test_summaries_by_length_split_the_rows():
    traces = [trace("a b c", [2, 1, 0]), trace("a b", [0, 1]), trace("a b", [1, 0])]
    rows = [row for row in comparisons(traces) if row.reference == "l2r"]
    found = summaries_by_length(rows, rng=np.random.default_rng(0))
    taus = [row for row in found if row.metric == "tau"]
    assert [(row.length, row.num, row.mean) for row in taus] == [(2, 2, 0.0), (3, 1, -1.0)]
    assert (taus[0].low, taus[0].high) == (-1.0, 1.0)
    assert (taus[1].low, taus[1].high) == (-1.0, -1.0)


def test_rows_are_plain_dicts():
    rows = to_rows(comparisons([trace("a b", [1, 0])]))
    assert json.loads(json.dumps(rows)) == rows
    assert rows[0]["reference"] == "l2r"
    assert rows[0]["tau"] == -1.0
    table = to_rows(summaries(comparisons([trace("a b", [1, 0])]), rng=np.random.default_rng(0)))
    assert list(table[0]) == ["reference", "metric", "length", "num", "mean", "low", "high", "l2r"]


def test_the_square_is_that_of_the_value_beside_it():
    known = ((2, 1, 0, 3), (0, 1, 3, 2))
    for row in comparisons([trace("a b c d", [3, 2, 0, 1], known_orders=known)], counts=COUNTS):
        assert row.orc_squared == pytest.approx(row.orc**2)
        assert row.l2r_orc_squared == pytest.approx(row.l2r_orc**2)


def test_samples_are_averaged_within_their_example():
    traces = [
        trace("a b", [0, 1]),
        trace("a b", [0, 1], samples=((0, 1), (1, 0), (1, 0), (1, 0))),
        trace("a b c", [0, 1, 2], samples=((2, 1, 0), (0, 1, 2))),
    ]
    rows = {(r.reference, r.example): r for r in sampled_comparisons(traces, counts=COUNTS)}
    assert {example for _, example in rows} == {1, 2}
    assert (rows["l2r", 1].nld, rows["l2r", 1].tau) == (0.75, -0.5)
    assert (rows["l2r", 2].nld, rows["l2r", 2].orc, rows["l2r", 2].length) == (1 / 3, 0.0, 3)
    assert rows["l2r", 2].orc_squared == 1.0  # the mean of squares, not the square of a mean
    assert rows["r2l", 1].l2r_nld == 1.0
    assert sampled_comparisons(traces[:1]) == []
