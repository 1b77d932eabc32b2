"""Fixed orders on hand-written sentences."""

import pytest

from voi.analysis.reference import common_order, l2r_order, r2l_order, rare_order, tree_order

COUNTS = {"the": 100, "a": 80, "cat": 5, "saw": 5}


def test_left_to_right_and_right_to_left():
    assert l2r_order(["the", "cat", "sat"]) == [0, 1, 2]
    assert r2l_order(["the", "cat", "sat"]) == [2, 1, 0]


def test_frequency_orders_break_ties_by_position():
    tokens = ["the", "cat", "saw", "the", "zyzzyva", "a"]
    assert common_order(tokens, COUNTS) == [0, 3, 5, 1, 2, 4]  # the the a cat saw zyzzyva
    assert rare_order(tokens, COUNTS) == [4, 1, 2, 5, 0, 3]  # zyzzyva cat saw a the the


def test_unknown_words_count_as_never_seen():
    assert rare_order(["x", "the", "y"], COUNTS) == [0, 2, 1]
    assert common_order(["x", "the", "y"], {}) == [0, 1, 2]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, []),
        (1, [0]),
        (2, [0, 1]),
        (3, [1, 0, 2]),
        (4, [1, 0, 2, 3]),
        (5, [2, 0, 3, 1, 4]),
        (7, [3, 1, 5, 0, 2, 4, 6]),
    ],
)
def test_tree_goes_level_by_level(n, expected):
    assert tree_order(["w"] * n) == expected
