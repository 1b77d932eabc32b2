"""A new law: a target is written left to right or right to left, by one coin.

    cd examples && voi train chain --set order.law=either_way:EitherWay

A law is a subclass of OrderLaw with sample, log_prob and mode. The generator calls it with
one score per position (event_scores = "vector") or an [n, n] matrix, and with lengths.
"""

import torch
from torch import Tensor
from torch.distributions import Bernoulli, constraints

from voi.distributions.law import OrderLaw, batch_lengths, token_mask


class EitherWay(OrderLaw):
    """q(left to right) = sigmoid(sum of the scores); one token has one order only."""

    event_scores = "vector"
    arg_constraints = {"logits": constraints.independent(constraints.real, 1)}  # noqa: RUF012

    def __init__(self, logits: Tensor, lengths: Tensor | None = None, validate_args: bool = False):
        lengths = batch_lengths(lengths, logits.shape[:-1], logits)
        self.logits = logits.where(token_mask(lengths, logits.shape[-1]), 0.0)
        super().__init__(lengths, logits.shape[-1], validate_args)
        self.coin = Bernoulli(logits=self.logits.sum(-1))

    def _order(self, is_forward: Tensor) -> Tensor:
        steps = torch.arange(self.size, device=self.logits.device)
        backward = torch.where(self.is_token, self.lengths.unsqueeze(-1) - 1 - steps, steps)
        return torch.where(is_forward.bool().unsqueeze(-1), steps, backward)

    def sample(self, sample_shape: tuple[int, ...] = ()) -> Tensor:
        return self._order(self.coin.sample(sample_shape))

    @property
    def mode(self) -> Tensor:
        return self._order(self.coin.probs >= 0.5)

    def log_prob(self, value: Tensor) -> Tensor:
        value, sides = self._broadcast(value), []
        for side in (torch.ones_like(self.coin.probs), torch.zeros_like(self.coin.probs)):
            is_order = (value == self._order(side)).all(-1)
            sides.append(self.coin.log_prob(side).expand_as(is_order).where(is_order, -torch.inf))
        return torch.stack(sides).logsumexp(0)
