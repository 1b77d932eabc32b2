"""Laws without parameters to learn: one fixed order, and all orders alike."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints
from torch.types import _size

from voi.distributions.constraints import permutation, permutation_within
from voi.distributions.law import (
    Lengths,
    OrderLaw,
    batch_lengths,
    log_factorial,
    whole_numbers,
)


class Uniform(OrderLaw):
    """Every order of a row's tokens with probability 1 / n!; each sample is drawn afresh.

    `size` is the padded length of the orders, the largest of `lengths` unless given.
    """

    arg_constraints = {"lengths": constraints.nonnegative_integer}  # noqa: RUF012

    def __init__(
        self, lengths: Lengths, size: int | None = None, validate_args: bool | None = None
    ) -> None:
        lengths = whole_numbers(lengths)
        if size is None:
            size = max(0, int(lengths.max())) if lengths.numel() else 0
        like = torch.empty(size, device=lengths.device)
        super().__init__(batch_lengths(lengths, lengths.shape, like), size, validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> "Uniform":
        lengths = self.lengths.expand(torch.Size(batch_shape))
        new = type(self)(lengths, self.size, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        keys = torch.rand(self._extended_shape(sample_shape), device=self.lengths.device)
        return keys.masked_fill(~self.is_token, 2.0).argsort(dim=-1, stable=True)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._broadcast(value)
        return -self.entropy().expand(value.shape[:-1])

    @property
    def mode(self) -> Tensor:
        """Left to right: all orders are equally likely, and this one is named for them."""
        steps = torch.arange(self.size, device=self.lengths.device)
        return steps.expand(*self.batch_shape, self.size)

    def entropy(self) -> Tensor:
        """Return log n!."""
        return log_factorial(self.lengths, torch.get_default_dtype())


class Delta(OrderLaw):
    """All mass on one order.

    >>> Delta(torch.tensor([2, 0, 1])).log_prob(torch.tensor([[2, 0, 1], [0, 1, 2]]))
    tensor([0., -inf])
    """

    arg_constraints = {  # noqa: RUF012
        "order": permutation,  # [*batch, n]
        "lengths": constraints.nonnegative_integer,
    }

    def __init__(
        self,
        order: Tensor | Sequence[int],
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        order = whole_numbers(order)
        if order.ndim < 1:
            raise ValueError(f"order must be [*batch, n], got the number {order.item()}")
        lengths = batch_lengths(lengths, order.shape[:-1], order)
        self.order = order.expand(*lengths.shape, order.shape[-1])
        super().__init__(lengths, order.shape[-1], validate_args)
        if self._validate_args and not permutation_within(lengths).check(self.order).all():
            raise ValueError("order must satisfy order[t] = t for every padded step t >= length")

    def expand(self, batch_shape: _size, _instance: Any = None) -> "Delta":
        order = self.order.expand(*batch_shape, self.size)
        new = type(self)(order, self.lengths.expand(torch.Size(batch_shape)), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        return self.order.expand(self._extended_shape(sample_shape)).clone()

    def log_prob(self, value: Tensor) -> Tensor:
        is_order = (self._broadcast(value) == self.order).all(dim=-1)
        return torch.zeros(is_order.shape, device=value.device).masked_fill(~is_order, -torch.inf)

    @property
    def mode(self) -> Tensor:
        """The one order."""
        return self.order

    def entropy(self) -> Tensor:
        """Return zero."""
        return torch.zeros(self.batch_shape, device=self.order.device)
