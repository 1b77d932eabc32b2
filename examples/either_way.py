"""A new law: a target is written left to right or right to left, by one coin.

    cd examples && voi train chain --set order.law=either_way:EitherWay

A law is a subclass of ScoredLaw with sample, log_prob and mode. The generator gives it lengths
and logits: one score per position (logits_shape = "vector") or an [n, n] matrix.
"""

import torch
from torch import Tensor
from torch.distributions import Bernoulli

from voi.distributions import ScoredLaw


class EitherWay(ScoredLaw):
    """q(left to right) = sigmoid(sum of the scores); one token has one order only."""

    logits_shape = "vector"

    @property
    def coin(self) -> Bernoulli:
        return Bernoulli(logits=self.logits.sum(-1))  # logits are zero on padding

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
        value, coin, sides = self._broadcast(value), self.coin, []
        for side in (torch.ones_like(coin.probs), torch.zeros_like(coin.probs)):
            is_order = (value == self._order(side)).all(-1)
            sides.append(coin.log_prob(side).expand_as(is_order).where(is_order, -torch.inf))
        return torch.stack(sides).logsumexp(0)
