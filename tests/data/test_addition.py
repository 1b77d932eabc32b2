"""Sums by integer arithmetic, and what each digit of a sum depends on."""

import pytest

from voi.data.addition import Addition
from voi.data.example import Example


def columns(example):
    """Return the digits of both summands and of the sum, least significant first."""
    left, _, right = example.source.partition(" + ")
    return [text.split()[::-1] for text in (left, right, example.target)]


@pytest.mark.parametrize("digits", [1, 2, 3, 12])
def test_target_is_the_sum(digits):
    task = Addition(digits, seed=5, train=60, valid=5, test=5)
    for example in task.split("train"):
        a, b = (int(part.replace(" ", "")) for part in example.source.split("+"))
        words = example.source.split()
        assert words.index("+") == digits
        assert len(words) == 2 * digits + 1
        assert len(example.target.split()) == digits + 1
        assert int(example.target.replace(" ", "")) == a + b


def test_known_order_is_least_significant_first():
    assert Addition().known_orders(Example("1 2 3 + 4 5 6", "0 5 7 9")) == ((3, 2, 1, 0),)


def test_a_digit_follows_from_its_column_and_the_column_to_the_right():
    """The carry can be read off the digit written before, and not off its summands alone."""
    with_digit, without_digit = {}, {}
    is_function, is_function_without = True, True
    for example in Addition(digits=2, train=8000).split("train"):
        a, b, total = columns(example)
        a, b = [*a, "0"], [*b, "0"]
        for k in range(1, 3):
            known = (a[k], b[k], a[k - 1], b[k - 1])
            is_function &= with_digit.setdefault((*known, total[k - 1]), total[k]) == total[k]
            is_function_without &= without_digit.setdefault(known, total[k]) == total[k]
    assert is_function
    assert not is_function_without
