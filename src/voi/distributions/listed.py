"""A law on a short list of orders, as a search for good orders leaves them."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints
from torch.types import _size

from voi.distributions.constraints import permutation, permutation_within
from voi.distributions.law import OrderLaw, batch_lengths, whole_numbers


class Listed(OrderLaw):
    """One of m given orders, with probabilities softmax(logits); an order may stand there twice.

    >>> law = Listed(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0.75, 0.25]).log())
    >>> law.log_prob(torch.tensor([1, 0])).exp()
    tensor(0.2500)
    """

    arg_constraints = {  # noqa: RUF012
        "orders": permutation,  # [*batch, m, n]
        "logits": constraints.less_than(torch.inf),  # [*batch, m]
        "lengths": constraints.nonnegative_integer,
    }

    def __init__(
        self,
        orders: Tensor,
        logits: Tensor,
        lengths: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if orders.ndim < 2 or orders.shape[-2:-1] != logits.shape[-1:]:
            raise ValueError(
                f"orders must be [*batch, m, n] and logits [*batch, m], got {tuple(orders.shape)} "
                f"and {tuple(logits.shape)}"
            )
        orders = whole_numbers(orders)
        batch_shape = torch.broadcast_shapes(orders.shape[:-2], logits.shape[:-1])
        lengths = batch_lengths(lengths, batch_shape, orders)
        self.orders = orders.expand(*lengths.shape, *orders.shape[-2:])
        self.logits = logits.expand(*lengths.shape, logits.shape[-1])
        super().__init__(lengths, orders.shape[-1], validate_args)
        if self._validate_args:
            tails = permutation_within(lengths.unsqueeze(-1)).check(self.orders)
            if not tails.all():
                raise ValueError("orders must satisfy order[t] = t for every padded step")
            if (self.logits == -torch.inf).all(-1).any():
                raise ValueError("logits must be finite for at least one order of every row")

    def expand(self, batch_shape: _size, _instance: Any = None) -> "Listed":
        new = type(self)(
            self.orders.expand(*batch_shape, *self.orders.shape[-2:]),
            self.logits.expand(*batch_shape, self.logits.shape[-1]),
            self.lengths.expand(torch.Size(batch_shape)),
            validate_args=False,
        )
        new._validate_args = self._validate_args
        return new

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        if 0 in sample_shape:  # which torch's categorical law refuses
            return self.orders.new_empty(self._extended_shape(sample_shape))
        of_list = torch.distributions.Categorical(logits=self.logits, validate_args=False)
        chosen = of_list.sample(sample_shape)
        orders = self.orders.expand(*chosen.shape, *self.orders.shape[-2:])
        index = chosen[..., None, None].expand(*chosen.shape, 1, self.size)
        return orders.gather(-2, index).squeeze(-2)

    def log_prob(self, value: Tensor) -> Tensor:
        is_listed = (self._broadcast(value).unsqueeze(-2) == self.orders).all(-1)
        log_probs = self.logits.log_softmax(-1).masked_fill(~is_listed, -torch.inf)
        return log_probs.logsumexp(-1)

    @property
    def mode(self) -> Tensor:
        """The likeliest order, all places of the list where it stands counted."""
        return self.orders.take_along_dim(
            self._log_probs_listed().argmax(-1)[..., None, None], -2
        ).squeeze(-2)

    def entropy(self) -> Tensor:
        """Return -E[log q], an order that stands in the list twice counted as one."""
        log_probs = self._log_probs_listed()
        return -(self.logits.softmax(-1) * log_probs).sum(-1)

    def _log_probs_listed(self) -> Tensor:
        """Return log q of every order of the list `[*batch, m]`, finite also where q is 0."""
        is_same = (self.orders.unsqueeze(-2) == self.orders.unsqueeze(-3)).all(-1)
        lowest = torch.finfo(self.logits.dtype).min / 4
        log_probs = self.logits.clamp(min=lowest).log_softmax(-1).unsqueeze(-2)
        return log_probs.expand_as(is_same).masked_fill(~is_same, -torch.inf).logsumexp(-1)
