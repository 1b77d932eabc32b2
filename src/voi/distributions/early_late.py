"""Orders in two runs: some tokens early, the others late, each group from left to right."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad
from torch.types import _size

from voi.distributions.law import ScoredLaw
from voi.permutation import token_mask


class EarlyLate(ScoredLaw):
    """Early tokens from left to right, then the late ones.

    Each token is labelled early with probability sigmoid(s), else late; only the resulting order is
    observed, not the labels.

    q(z) = sum_{k in splits(z)} prod_{t < k} sigmoid(s[z_t]) prod_{t >= k} sigmoid(-s[z_t])
                                                                    (docs/math.md, "early-late")

    A split k cuts z into two ascending runs. An order that descends once has one split, reading
    order has n + 1, an order that descends more than once has none: its log-probability is -inf.

    >>> q = EarlyLate(torch.tensor([-3.0, 2.0, 1.0]))
    >>> q.mode                                                    # 1 and 2 are early
    tensor([1, 2, 0])
    """

    logits_shape = "vector"  # s, [*batch, n]

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        logits = self.logits.double()  # float32 draws are too coarse for a probability of 1e-8
        chances = torch.rand_like(logits.expand(self._extended_shape(sample_shape)))
        return self._order(chances >= logits.sigmoid())

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._broadcast(value)
        by_split = self._by_split(self.logits.expand_as(value).gather(-1, value))
        descends = pad(value.diff(dim=-1) < 0, (1, 1))[..., : self.size + 1]  # at k: [..., n + 1]
        is_split = descends.sum(-1, keepdim=True) == descends.long()
        return by_split.masked_fill(~is_split, -torch.inf).logsumexp(-1)

    @property
    @torch.no_grad()
    def mode(self) -> Tensor:
        """The order of the likeliest labels, or reading order, which many labels give."""
        order = self._order(self.logits < 0)
        reading = torch.arange(self.size, device=order.device).expand_as(order)
        is_reading = self._log_reading() > self.log_prob(order)
        return torch.where(is_reading.unsqueeze(-1), reading, order)

    def entropy(self) -> Tensor:
        """Return the entropy of the labels less what the order does not tell of them.

        Only reading order leaves labels open: n + 1 splits give it.
        """
        s = self.logits
        labels = -(s.sigmoid() * logsigmoid(s) + (-s).sigmoid() * logsigmoid(-s))
        by_split = self._by_split(self.logits)
        gap = by_split - by_split.logsumexp(-1, keepdim=True)
        open_part = torch.where(by_split == -torch.inf, 0, by_split.exp() * gap)
        return torch.where(self.is_token, labels, 0).sum(-1) + open_part.sum(-1)

    def _order(self, is_late: Tensor) -> Tensor:
        """Return early positions, then late ones, then the tail."""
        return torch.where(self.is_token, is_late.long(), 2).argsort(dim=-1, stable=True)

    def _log_reading(self) -> Tensor:
        return self._by_split(self.logits).logsumexp(-1)

    def _by_split(self, logits: Tensor) -> Tensor:
        """Return, from scores by step, the log-probability of k early steps, the others late.

        The shape is [..., n + 1], one entry for each k; beyond the length it is -inf.
        """
        early = torch.where(self.is_token, logsigmoid(logits), 0)
        late = torch.where(self.is_token, logsigmoid(-logits), 0)
        before = pad(early.cumsum(-1), (1, 0))
        after = pad(late.flip(-1).cumsum(-1).flip(-1), (0, 1))
        is_real = token_mask(self.lengths + 1, self.size + 1)
        return (before + after).masked_fill(~is_real, -torch.inf)
