"""The two networks of an experiment, built from its configuration alone."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from voi.config import Experiment
from voi.decoder import InsertionDecoder
from voi.layers import Block
from voi.orders import make_orders

T = TypeVar("T")


class Networks(nn.Module):
    """The decoder p(y, z | x) and the orders q(z | x, y) it is trained on."""

    def __init__(self, experiment: Experiment, counts: torch.Tensor, region_size: int = 0):
        super().__init__()
        self.decoder = InsertionDecoder(experiment.decoder, len(counts), region_size)
        order = experiment.order
        self.orders = make_orders(order.kind, order, counts, self.decoder, region_size)
        for module in self.modules():
            if isinstance(module, Block):
                module.recompute = experiment.training.recompute

    def forward(self, compute: Callable[[], T]) -> T:
        """Return what a function computes with the networks.

        Where processes hold parts of the parameters, they are gathered around this call.
        """
        return compute()
