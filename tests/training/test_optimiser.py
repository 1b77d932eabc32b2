"""Adam with clipped gradients against torch's own steps."""

import copy
import math

import pytest
import torch
from torch import nn

from voi.training.optimiser import Optimiser


def network(dtype):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2)).to(dtype)


def gradients(network, size):
    for parameter in network.parameters():
        parameter.grad = size * torch.ones_like(parameter).cumsum(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("clip", "size"), [(1.0, 3.0), (1.0, 1e-3), (0.0, 3.0)])
def test_steps_are_those_of_clipping_and_adam(clip, size, dtype):
    ours, theirs = network(dtype), network(dtype)
    optimiser = Optimiser(ours, (0.9, 0.98), clip)
    adam = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.9, 0.98))
    for turn in (1, 2, 3):
        for each in (ours, theirs):
            gradients(each, size / turn)
        expected = nn.utils.clip_grad_norm_(theirs.parameters(), clip or math.inf)
        assert optimiser.step(0.01) == pytest.approx(expected.item(), rel=1e-6)
        adam.step()
    for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-5, atol=1e-6)
        assert own.grad is None


def test_gradients_that_are_no_numbers_move_nothing():
    moved = network(torch.float32)
    before = copy.deepcopy(moved.state_dict())
    optimiser = Optimiser(moved, (0.9, 0.98), 1.0)
    gradients(moved, math.nan)
    assert math.isnan(optimiser.step(0.01))
    torch.testing.assert_close(dict(moved.state_dict()), dict(before), rtol=0, atol=0)


def test_a_network_without_parameters_is_left_alone():
    assert Optimiser(nn.Identity(), (0.9, 0.98), 1.0).step(0.01) == 0.0
