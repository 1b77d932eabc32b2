"""Paths by breadth-first search, and the number of sources by enumeration."""

import itertools
from collections import Counter, deque

import pytest

from chance import errors
from voi.data.example import Example
from voi.data.stargraph import StarGraph


def read(example):
    """Return edges, start and goal of a source."""
    listed, _, ends = example.source.partition(" | ")
    edges = [tuple(edge.split(">")) for edge in listed.split()]
    return edges, *ends.split()


def shortest_path(edges, start, goal):
    queue = deque([[start]])
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        queue.extend([*path, child] for parent, child in edges if parent == path[-1])
    return None


@pytest.mark.parametrize(("degree", "length", "nodes"), [(2, 5, 20), (3, 2, 7), (4, 1, 9)])
def test_graph_is_a_star_and_target_its_path(degree, length, nodes):
    task = StarGraph(degree, length, nodes, seed=1, train=100, valid=5, test=5)
    for example in task.split("train"):
        edges, start, goal = read(example)
        names = {name for edge in edges for name in edge}
        children, parents = Counter(a for a, _ in edges), Counter(b for _, b in edges)
        assert len(set(edges)) == len(edges) == degree * length
        assert len(names) == degree * length + 1
        assert names <= {f"n{i}" for i in range(nodes)}
        assert children[start] == degree
        assert start not in parents
        assert set(parents.values()) == {1}
        assert sum(name not in children for name in names) == degree  # ends of arms
        assert goal not in children
        path = example.target.split()
        assert path == shortest_path(edges, start, goal)
        assert len(path) == length + 1


def test_known_orders_find_each_node_by_one_look_up():
    """From nodes written before, and from both ends, which stand in the source.

    Backwards there is one edge to follow; forwards the first step has `degree` of them. The known
    orders are exactly those that always follow an edge backwards, by enumeration.
    """
    task = StarGraph(degree=3, length=4, train=20)
    for example in task.split("train"):
        edges, start, goal = read(example)
        path = example.target.split()

        def is_found(order, path=path, edges=edges, start=start, goal=goal):
            known = {start, goal}
            for node in (path[i] for i in order):
                children = {child for parent, child in edges if parent == node}
                if node not in known and not children & known:
                    return False
                known.add(node)
            return True

        best = {order for order in itertools.permutations(range(len(path))) if is_found(order)}
        orders = task.known_orders(example)
        assert len(orders) == len(set(orders))
        assert set(orders) == best
        assert sum(parent == start for parent, _ in edges) == 3


def test_the_first_known_order_is_reversed_reading_order():
    assert StarGraph().known_orders(Example("", "n1 n2 n3"))[0] == (2, 1, 0)


@pytest.mark.statistical
def test_edges_and_goals_are_shuffled():
    """Neither the first edge listed nor its arm tells where the goal is."""
    first_is_start, first_on_path = Counter(), Counter()
    for example in StarGraph(train=2000).split("train"):
        edges, start, _ = read(example)
        first_is_start[edges[0][0] == start] += 1
        first_on_path[edges[0][1] in example.target.split()] += 1
    assert abs(first_is_start[True] - 400) < errors(2) * (2000 * 0.2 * 0.8) ** 0.5  # 2 of 10 edges
    assert abs(first_on_path[True] - 1000) < errors(2) * (2000 * 0.25) ** 0.5


@pytest.mark.parametrize(("length", "nodes"), [(1, 3), (1, 4), (2, 5)])
def test_every_source_can_be_drawn_and_no_other(length, nodes):
    """All edge lists and goals that name a star of two arms, listed by brute force."""
    expected = set()
    for names in itertools.permutations([f"n{i}" for i in range(nodes)], 2 * length + 1):
        arms = [names[1 : length + 1], names[length + 1 :]]
        edges = [f"{a}>{b}" for arm in arms for a, b in itertools.pairwise([names[0], *arm])]
        for shuffled in itertools.permutations(edges):
            expected |= {f"{' '.join(shuffled)} | {names[0]} {arm[-1]}" for arm in arms}
    task = StarGraph(2, length, nodes, train=len(expected) - 2, valid=1, test=1)
    drawn = {e.source for split in ("train", "valid", "test") for e in task.split(split)}
    assert drawn == expected
