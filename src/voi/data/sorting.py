"""A task with several best orders: the numbers of a set, written in ascending order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from voi.data.example import Example, TargetKind
from voi.data.splits import Splits, check_sizes, draw_splits, pick_split
from voi.errors import ConfigError
from voi.tables import require_least


@dataclass(frozen=True)
class Sorting:
    """A set of `length` different numbers below `numbers`, shuffled, and the same set sorted.

    Any order is as good as another, as long as it follows one rule from set to set. In reading
    order each number is the smallest one that is left: its slot is certain, the word takes a
    look at all that is left. In the order of the source each number is the next one to copy: the
    word is certain, the slot takes comparisons. Both orders and their reverses are known best
    ones: the task tells whether a method settles for a rule where none has an advantage.

    >>> task = Sorting(length=2, numbers=5, train=10, valid=1, test=1)
    >>> example = task.split("train")[0]
    >>> sorted(example.source.split(), key=int) == example.target.split()
    True
    """

    target_kind: ClassVar[TargetKind] = "symbols"

    length: int = 6  # numbers of a set
    numbers: int = 30  # to draw from: 0, 1, ...
    seed: int = 0
    train: int = 20000
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        require_least(self, "data.options.", length=2, seed=0, train=1, valid=1, test=1)
        if self.numbers < self.length:
            raise ConfigError(
                f"data.options.numbers must be at least {self.length}, data.options.length, got "
                f"{self.numbers}"
            )
        num_sources = math.perm(self.numbers, self.length)
        check_sizes(self.train, self.valid, self.test, num_sources)

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split; no source is in two of them."""
        return pick_split(self._splits, name)

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return the orders of the target and of the source, forwards and backwards.

        >>> Sorting().known_orders(Example("5 9 2", "2 5 9"))
        ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1))
        """
        target = example.target.split()
        reading = tuple(range(len(target)))
        copied = tuple(target.index(number) for number in str(example.source).split())
        orders = (reading, reading[::-1], copied, copied[::-1])
        return tuple(dict.fromkeys(orders))

    @cached_property
    def _splits(self) -> Splits:
        rng = np.random.default_rng(self.seed)
        return draw_splits(self._draw, rng, self.train, self.valid, self.test)

    def _draw(self, rng: np.random.Generator) -> Example:
        chosen = rng.permutation(self.numbers)[: self.length]
        source, target = (" ".join(map(str, row)) for row in (chosen, np.sort(chosen)))
        return Example(source, target)
