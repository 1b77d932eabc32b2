"""Distances against scipy, a textbook recursion, and all orders of small n."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from voi.analysis.distances import (
    CHUNK_BYTES,
    generation_ranks,
    kendall_tau,
    nearest,
    normalized_levenshtein,
    order_rank_correlation,
    padded,
)

METRICS = [normalized_levenshtein, order_rank_correlation, kendall_tau]
pairs = st.integers(2, 12).flatmap(
    lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))
)


def textbook_levenshtein(w, z):
    @cache
    def lev(i, j):
        if i == len(w) or j == len(z):
            return len(w) - i + len(z) - j
        if w[i] == z[j]:
            return lev(i + 1, j + 1)
        return 1 + min(lev(i + 1, j), lev(i, j + 1), lev(i + 1, j + 1))

    return lev(0, 0)


def random_orders(num, n, seed=0):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n), (num, 1)), axis=1)


@given(pairs)
def test_levenshtein_is_the_textbook_one(pair):
    w, z = pair
    assert normalized_levenshtein(w, z) == pytest.approx(textbook_levenshtein(w, z) / len(w))


@given(pairs)
def test_correlations_are_those_of_scipy(pair):
    w, z = pair
    assert order_rank_correlation(w, z) == pytest.approx(stats.spearmanr(w, z).statistic)
    assert kendall_tau(w, z) == pytest.approx(stats.kendalltau(w, z).statistic)


@pytest.mark.parametrize("n", [125, 126, 127, 128, 129, 200])
def test_long_orders_do_not_overflow_narrow_types(n):
    (w, z), backwards = random_orders(2, n), np.arange(n)[::-1]
    for a, b in [(w, z), (np.arange(n), backwards), (w, backwards)]:
        assert order_rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)
        assert kendall_tau(a, b) == pytest.approx(stats.kendalltau(a, b).statistic)
    # Reversing an odd number of tokens leaves the middle one in place.
    assert normalized_levenshtein(np.arange(n), backwards) == (n - n % 2) / n
    # One token moved to the other end: delete and insert it.
    assert normalized_levenshtein(np.arange(n), np.roll(np.arange(n), 1)) == 2 / n


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [125, 126, 127, 128])
def test_narrow_and_wide_types_agree(metric, n):
    orders = random_orders(500, n)
    wide = padded([*orders, np.arange(300)])  # the long row makes the whole batch wide
    scores = metric(wide.orders, np.arange(300), wide.lengths)
    np.testing.assert_allclose(metric(orders, np.arange(n)), scores[:-1], rtol=1e-14)


def test_identity_and_reversal():
    order = [3, 0, 2, 1]
    assert [metric(order, order) for metric in METRICS] == [0.0, 1.0, 1.0]
    mirrored = [3 - position for position in order]
    assert [metric(order, mirrored) for metric in METRICS[1:]] == [-1.0, -1.0]
    assert [metric([0, 1, 2, 3], [3, 2, 1, 0]) for metric in METRICS] == [1.0, -1.0, -1.0]


@pytest.mark.parametrize("order", [[], [0]])
def test_a_single_possible_order_is_equal_to_itself(order):
    assert [metric(order, order) for metric in METRICS] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("metric", METRICS)
def test_batches_equal_one_by_one_across_chunks(metric):
    n = 5
    num = CHUNK_BYTES // n + 17  # two chunks
    w, z = random_orders(num, n, seed=1), random_orders(num, n, seed=2)
    scores = metric(w, z)
    assert scores.shape == (num,)
    some = [0, 1, num // 2, CHUNK_BYTES // n - 1, CHUNK_BYTES // n, num - 1]
    assert [scores[i] for i in some] == [metric(w[i].tolist(), z[i].tolist()) for i in some]


@pytest.mark.parametrize("metric", METRICS)
def test_batches_broadcast(metric):
    w, z = random_orders(4, 6), random_orders(3, 6, seed=1)
    table = metric(w[:, None], z)  # [4, 3]
    assert table.shape == (4, 3)
    assert table.tolist() == [[metric(a, b) for b in z] for a in w]
    assert metric(w, z[0]).tolist() == metric(z[0], w).tolist() == table[:, 0].tolist()
    assert metric(w[:0], z[0]).shape == (0,)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_tensors_are_accepted(metric, dtype):
    w, z = torch.tensor([[2, 0, 1], [0, 1, 2]]), torch.tensor([0, 2, 1])
    expected = metric(w.tolist(), z.tolist()).tolist()
    assert metric(w.to(dtype), z.to(dtype)).tolist() == expected
    assert type(metric(z, z)) is float


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("filling", [-1, 0, 99])
def test_padding_is_ignored(metric, filling):
    w = [random_orders(1, n, seed=n)[0] for n in (1, 3, 8, 0, 5)]
    z = [random_orders(1, n, seed=n + 50)[0] for n in (1, 3, 8, 0, 5)]
    a, b = padded(w), padded(z)
    tail = np.arange(8) >= a.lengths[:, None]
    a.orders[tail] = filling
    expected = [metric(one, other) for one, other in zip(w, z, strict=True)]
    np.testing.assert_allclose(metric(a.orders, b.orders, a.lengths), expected, rtol=1e-14)
    torch_lengths = torch.from_numpy(a.lengths)
    np.testing.assert_allclose(metric(a.orders, b.orders, torch_lengths), expected, rtol=1e-14)
    assert metric([1, 0, filling], [0, 1, filling], lengths=2) == metric([1, 0], [0, 1])


def test_orders_and_ranks_agree_against_left_to_right_and_right_to_left():
    orders = np.array(list(permutations(range(5))))
    ranks = generation_ranks(orders)
    for metric in METRICS:
        for reference in (np.arange(5), np.arange(5)[::-1]):
            np.testing.assert_allclose(metric(orders, reference), metric(ranks, reference))
        # Against other orders they differ in general.
        assert np.abs(metric(orders, orders[:, None]) - metric(ranks, ranks[:, None])).max() > 0.1


def test_minus_one_is_mirrored_positions_on_orders_and_reversed_time_on_ranks():
    order = np.array([2, 0, 3, 1])
    for metric in METRICS[1:]:
        assert metric(order, 3 - order) == -1.0
        assert metric(generation_ranks(order), generation_ranks(order[::-1])) == -1.0


def test_ranks_invert_the_order():
    assert generation_ranks([2, 0, 3, 1]).tolist() == [1, 3, 0, 2]
    assert generation_ranks([[1, 0], [0, 1]]).tolist() == [[1, 0], [0, 1]]
    assert generation_ranks([]).tolist() == []


def test_nearest_takes_the_closest_of_a_set():
    order, valid = [0, 1, 3, 2], [[3, 2, 1, 0], [0, 1, 2, 3], [3, 2, 0, 1]]
    assert nearest(order, valid) == 0.5
    assert nearest(order, valid, order_rank_correlation) == pytest.approx(1 - 6 * 2 / 60)
    assert nearest(order, valid, kendall_tau) == pytest.approx(1 - 4 / 12)
    assert nearest(order, [*valid, order]) == 0.0
    assert nearest(order, valid, lambda w, z: (np.asarray(z) != w).mean(axis=-1)) == 0.5
    with pytest.raises(ValueError, match="at least one order"):
        nearest(order, [])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("w", "z", "lengths", "message"),
    [
        ([0, 1], [0, 1, 2], None, "same number of tokens, got 2 and 3"),
        ([0, 0, 1], [0, 1, 2], None, r"w must hold permutations of 0..n-1, got \[0, 0, 1\]"),
        ([0, 1, 2], [1, 2, 3], None, r"z must hold permutations of 0..n-1, got \[1, 2, 3\]"),
        ([0, 1, 2], [[0, 1, 2], [0, -1, 2]], None, r"z must .* got \[0, -1, 2\]"),
        ([0, 2, 1], [0, 1, 2], 2, r"w must .* got \[0, 2\] for n = 2"),
        ([[0, 1], [0]], [0, 1], None, "different lengths"),
        ([0.0, 1.0], [0, 1], None, "whole numbers, got float64"),
        ([[0, 1]] * 2, [[0, 1]] * 3, None, r"broadcast, got \[2, 2\] and \[3, 2\]"),
        ([0, 1], [0, 1], 3, "between 0 and 2"),
        ([[0, 1]] * 2, [0, 1], [1, 1, 1], r"shape of the batch, \[2\], got \[3\]"),
        (np.array(0), [0, 1], None, "a single number"),
    ],
)
def test_wrong_input_is_explained(metric, w, z, lengths, message):
    with pytest.raises(ValueError, match=message):
        metric(w, z, lengths)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 6).flatmap(lambda n: st.permutations(range(n))), max_size=5))
def test_padding_keeps_orders(orders):
    batch = padded(orders)
    rows = zip(batch.orders.tolist(), batch.lengths, strict=True)
    assert [row[:length] for row, length in rows] == [list(order) for order in orders]
    assert (np.sort(batch.orders, axis=1) == np.arange(batch.orders.shape[1])).all()
