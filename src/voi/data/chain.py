"""A task whose best order changes from example to example: look-ups along a chain of positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase, ascii_uppercase
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from voi.data.example import Example, TargetKind
from voi.data.splits import Splits, check_sizes, draw_splits, pick_split
from voi.errors import DataError
from voi.tables import require_between, require_least


@dataclass(frozen=True)
class Chain:
    """Targets that unroll along a chain of positions c, from the end that the source names.

        y[c_0] = T0[x[c_0]],    y[c_k] = T[y[c_{k-1}], x[c_k]]

    The chain is left to right or, if `hidden`, a permutation of the positions fixed by the seed.
    The source starts with a flag: `from-left` takes the chain as it is, `from-right` takes it
    from its other end. T0 is a random permutation of the symbols and T a random Latin square, so
    each step needs both its arguments. No fixed order suits both flags.

    Why the known order is best: the source determines the whole target, so with unlimited
    computation every order is free of surprise. What differs is the computation. In the known
    order each token is one look-up in its own source symbol and the token written just before.
    A position other than the first of the chain that is written before its predecessor is uniform
    given its own source symbol and everything written so far: it costs log(symbols), or as many
    composed look-ups as the chain has unwritten links before it. (Written after its successor it
    can be had by inverting T, but only by reading the successor's source symbol as well.) The
    known order is the only one in which no position comes before its predecessor.

    >>> task = Chain(positions=3, symbols=2, train=10, valid=3, test=3)
    >>> example = task.split("train")[0]
    >>> len(example.source.split()), len(example.target.split())
    (4, 3)
    """

    target_kind: ClassVar[TargetKind] = "symbols"

    positions: int = 6  # length of the target
    symbols: int = 6  # size of each alphabet: a, b, ... in sources, A, B, ... in targets
    hidden: bool = False  # the chain is a permutation of the positions, not left to right
    seed: int = 0  # of the tables, the hidden chain and the examples
    train: int = 10000
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        require_least(self, "data.options.", positions=2, seed=0, train=1, valid=1, test=1)
        require_between(self, "data.options.", 2, len(ascii_lowercase), "symbols")
        check_sizes(self.train, self.valid, self.test, 2 * self.symbols**self.positions)

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split; no source is in two of them."""
        return pick_split(self._splits, name)

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return the one order that follows the chain from the end that the source names.

        >>> Chain(positions=6).known_orders(Example("from-right a b c d e f", "A B C D E F"))
        ((5, 4, 3, 2, 1, 0),)
        """
        flag = str(example.source).partition(" ")[0]
        if flag not in _FLAGS:
            raise DataError(
                f"expected a source that starts with {' or '.join(_FLAGS)}, got {flag!r}"
            )
        return (self._chain_from(flag),)

    @cached_property
    def start_table(self) -> Int[np.ndarray, " s"]:
        """T0: the first target symbol of the chain, by source symbol."""
        return self._rng("start").permutation(self.symbols)

    @cached_property
    def step_table(self) -> Int[np.ndarray, "s s"]:
        """T: the next target symbol, by previous target symbol and source symbol.

        The cyclic square (a + b) mod s with its rows, columns and values renamed at random.
        """
        rng = self._rng("step")
        rows, columns, values = (rng.permutation(self.symbols) for _ in range(3))
        return values[(rows[:, None] + columns[None, :]) % self.symbols]

    @cached_property
    def _chain(self) -> tuple[int, ...]:
        if not self.hidden:
            return tuple(range(self.positions))
        return tuple(self._rng("chain").permutation(self.positions).tolist())

    @cached_property
    def _splits(self) -> Splits:
        return draw_splits(self._draw, self._rng("examples"), self.train, self.valid, self.test)

    def _rng(self, use: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, _USES.index(use)])

    def _chain_from(self, flag: str) -> tuple[int, ...]:
        return self._chain if flag == _FLAGS[0] else self._chain[::-1]

    def _draw(self, rng: np.random.Generator) -> Example:
        flag = _FLAGS[rng.integers(2)]
        x = rng.integers(self.symbols, size=self.positions)
        first, *rest = self._chain_from(flag)
        y = np.empty_like(x)
        y[first] = previous = self.start_table[x[first]]
        for i in rest:
            y[i] = previous = self.step_table[previous, x[i]]
        source = [flag, *(ascii_lowercase[symbol] for symbol in x)]
        return Example(" ".join(source), " ".join(ascii_uppercase[symbol] for symbol in y))


_FLAGS = ("from-left", "from-right")
_USES = ("start", "step", "chain", "examples")  # one stream of random numbers each
