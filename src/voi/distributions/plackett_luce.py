"""Orders drawn by picking positions one at a time from one score per position."""

import torch
from torch import Tensor
from torch.types import _size

from voi.distributions.law import ScoredLaw, log_factorial
from voi.distributions.matching import centred, gumbel_divergence, gumbel_noise


class PlackettLuce(ScoredLaw):
    """Orders drawn by picking positions one at a time, without replacement.

    log q(z) = sum_t ( s[z_t] - log sum_{u >= t} exp s[z_u] )     (docs/math.md, "plackett-luce")

    >>> q = PlackettLuce(torch.tensor([0.0, 1.0, -1.0]))
    >>> q.mode                                                    # highest score first
    tensor([1, 0, 2])
    """

    logits_shape = "vector"  # s, [*batch, n]

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        logits = self._centred.expand(*sample_shape, *self.logits.shape)
        return self._by_falling_score(gumbel_noise(logits).add_(logits))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._broadcast(value)
        logits = self._centred.expand_as(value).gather(-1, value)  # [..., n], by step
        # Reversing the tokens alone keeps the tail out of the sums and out of their gradients.
        steps = torch.arange(self.size, device=value.device)
        reverse = ((self.lengths.unsqueeze(-1) - 1 - steps) % max(self.size, 1)).expand_as(value)
        log_remaining = logits.gather(-1, reverse).logcumsumexp(dim=-1).gather(-1, reverse)
        return torch.where(self.is_token, logits - log_remaining, 0).sum(dim=-1)

    @property
    def mode(self) -> Tensor:
        """The most likely order: falling scores, ties by position."""
        return self._by_falling_score(self.logits.detach())

    def gumbel_entropy(self) -> Tensor:
        """Return the differentiable entropy term of the paper's program, log n! - KL.

        KL = sum_i gumbel_divergence(s_i) = sum_i (s_i + exp(-s_i) - 1)   (docs/math.md,
        "gumbel-entropy") is the divergence of s + G, which is sorted to an order, from standard
        Gumbel noise: a lower bound on the entropy of this law.
        """
        entries = torch.where(self.is_token, gumbel_divergence(self.logits), 0)
        return log_factorial(self.lengths, self.logits.dtype) - entries.sum(dim=-1)

    @property
    def _centred(self) -> Tensor:
        """The scores without what all tokens have in common."""
        return centred(self.logits, self.is_token)

    def _by_falling_score(self, scores: Tensor) -> Tensor:
        last = scores.masked_fill(~self.is_token, -torch.inf)
        return last.argsort(dim=-1, descending=True, stable=True)
