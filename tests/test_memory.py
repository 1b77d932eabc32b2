"""The memory that `voi train --dry-run` estimates."""

import numpy as np
import pytest
import torch

from small_runs import tiny_experiment
from voi.memory import training_memory
from voi.networks import Networks

LENGTHS = np.full(8, 20)


def memory(*settings):
    experiment = tiny_experiment(*settings)
    networks = Networks(experiment, torch.ones(30, dtype=torch.long))
    return training_memory(experiment, networks, LENGTHS, LENGTHS)


@pytest.mark.parametrize("kind", ["voi", "l2r"])
def test_states_that_are_computed_again_are_not_counted(kind):
    settings = "decoder.layers=4", f"order.kind={kind}"
    assert memory(*settings, "training.recompute=true") < memory(*settings) / 2


def test_another_layer_costs_its_input_alone_where_states_are_computed_again():
    """Beside parameters: 8 targets of 21 tokens with K = 4, keys and values of 8 sources."""
    kept, again = (
        memory(f"decoder.layers={layers}", "order.kind=l2r", "training.recompute=true")
        for layers in (3, 4)
    )
    experiment = tiny_experiment("decoder.layers=1", "order.kind=l2r")
    block = Networks(experiment, torch.ones(30, dtype=torch.long)).decoder.blocks[0]
    parameters = sum(p.numel() for p in block.parameters())
    assert again - kept == 4 * (4 * parameters + 16 * 21 * (8 * 4 + 2 * 8))
