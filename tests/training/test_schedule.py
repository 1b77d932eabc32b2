"""Rates and entropy weights at hand-computed points."""

import math
from itertools import pairwise

import pytest

from voi.config import Phase
from voi.training.schedule import entropy_weight, rate_factor


def test_constant_rate_after_warmup():
    phase = Phase(steps=10, warmup=4)
    assert [rate_factor(phase, t, 10) for t in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]


def test_decay_may_start_late():
    phase = Phase(steps=10, decay="linear", decay_hold=0.5)
    factors = [rate_factor(phase, step, 10) for step in range(10)]
    assert factors == pytest.approx([1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2])


def test_linear_decay_reaches_zero_after_the_last_step():
    phase = Phase(steps=10, warmup=2, decay="linear")
    factors = [rate_factor(phase, t, 10) for t in range(10)]
    assert factors == [0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]


def test_constant_weight():
    phase = Phase(steps=5, entropy_weight=0.3)
    assert [entropy_weight(phase, t, 5) for t in range(5)] == [0.3] * 5


def test_log_linear_weight():
    phase = Phase(steps=3, entropy_weight=1.0, entropy_final=0.01)
    assert [entropy_weight(phase, t, 3) for t in range(3)] == pytest.approx([1.0, 0.1, 0.01])


def test_hold_then_anneal():
    phase = Phase(steps=9, entropy_weight=1.0, entropy_final=0.1, entropy_hold=0.5)
    weights = [entropy_weight(phase, t, 9) for t in range(9)]
    assert weights[:5] == [1.0] * 5
    assert weights[-1] == pytest.approx(0.1)
    logs = [math.log(weight) for weight in weights[5:]]
    steps = [b - a for a, b in pairwise(logs)]
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_annealed_to_nothing():
    phase = Phase(steps=4, entropy_weight=1.0, entropy_final=0.0)
    weights = [entropy_weight(phase, t, 4) for t in range(4)]
    assert weights[0] == 1.0
    assert weights[-1] == 0.0
    assert weights == sorted(weights, reverse=True)
