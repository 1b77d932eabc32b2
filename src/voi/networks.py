"""The two networks of an experiment, built from its configuration alone."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from voi.config import Experiment
from voi.decoder import InsertionDecoder
from voi.layers import Block
from voi.orders import OrderGenerator, make_orders

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

    def weights(self) -> dict[str, Tensor]:
        """Return all weights by name; those that the generator shares stand under both names."""
        found = dict(self.state_dict())
        if isinstance(self.orders, OrderGenerator) and self.orders.is_sharing:
            for part in ("decoder.source.", "decoder.embedding."):
                shared = [name for name in found if name.startswith(part)]
                found |= {name.replace("decoder", "orders", 1): found[name] for name in shared}
        return found
