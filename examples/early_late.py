"""A new law: every token is early or late, and each group is written from left to right.

    cd examples && voi train chain --set order.law=early_late:EarlyLate

A law is a subclass of OrderLaw with sample, log_prob and mode. The generator calls it with
one score per position (event_scores = "vector") or an [n, n] matrix, and with lengths.
"""

import torch
from torch import Tensor
from torch.distributions import constraints
from torch.nn.functional import logsigmoid, pad

from voi.distributions.law import OrderLaw, batch_lengths, token_mask


class EarlyLate(OrderLaw):
    """q(early) = sigmoid(score), independently; the order is all that is seen of the labels."""

    event_scores = "vector"
    arg_constraints = {"logits": constraints.independent(constraints.real, 1)}  # noqa: RUF012

    def __init__(self, logits: Tensor, lengths: Tensor | None = None, validate_args: bool = False):
        lengths = batch_lengths(lengths, logits.shape[:-1], logits)
        self.logits = logits.where(token_mask(lengths, logits.shape[-1]), 0.0)
        super().__init__(lengths, logits.shape[-1], validate_args)

    def _order(self, is_late: Tensor) -> Tensor:
        return torch.where(self.is_token, is_late.long(), 2).argsort(dim=-1, stable=True)

    def sample(self, sample_shape: tuple[int, ...] = ()) -> Tensor:
        chances = torch.rand(self._extended_shape(sample_shape), device=self.logits.device)
        return self._order(chances > self.logits.sigmoid())

    @property
    def mode(self) -> Tensor:
        """The order of the likeliest labels, or reading order, which many labels give."""
        order = self._order(self.logits < 0)
        plain = torch.arange(self.size, device=order.device).expand_as(order)
        is_plain = self.log_prob(plain) > self.log_prob(order)
        return torch.where(is_plain.unsqueeze(-1), plain, order)

    def log_prob(self, value: Tensor) -> Tensor:
        """Sum over how many of the first steps were early: the rest must ascend as well."""
        value = self._broadcast(value)
        logits = self.logits.expand_as(value).gather(-1, value)  # by step
        early = logsigmoid(logits).where(self.is_token, 0.0)
        late = logsigmoid(-logits).where(self.is_token, 0.0)
        before = pad(early.cumsum(-1), (1, 0))  # [.., n + 1]: the first k are early
        after = pad(late.flip(-1).cumsum(-1).flip(-1), (0, 1))  # the others are late
        breaks = pad((value.diff(dim=-1) < 0).long(), (1, 1))[..., : self.size + 1]
        is_split = breaks.sum(-1, keepdim=True) == breaks  # a descent is where late begins
        counts = token_mask(self.lengths + 1, self.size + 1)
        return (before + after).masked_fill(~(is_split & counts), -torch.inf).logsumexp(-1)
