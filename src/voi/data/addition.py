"""A task best written right to left: the digits of a sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from voi.data.example import Example, TargetKind
from voi.data.splits import Splits, check_sizes, draw_splits, pick_split
from voi.tables import require_least


@dataclass(frozen=True)
class Addition:
    """Two numbers of `digits` digits, leading zeros included, and their sum of one digit more.

    The known order writes the least significant digit first. There each digit needs its own two
    summands and the carry, and the carry can be read off the column to the right: its summands
    and the sum's digit there. In reading order a digit may depend on all columns to its right.

    >>> task = Addition(digits=1, train=80, valid=10, test=10)
    >>> len(task.split("train"))
    80
    """

    target_kind: ClassVar[TargetKind] = "symbols"

    digits: int = 3  # of each summand
    seed: int = 0
    train: int = 20000
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        require_least(self, "data.options.", digits=1, seed=0, train=1, valid=1, test=1)
        check_sizes(self.train, self.valid, self.test, 10 ** (2 * self.digits))

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split; no source is in two of them."""
        return pick_split(self._splits, name)

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return the order from the least significant digit to the most significant one.

        >>> Addition().known_orders(Example("9 + 4", "1 3"))
        ((1, 0),)
        """
        return (tuple(reversed(range(len(example.target.split())))),)

    @cached_property
    def _splits(self) -> Splits:
        rng = np.random.default_rng(self.seed)
        return draw_splits(self._draw, rng, self.train, self.valid, self.test)

    def _draw(self, rng: np.random.Generator) -> Example:
        left, right = ("".join(map(str, row)) for row in rng.integers(10, size=(2, self.digits)))
        total = str(int(left) + int(right)).zfill(self.digits + 1)
        return Example(" ".join([*left, "+", *right]), " ".join(total))
