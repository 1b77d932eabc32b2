"""Orders of two models beside each other, by hand and against the pairwise functions."""

import numpy as np
import pytest

from voi.analysis import Trace, between_summaries, slots_of


def trace(text, order):
    order = tuple(order)
    return Trace(
        target=text,
        tokens=tuple(text.split()),
        order=order,
        slots=slots_of(order),
        kind="inferred",
    )


FIRST = [trace("a b", [0, 1]), trace("a b c d", [3, 0, 1, 2]), trace("a b", [0, 1])]
SECOND = [trace("a b", [1, 0]), trace("a b c d", [0, 1, 2, 3]), trace("a c", [1, 0])]


def found(first, second, **options):
    rows = between_summaries(first, second, rng=np.random.default_rng(0), **options)
    return {row.metric: row for row in rows}


def test_only_equal_targets_are_compared():
    rows = found(FIRST, SECOND)
    assert {row.num for row in rows.values()} == {2}
    assert rows["nld"].mean == (1 + 0.5) / 2
    assert rows["orc"].mean == pytest.approx((-1 + 1 - 6 * 12 / 60) / 2)
    assert rows["tau"].mean == (-1 + 0) / 2
    assert all(row.low <= row.mean <= row.high for row in rows.values())


def test_ranks_are_the_inverse_orders():
    w, z = [1, 3, 0, 2], [0, 3, 1, 2]
    ranks = [list(np.argsort(w)), list(np.argsort(z))]
    text = "a b c d"
    by_rank = found([trace(text, w)], [trace(text, z)], compare="ranks")
    inverse = found([trace(text, map(int, ranks[0]))], [trace(text, map(int, ranks[1]))])
    assert by_rank == inverse
    assert by_rank != found([trace(text, w)], [trace(text, z)])


def test_what_is_compared_is_checked():
    with pytest.raises(ValueError, match='"orders" or "ranks", got \'rank\''):
        found(FIRST, SECOND, compare="rank")


def test_nothing_to_compare_and_lists_that_do_not_pair_up():
    assert found(FIRST[2:], SECOND[2:]) == {}
    with pytest.raises(ValueError, match="3 and 1"):
        found(FIRST, SECOND[:1])
