"""Sudoku: rules, uniqueness, valid orders and the distance to them, against plain enumeration."""

from itertools import permutations, product

import numpy as np
import pytest

from voi.analysis import normalized_levenshtein
from voi.data import Example
from voi.data.sudoku4 import CELLS, Puzzle, Sudoku4, _grids, nearest_valid
from voi.errors import ConfigError, DataError


def groups():
    """Rows, columns and blocks, by the names of their cells."""
    rows = [[f"{r}{c}" for c in "1234"] for r in "abcd"]
    columns = [[f"{r}{c}" for r in "abcd"] for c in "1234"]
    blocks = [[f"{r}{c}" for r in rr for c in cc] for rr in ("ab", "cd") for cc in ("12", "34")]
    return [*rows, *columns, *blocks]


def values_of(text):
    return dict(token.split("=") for token in text.split())


def is_valid(example, order):
    """Fill the cells in that order; at each one, all other values must stand around it."""
    known = {cell: value for cell, value in values_of(example.source).items() if value != "?"}
    target = list(values_of(example.target).items())
    for i in order:
        cell, value = target[i]
        around = {known[c] for g in groups() if cell in g for c in g if c in known}
        if around != set("1234") - {value}:
            return False
        known[cell] = value
    return True


@pytest.fixture(scope="module")
def task():
    return Sudoku4(train=30, valid=4, test=4)


@pytest.fixture(scope="module")
def short():
    return Sudoku4(blanks=5, openings=2, train=12, valid=1, test=1)


def test_there_are_288_grids():
    grids = _grids()
    assert len(grids) * 24 == 288
    for grid in grids:
        by_cell = dict(zip(CELLS, grid, strict=True))
        assert all(sorted(by_cell[c] for c in group) == [0, 1, 2, 3] for group in groups())


def test_puzzles_have_one_solution(task):
    example = task.split("train")[0]
    given = values_of(example.source)
    empty = [cell for cell, value in given.items() if value == "?"]
    assert list(values_of(example.target)) == empty
    solutions = []
    for guess in product("1234", repeat=len(empty)):
        full = {**given, **dict(zip(empty, guess, strict=True))}
        if all(len({full[c] for c in group}) == 4 for group in groups()):
            solutions.append(" ".join(f"{cell}={full[cell]}" for cell in empty))
    assert solutions == [example.target]


def test_few_cells_are_determined_at_first(task):
    for example in task.split("train"):
        first = [i for i in range(8) if is_valid(example, [i])]
        assert 1 <= len(first) <= 2


def test_known_orders_are_valid_and_differ_between_puzzles(task):
    examples = task.split("train")
    orders = [task.known_orders(example) for example in examples]
    for example, known in zip(examples, orders, strict=True):
        assert len(set(known)) == len(known) >= 1
        assert all(is_valid(example, order) for order in known)
    assert all(task.order_distance(examples[0], order) == 0 for order in orders[0])
    assert len({known[0] for known in orders}) > len(orders) // 2


def test_distance_is_that_to_the_nearest_of_all_valid_orders(short):
    every = list(permutations(range(5)))
    rng = np.random.default_rng(0)
    for example in short.split("train"):
        valid = [order for order in every if is_valid(example, order)]
        assert 0 < len(valid) < len(every)
        table = Puzzle.of(example).table()
        for i in rng.permutation(len(every))[:15]:
            expected = np.min(normalized_levenshtein(every[i], valid))
            assert nearest_valid(every[i], table) == pytest.approx(expected)


def test_a_right_text_fills_every_cell_once_and_breaks_no_rule(task):
    example = task.split("train")[0]
    tokens = example.target.split()
    assert task.is_right(example, example.target)
    assert task.is_right(example, " ".join(reversed(tokens)))
    cell, _, value = tokens[0].partition("=")
    other = "1" if value != "1" else "2"
    for wrong in (tokens[1:], [*tokens, tokens[0]], [f"{cell}={other}", *tokens[1:]], []):
        assert not task.is_right(example, " ".join(wrong))
    assert not task.is_right(example, " ".join([f"{cell}=5", *tokens[1:]]))
    assert not task.is_right(example, " ".join([cell, *tokens[1:]]))


def test_errors_say_what_is_wrong():
    with pytest.raises(ConfigError, match=r"at most 1 are determined: set data\.options\.openings"):
        Sudoku4(openings=1)
    with pytest.raises(ConfigError, match=r"blanks must be from 1 to 12, got 13"):
        Sudoku4(blanks=13)
    with pytest.raises(DataError, match="expected a source a1="):
        Sudoku4().known_orders(Example("1 2", "3"))
    unsolvable = " ".join(f"{cell}=?" for cell in CELLS)
    solved = " ".join(f"{c}={v + 1}" for c, v in zip(CELLS, _grids()[0], strict=True))
    with pytest.raises(DataError, match="cannot be solved cell by cell"):
        Sudoku4().known_orders(Example(unsolvable, solved))
