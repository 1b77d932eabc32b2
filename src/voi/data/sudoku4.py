"""A task whose best orders are found by constraint propagation: sudoku of four rows and columns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from voi.data.example import Example, TargetKind
from voi.data.splits import Splits, check_sizes, draw_splits, pick_split
from voi.errors import ConfigError, DataError
from voi.tables import require_between, require_least

CELLS = tuple(f"{row}{column}" for row in "abcd" for column in "1234")
VALUES = "1234"


def _units(cell: int) -> tuple[int, int, int]:
    row, column = divmod(cell, 4)
    return row, 4 + column, 8 + 2 * (row // 2) + column // 2


PEERS = np.array(
    [
        [j for j in range(16) if j != i and any(map(int.__eq__, _units(i), _units(j)))]
        for i in range(16)
    ]
)  # [16, 7]: cells of the same row, column or block


@dataclass(frozen=True)
class Sudoku4:
    """Puzzles of 4 by 4 cells with `blanks` empty ones, solved cell by cell without guessing.

    Every row, column and block of 2 by 2 cells holds each of 1 to 4 once. The source lists the
    cells in reading order, `a1=3 a2=? ...`, the target what goes into the empty ones, `a2=1 ...`.

    A cell is determined when its row, column and block show the three other values. An order is
    valid if every cell is determined when it is written: each token is then one look-up in what
    stands, where any other order has to see some steps ahead. At most `openings` cells are
    determined at first, so few orders are valid and which ones differs from puzzle to puzzle.
    Every puzzle can be solved this way, hence has one solution.

    >>> task = Sudoku4(train=10, valid=1, test=1)
    >>> example = task.split("train")[0]
    >>> len(example.source.split()), example.source.count("?"), len(example.target.split())
    (16, 8, 8)
    """

    target_kind: ClassVar[TargetKind] = "symbols"

    blanks: int = 8  # empty cells, the length of the target
    openings: int = 2  # most empty cells that are determined at first
    seed: int = 0
    train: int = 20000
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        require_between(self, "data.options.", 1, 12, "blanks")
        require_least(self, "data.options.", openings=1, seed=0, train=1, valid=1, test=1)
        num_patterns = len(_patterns(self.blanks, self.openings)[0])
        if not num_patterns:
            raise ConfigError(
                f"no sudoku has {self.blanks} empty cells of which at most {self.openings} are "
                f"determined: set data.options.openings higher"
            )
        check_sizes(self.train, self.valid, self.test, math.factorial(4) * num_patterns)

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split; no source is in two of them."""
        return pick_split(self._splits, name)

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return some of the valid orders, of which there are too many to list.

        Always the first determined cell, always the last one, and all determined cells before
        what they determine. `order_distance` measures against all valid orders.
        """
        puzzle = Puzzle.of(example)
        first, last = puzzle.greedy(min), puzzle.greedy(max)
        return tuple(dict.fromkeys((first, last, puzzle.in_rounds())))

    def order_distance(self, example: Example, order: Sequence[int]) -> float | None:
        """Return the normalised Levenshtein distance to the nearest of all valid orders.

        None for an order of other tokens than cells, such as pieces of words.
        """
        puzzle = Puzzle.of(example)
        is_of_cells = len(order) == len(puzzle.blanks)
        return nearest_valid(order, puzzle.table()) if is_of_cells else None

    def is_right(self, example: Example, text: str) -> bool:
        """Return whether a text fills every empty cell once and breaks no rule."""
        given, written = _values(str(example.source)), _values(text)
        empty = {cell for cell, value in given.items() if value == "?"}
        if written.keys() != empty or len(text.split()) != len(empty):
            return False
        values = [{**given, **written}[cell] for cell in CELLS]
        return set(values) <= set(VALUES) and all(
            values[i] != values[j] for i in range(16) for j in PEERS[i]
        )

    @cached_property
    def _splits(self) -> Splits:
        rng = np.random.default_rng(self.seed)
        return draw_splits(self._draw, rng, self.train, self.valid, self.test)

    def _draw(self, rng: np.random.Generator) -> Example:
        grids, masks = _patterns(self.blanks, self.openings)
        number = rng.integers(len(grids))
        values = rng.permutation(4)[grids[number]]
        cells = list(zip(CELLS, values.tolist(), masks[number].tolist(), strict=True))
        source = (f"{cell}={'?' if is_blank else VALUES[v]}" for cell, v, is_blank in cells)
        target = (f"{cell}={VALUES[v]}" for cell, v, is_blank in cells if is_blank)
        return Example(" ".join(source), " ".join(target))


@dataclass(frozen=True)
class Puzzle:
    """A solved puzzle: which cells are empty, and when each of them is determined."""

    grid: tuple[int, ...]  # 16 values, from 0
    blanks: tuple[int, ...]  # cells, in reading order

    @classmethod
    def of(cls, example: Example) -> "Puzzle":
        """Return the puzzle of an example."""
        given, solution = _values(str(example.source)), _values(example.target)
        full = {**given, **solution}
        if tuple(given) != CELLS or not set(full.values()) <= set(VALUES):
            raise DataError(
                f"expected a source a1=... to d4=... and a target for its cells =?, got "
                f"{example.source!r} and {example.target!r}"
            )
        blanks = tuple(i for i, cell in enumerate(CELLS) if given[cell] == "?")
        return cls(tuple(VALUES.index(full[cell]) for cell in CELLS), blanks)

    def determined(self, written: int) -> list[int]:
        """Return which empty cells can be filled next; `written` has a bit for each that is."""
        place = {cell: i for i, cell in enumerate(self.blanks)}
        found = []
        for i, cell in enumerate(self.blanks):
            shown = [p for p in PEERS[cell] if p not in place or written >> place[p] & 1]
            if not written >> i & 1 and len({self.grid[p] for p in shown}) == 3:
                found.append(i)
        return found

    def greedy(self, choose: Callable[[list[int]], int]) -> tuple[int, ...]:
        """Return the order that always takes the first or the last cell that is determined."""
        order: list[int] = []
        while len(order) < len(self.blanks):
            order.append(choose(self._open(order)))
        return tuple(order)

    def in_rounds(self) -> tuple[int, ...]:
        """Return the order that takes all determined cells, then all they determine, and so on."""
        order: list[int] = []
        while len(order) < len(self.blanks):
            order += self._open(order)
        return tuple(order)

    def _open(self, order: Sequence[int]) -> list[int]:
        found = self.determined(sum(1 << i for i in order))
        if not found:
            raise DataError(
                "this sudoku cannot be solved cell by cell: no empty cell is determined"
            )
        return found

    def table(self) -> Bool[np.ndarray, "subsets n"]:
        """Return which cells are determined after each set of cells, sets as numbers in binary."""
        blanks, bits = list(self.blanks), 1 << np.array(self.grid)
        n = len(blanks)
        is_written = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
        shown = np.tile(bits, (1 << n, 1))  # [subsets, 16]
        shown[:, blanks] = np.where(is_written, bits[blanks], 0)
        seen = np.bitwise_or.reduce(shown[:, PEERS[blanks]], axis=-1)  # [subsets, n]
        return ~is_written & (np.bitwise_count(seen) == 3)


def _values(text: str) -> dict[str, str]:
    """Return what stands in each cell that a text names.

    >>> _values("a1=3 a2=?")
    {'a1': '3', 'a2': '?'}
    """
    return {cell: value for cell, _, value in (token.partition("=") for token in text.split())}


def nearest_valid(order: Sequence[int], table: Bool[np.ndarray, "subsets n"]) -> float:
    """Return the least normalised Levenshtein distance from an order to a valid one.

    cost[S][j] is the least number of edits between the first j steps of the order and a valid
    start that writes the cells of S. The last cell x of that start was inserted (cost[S - x][j]
    + 1) or stands for step j (cost[S - x][j - 1], + 1 if that is another cell); or step j was
    deleted (cost[S][j - 1] + 1).
    """
    n = table.shape[1]
    cells, steps, subsets = np.arange(n), np.arange(n + 1), np.arange(1 << n)
    differs = np.asarray(order) != cells[:, None]  # [x, j]: step j writes another cell
    cost = np.full((1 << n, n + 1), 2 * n)
    cost[0] = steps
    for size in range(1, n + 1):
        sets = subsets[np.bitwise_count(subsets) == size, None]
        before = sets ^ (1 << cells)  # [sets, n]
        is_last = (sets >> cells & 1).astype(bool) & table[before, cells]
        start = cost[before]  # [sets, n, n + 1]
        found = start + 1
        np.minimum(found[..., 1:], start[..., :-1] + differs, out=found[..., 1:])
        best = np.where(is_last[..., None], found, 2 * n).min(axis=1)
        cost[sets[:, 0]] = np.minimum.accumulate(best - steps, axis=1) + steps  # deletions
    return float(cost[-1, -1] / n)


@cache
def _patterns(
    blanks: int, openings: int
) -> tuple[Int[np.ndarray, "patterns 16"], Bool[np.ndarray, "patterns 16"]]:
    """Return every solved grid with every set of empty cells that makes it a puzzle.

    Grids that differ in the names of values alone are one: their first row is 0 1 2 3.
    """
    masks = np.zeros((math.comb(16, blanks), 16), dtype=bool)
    chosen = np.array(list(combinations(range(16), blanks)))
    np.put_along_axis(masks, chosen, True, axis=1)
    grids = []
    for grid in _grids():
        is_right = _is_solvable(grid, masks, openings)
        grids.append((np.tile(grid, (is_right.sum(), 1)), masks[is_right]))
    return np.concatenate([g for g, _ in grids]), np.concatenate([m for _, m in grids])


def _grids() -> list[Int[np.ndarray, " 16"]]:
    """Return the twelve solved grids whose first row is 0 1 2 3."""
    rows = list(permutations(range(4)))
    stacked = (np.array([rows[0], *rest]).ravel() for rest in permutations(rows, 3))
    return [grid for grid in stacked if (grid[PEERS] != grid[:, None]).all()]


def _is_solvable(
    grid: Int[np.ndarray, " 16"], masks: Bool[np.ndarray, "patterns 16"], openings: int
) -> Bool[np.ndarray, " patterns"]:
    """Return which sets of empty cells are filled by filling what is determined, in rounds."""
    bits = (1 << grid).astype(np.uint8)
    is_empty = masks.copy()
    is_right = np.ones(len(masks), dtype=bool)
    for number in range(masks.sum(1).max()):
        shown = np.where(is_empty, 0, bits)
        seen = np.bitwise_or.reduce(shown[:, PEERS], axis=-1)  # [patterns, 16]
        is_determined = is_empty & (np.bitwise_count(seen) == 3)
        if number == 0:
            is_right = is_determined.sum(1) <= openings
        is_empty &= ~is_determined
    return is_right & ~is_empty.any(1)
