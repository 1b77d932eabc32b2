"""Sorting: the target is the sorted source, and each known order follows its rule."""

import pytest

from voi.data import Example
from voi.data.sorting import Sorting
from voi.errors import ConfigError


def test_targets_are_the_sorted_sources():
    for example in Sorting(train=50, valid=2, test=2).split("train"):
        numbers = [int(word) for word in example.source.split()]
        assert len(set(numbers)) == 6
        assert max(numbers) < 30
        assert [int(word) for word in example.target.split()] == sorted(numbers)


def test_known_orders_are_the_targets_and_the_sources_both_ways():
    example = Example("20 3 11 7", "3 7 11 20")
    orders = Sorting().known_orders(example)
    written = [[example.target.split()[i] for i in order] for order in orders]
    ascending, shuffled = ["3", "7", "11", "20"], ["20", "3", "11", "7"]
    assert written == [ascending, ascending[::-1], shuffled, shuffled[::-1]]


def test_equal_orders_are_listed_once():
    assert Sorting().known_orders(Example("1 2 3", "1 2 3")) == ((0, 1, 2), (2, 1, 0))


def test_a_set_needs_enough_numbers():
    with pytest.raises(ConfigError, match=r"numbers must be at least 6, .*got 5"):
        Sorting(numbers=5)
