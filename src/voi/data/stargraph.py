"""A task best written backwards: the path from the centre of a star to the end of one arm."""

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
class StarGraph:
    """A star of `degree` arms, each of `length` nodes beside the centre, and the way to a goal.

    The source lists the edges, away from the centre and shuffled, then the centre and the goal,
    which is the end of one arm: `n4>n7 n4>n1 | n4 n1`. The target is the path from the
    centre to the goal, both included: `n4 n1`. Names are drawn anew for each example.

    The known orders write the inner nodes from the goal to the centre: each is then the only one
    with an edge to the node before it, which is one look-up. In reading order the first step away
    from the centre has `degree` candidates, and only following an arm to its end tells which is
    right. The centre and the goal stand in the source, so these two may be written at any time; the
    reversed reading order is the first of the list.

    >>> task = StarGraph(degree=2, length=1, nodes=3, train=10, valid=1, test=1)
    >>> example = task.split("train")[0]
    >>> len(example.source.split()), len(example.target.split())
    (5, 2)
    """

    target_kind: ClassVar[TargetKind] = "symbols"

    degree: int = 2  # arms
    length: int = 5  # nodes of an arm, the centre not counted
    nodes: int = 20  # names to draw from: n0, n1, ...
    seed: int = 0
    train: int = 20000
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        require_least(self, "data.options.", degree=2, length=1, seed=0, train=1, valid=1, test=1)
        if self.nodes < self._num_nodes:
            raise ConfigError(
                f"data.options.nodes must be at least {self._num_nodes} for {self.degree} arms of "
                f"{self.length} nodes and a centre, got {self.nodes}"
            )
        check_sizes(self.train, self.valid, self.test, self._num_sources)

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split; no source is in two of them."""
        return pick_split(self._splits, name)

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return the orders of the inner nodes from the goal to the centre, the ends at any time.

        >>> StarGraph().known_orders(Example("n4>n7 n4>n1 | n4 n1", "n4 n1"))
        ((1, 0), (0, 1))
        """
        goal = len(example.target.split()) - 1
        inner = tuple(range(goal - 1, 0, -1))
        with_goal = [(*inner[:k], goal, *inner[k:]) for k in range(goal)]
        return tuple((*o[:k], 0, *o[k:]) for o in with_goal for k in range(goal, -1, -1))

    @property
    def _num_nodes(self) -> int:
        return 1 + self.degree * self.length

    @property
    def _num_sources(self) -> int:
        """Named graphs (arms have no order among themselves), times edge orders, times goals."""
        graphs = math.perm(self.nodes, self._num_nodes) // math.factorial(self.degree)
        return graphs * math.factorial(self.degree * self.length) * self.degree

    @cached_property
    def _splits(self) -> Splits:
        rng = np.random.default_rng(self.seed)
        return draw_splits(self._draw, rng, self.train, self.valid, self.test)

    def _draw(self, rng: np.random.Generator) -> Example:
        centre, *others = (f"n{i}" for i in rng.permutation(self.nodes)[: self._num_nodes])
        arms = [others[k :: self.degree] for k in range(self.degree)]
        edges = [
            f"{parent}>{child}"
            for arm in arms
            for parent, child in zip([centre, *arm], arm, strict=False)
        ]
        shuffled = " ".join(edges[i] for i in rng.permutation(len(edges)))
        path = [centre, *arms[0]]  # names are random and edges shuffled: any arm is as good
        return Example(f"{shuffled} | {centre} {path[-1]}", " ".join(path))
