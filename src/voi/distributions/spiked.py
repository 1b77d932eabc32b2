"""A law mixed with one order that it should not miss."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints
from torch.types import _size

from voi.distributions.law import OrderLaw


class Spiked(OrderLaw):
    """`order` with probability `weight`, else drawn from `law`.

    q(z) = weight [z = order] + (1 - weight) law(z)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # noqa: RUF012

    def __init__(self, law: OrderLaw, order: Tensor, weight: float = 0.5) -> None:
        self.law, self.order, self.weight = law, order, weight
        super().__init__(law.lengths, law.size, validate_args=False)

    def expand(self, batch_shape: _size, _instance: Any = None) -> "Spiked":
        order = self.order.expand(*batch_shape, self.size)
        return type(self)(self.law.expand(batch_shape), order, self.weight)

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        drawn = self.law.sample(sample_shape)
        is_spike = torch.rand(drawn.shape[:-1], device=drawn.device) < self.weight
        return torch.where(is_spike.unsqueeze(-1), self.order, drawn)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._broadcast(value)
        rest = self.law.log_prob(value) + math.log1p(-self.weight)
        is_order = (value == self.order).all(-1)
        spike = torch.full_like(rest, math.log(self.weight)).masked_fill(~is_order, -torch.inf)
        return torch.logaddexp(spike, rest)

    @property
    def mode(self) -> Tensor:
        """The order of the point mass, the likeliest one where `weight` is at least a half."""
        return self.order
