"""Orders drawn step by step, each step with its own scores."""

from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.types import _size

from voi.distributions.law import ScoredLaw
from voi.distributions.matching import block_diagonal, centred, gumbel_noise
from voi.distributions.subsets import subset_levels
from voi.permutation import inverse, steps_like, token_mask

MAX_EXACT_MODE = 10
BEAM_SIZE = 64


class MatrixPlackettLuce(ScoredLaw):
    """Orders drawn step by step: row t of X scores the positions still unused at step t.

    log q(z) = sum_t ( X[t, z_t] - log sum_{u >= t} exp X[t, z_u] )
                                                            (docs/math.md, "matrix-plackett-luce")
    Unlike `GumbelMatching` of the same X, it is sampled and scored exactly, at any n.
    """

    logits_shape = "matrix"  # X, [*batch, n, n]

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        logits = self.logits.expand(*sample_shape, *self.logits.shape)
        logits = centred(logits, self.is_token.unsqueeze(-2))
        scores = block_diagonal(
            gumbel_noise(logits).add_(logits), self.lengths.expand(logits.shape[:-2])
        )
        order = torch.empty(logits.shape[:-1], dtype=torch.int64, device=logits.device)
        for t in range(self.size):
            pick = scores[..., t, :].argmax(dim=-1, keepdim=True)
            order[..., t : t + 1] = pick
            used = pick.unsqueeze(-2).expand(*scores.shape[:-1], 1)
            scores.scatter_(-1, used, -torch.inf)  # no later step can write this position
        return order

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._broadcast(value)
        X = self.logits.expand(*value.shape, self.size)  # [..., n, n]
        steps = torch.arange(self.size, device=value.device)
        is_unused = inverse(value).unsqueeze(-2) >= steps.unsqueeze(-1)  # entry [t, i]
        # A step of the tail keeps what is unused, lest its sum be empty; it is left out below.
        is_open = is_unused & (self.is_token.unsqueeze(-2) | ~self.is_token.unsqueeze(-1))
        log_probs = X.masked_fill(~is_open, -torch.inf).log_softmax(dim=-1)
        chosen = log_probs.gather(-1, value.unsqueeze(-1)).squeeze(-1)
        return torch.where(self.is_token, chosen, 0).sum(dim=-1)

    @property
    def mode(self) -> Tensor:
        """The most likely order: exact for n <= 10, beyond that the best a beam of 64 finds."""
        logits = self.logits.detach().double()  # what scores have in common costs no digits
        lengths = self.lengths
        is_short, n = lengths <= MAX_EXACT_MODE, min(self.size, MAX_EXACT_MODE)
        order = steps_like(logits).repeat(*lengths.shape, 1)
        order[..., :n][is_short] = best_by_subsets(logits[is_short][:, :n, :n], lengths[is_short])
        order[~is_short] = best_by_beam(logits[~is_short], lengths[~is_short])
        return order


def best_by_subsets(
    logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"]
) -> Int[Tensor, "*batch n"]:
    """Return the most likely order, by a dynamic programme over the sets of written positions.

    B[S] = max_{i in S} ( B[S - i] + X[t, i] - log sum_{j not in S - i} exp X[t, j] ),  t = |S| - 1
    """
    n = logits.shape[-1]
    X = torch.where(token_mask(lengths, n).unsqueeze(-2), logits, -torch.inf)
    levels = subset_levels(n, logits.device)
    best = X.new_zeros(*X.shape[:-2], 1)  # [*batch, subsets], B of one level
    choices = []
    for t, (below, level) in enumerate(pairwise(levels)):
        row = X[..., t, :]
        log_total = row.unsqueeze(-2).masked_fill(below.members, -torch.inf).logsumexp(dim=-1)
        scores = (best - log_total)[..., level.previous] + row[..., level.column]
        best, choice = scores.max(dim=-1)
        choices.append(choice)
    order = torch.arange(n, device=logits.device).repeat(*lengths.shape, 1)
    subset = torch.zeros_like(lengths)  # the first of its level holds all tokens of the row
    for t in reversed(range(n)):
        level, is_token = levels[t + 1], t < lengths
        choice = choices[t].gather(-1, subset.unsqueeze(-1)).squeeze(-1)
        order[..., t] = torch.where(is_token, level.column[subset, choice], t)
        subset = torch.where(is_token, level.previous[subset, choice], 0)
    return order


def best_by_beam(
    logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"], beam_size: int = BEAM_SIZE
) -> Int[Tensor, "*batch n"]:
    """Return the most likely order a beam over steps finds; not always the most likely of all."""
    n = logits.shape[-1]
    X = block_diagonal(logits, lengths).unsqueeze(-3)  # [*batch, 1, n, n]
    total = X.new_zeros(*lengths.shape, 1)  # [*batch, beam]
    order = torch.zeros(*lengths.shape, 1, 0, dtype=torch.int64, device=X.device)
    used = torch.zeros(*lengths.shape, 1, n, dtype=torch.bool, device=X.device)
    for t in range(n):
        row = X[..., t, :].masked_fill(used, -torch.inf)  # [*batch, beam, n]
        # A dead entry of the beam may have no position left: inf - inf, not a better score.
        scores = torch.where(row > -torch.inf, row - row.logsumexp(-1, True), -torch.inf)
        candidates = (total.unsqueeze(-1) + scores).flatten(-2)  # [*batch, beam * n]
        total, flat = candidates.topk(min(beam_size, candidates.shape[-1]), dim=-1)
        parent, pick = (flat // n).unsqueeze(-1), (flat % n).unsqueeze(-1)
        order = torch.cat([order.gather(-2, parent.expand(*flat.shape, t)), pick], dim=-1)
        used = used.gather(-2, parent.expand(*flat.shape, n)).scatter(-1, pick, True)
    return order[..., 0, :]
