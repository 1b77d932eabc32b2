"""The chain unrolled by a plain loop, and its best order found by enumeration."""

import itertools
import math
from collections import Counter, defaultdict

import pytest

from chance import errors
from voi.data.chain import Chain
from voi.data.example import Example
from voi.errors import DataError

SPLITS = ("train", "valid", "test")


def whole_space(positions, symbols, hidden):
    """Return a task whose splits hold every source there is, and its examples."""
    total = 2 * symbols**positions
    task = Chain(positions, symbols, hidden, train=total - 2, valid=1, test=1)
    return task, [example for split in SPLITS for example in task.split(split)]


def parts(example):
    """Return flag, source symbols and target symbols, the latter two as numbers."""
    flag, *x = example.source.split()
    return flag, [ord(c) - ord("a") for c in x], [ord(c) - ord("A") for c in example.target.split()]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("symbols", [2, 3, 5])
def test_target_is_the_chain_unrolled(symbols, hidden):
    task = Chain(7, symbols, hidden, seed=2, train=200, valid=5, test=5)
    for example in task.split("train"):
        flag, x, y = parts(example)
        [order] = task.known_orders(example)
        assert flag in ("from-left", "from-right")
        assert y[order[0]] == task.start_table[x[order[0]]]
        for before, i in itertools.pairwise(order):
            assert y[i] == task.step_table[y[before], x[i]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("symbols", [2, 4, 7])
def test_tables_read_off_the_examples_are_latin(symbols, seed):
    """Each row and each column of T holds each symbol once; T0 is a permutation."""
    task = Chain(5, symbols, seed=seed, train=1000 if symbols > 2 else 50, valid=5, test=5)
    start, step = {}, {}
    for example in task.split("train"):
        flag, x, y = parts(example)
        if flag == "from-right":
            x, y = x[::-1], y[::-1]
        assert start.setdefault(x[0], y[0]) == y[0]
        for previous, symbol, value in zip(y, x[1:], y[1:], strict=False):
            assert step.setdefault((previous, symbol), value) == value
    everything = set(range(symbols))
    assert set(start.values()) == everything
    for k in range(symbols):
        assert {step[k, j] for j in range(symbols)} == everything
        assert {step[j, k] for j in range(symbols)} == everything


def entropy(pairs):
    """Return H(value | key) in nats of equally likely (key, value) pairs."""
    counts = defaultdict(Counter)
    for key, value in pairs:
        counts[key][value] += 1
    total = len(pairs)
    return -sum(
        count / total * math.log(count / sum(values.values()))
        for values in counts.values()
        for count in values.values()
    )


@pytest.mark.parametrize("sees", ["neighbours on the chain", "everything written"])
@pytest.mark.parametrize("flag", ["from-left", "from-right"])
@pytest.mark.parametrize(("positions", "symbols", "hidden"), [(4, 3, False), (5, 2, True)])
def test_known_order_alone_needs_one_look_up_per_step(positions, symbols, hidden, flag, sees):
    """Entropy of each step given its own source symbol and the tokens that are written.

    It is log(symbols) for a position written before its predecessor on the chain, else zero.
    """
    task, examples = whole_space(positions, symbols, hidden)
    pairs = [(x, y) for name, x, y in map(parts, examples) if name == flag]
    [chain] = task.known_orders(Example(" ".join([flag, *"a" * positions]), ""))
    link = {i: k for k, i in enumerate(chain)}
    costs = {}

    def cost(i, written):
        if sees == "neighbours on the chain":
            written = frozenset(j for j in written if abs(link[j] - link[i]) == 1)
        if (i, written) not in costs:
            known = [((x[i], *(y[j] for j in sorted(written))), y[i]) for x, y in pairs]
            costs[i, written] = entropy(known)
        return costs[i, written]

    free = []
    for order in itertools.permutations(range(positions)):
        total = sum(cost(i, frozenset(order[:t])) for t, i in enumerate(order))
        early = sum(order.index(i) < order.index(j) for j, i in itertools.pairwise(chain))
        assert total == pytest.approx(early * math.log(symbols), abs=1e-9)
        if total < 1e-9:
            free.append(order)
    assert free == [chain]


def test_plain_chain_runs_through_the_text_from_the_flagged_end():
    task = Chain(positions=4, train=100)
    assert task.known_orders(Example("from-left a b c d", "A B C D")) == ((0, 1, 2, 3),)
    assert task.known_orders(Example("from-right a b c d", "A B C D")) == ((3, 2, 1, 0),)


def test_hidden_chain_differs_from_reading_order_and_has_two_ends():
    task = Chain(positions=12, hidden=True)
    [forth] = task.known_orders(Example("from-left a", ""))
    [back] = task.known_orders(Example("from-right a", ""))
    assert forth == back[::-1]
    assert forth not in (tuple(range(12)), tuple(range(12))[::-1])


@pytest.mark.statistical
def test_both_flags_occur():
    flags = Counter(parts(example)[0] for example in Chain(train=2000).split("train"))
    standard_error = math.sqrt(2000 / 4)
    assert abs(flags["from-left"] - 1000) < errors() * standard_error


def test_whole_space_can_be_asked_for():
    _, examples = whole_space(3, 3, False)
    expected = {
        " ".join([flag, *x])
        for flag in ("from-left", "from-right")
        for x in itertools.product("abc", repeat=3)
    }
    assert {example.source for example in examples} == expected
    assert len(examples) == len(expected)


def test_source_without_flag_is_an_error():
    with pytest.raises(DataError, match="starts with from-left or from-right, got 'a'"):
        Chain().known_orders(Example("a b", "A B"))
