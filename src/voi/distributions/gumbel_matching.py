"""The law of the order generator: matchings of a score matrix under Gumbel noise."""

from typing import Any

import torch
from torch import Tensor
from torch.types import _size

from voi.distributions.law import ScoredLaw, block_mask, log_factorial
from voi.distributions.matching import (
    assignment,
    centred,
    gumbel_divergence,
    gumbel_noise,
    log_sinkhorn,
)
from voi.distributions.matrix_plackett_luce import MatrixPlackettLuce
from voi.distributions.permanent import (
    TOLERANCE,
    Bethe,
    envelope,
    log_permanent_bethe,
    log_permanent_exact,
    marginals_exact,
)
from voi.distributions.spiked import Spiked

PARTITIONS = ("bethe", "exact")
SAMPLERS = ("assignment", "sinkhorn")
_ROUGH = 1e-3, 50  # tolerance and iterations of marginals that are near enough for a log


class GumbelMatching(ScoredLaw):
    """Orders matched to a score matrix X, row = step and column = final position.

    sample:    z = argmax_P <X + G, P>, G standard Gumbel noise
    log_prob:  log q(z) = sum_t X[t, z_t] - log perm(exp X)       (docs/math.md, "gumbel-matching")

    **The law that is sampled is not the law that is scored.** `log_prob` is the Gibbs law of X;
    one Gumbel per entry, where the Gibbs law would need one per order, gives samples that are
    flatter. Sample frequencies are therefore no estimate of `exp(log_prob)`, and importance weights
    or bounds on a likelihood need a law whose density is known: `proposal()`.

    Relative to the paper: `sampler="assignment"` solves the matching of X + G itself. With
    `sampler="sinkhorn"` exp((X + G) / tau) is scaled to a doubly stochastic matrix first and the
    matching is taken on that matrix, as in the released code. The scaling multiplies rows and
    columns, which adds constants to the *logarithms* of a row or column, so a matching on log S
    would be argmax <X + G, P>; on S itself it is another order, the one that maximises a sum of
    probabilities instead of their product. `tau` enters there and in `gumbel_entropy`; a matching
    on X + G does not depend on it.

    `partition` says how log perm is found: `"bethe"` (any n, see `log_permanent_bethe`) or
    `"exact"` (n <= 16).
    """

    logits_shape = "matrix"  # X, [*batch, n, n]

    def __init__(
        self,
        logits: Tensor,
        lengths: Tensor | None = None,
        partition: str = "bethe",
        sampler: str = "assignment",
        tau: float = 1.0,
        sinkhorn_iterations: int = 200,
        validate_args: bool | None = None,
    ) -> None:
        _check_options(partition, sampler, tau, sinkhorn_iterations)
        self.partition, self.sampler = partition, sampler
        self.tau, self.sinkhorn_iterations = tau, sinkhorn_iterations
        self._bethe: tuple[Tensor, Bethe] | None = None  # and the scores it is of
        super().__init__(logits, lengths, validate_args)

    @property
    def options(self) -> dict[str, Any]:
        """How the law is sampled and scored."""
        names = ("partition", "sampler", "tau", "sinkhorn_iterations")
        return {name: getattr(self, name) for name in names}

    @torch.no_grad()
    def sample(self, sample_shape: _size = ()) -> Tensor:
        logits = self.logits.expand(*sample_shape, *self.logits.shape)
        scores = gumbel_noise(logits).add_(logits)  # [*sample, *batch, n, n]
        lengths = self.lengths.expand(scores.shape[:-2])
        if self.sampler == "sinkhorn":
            scores = log_sinkhorn(scores / self.tau, lengths, self.sinkhorn_iterations).exp()
            scores = scores.masked_fill(self.logits == -torch.inf, -torch.inf)  # forbidden places
        return assignment(scores, lengths)

    def log_prob(self, value: Tensor) -> Tensor:
        total = self._chosen(value).double().sum(dim=-1) - self._log_partition()
        return total.to(self.logits.dtype)

    def log_potential(self, value: Tensor) -> Tensor:
        """Return <X, P>, the log probability without log perm(exp X), which is not computed."""
        return self._chosen(value).sum(dim=-1)

    def _chosen(self, value: Tensor) -> Tensor:
        """Return X[t, z_t] of every step."""
        value = self._broadcast(value)
        logits = self.logits.expand(*value.shape, self.size)
        return logits.gather(-1, value.unsqueeze(-1)).squeeze(-1)

    def _log_partition(self) -> Tensor:
        """Return log perm(exp X), exact or Bethe, with the marginals as its gradient.

        It is in float64: a common offset of the scores costs no digits.
        """
        if self.partition == "exact":
            return log_permanent_exact(self.logits.double(), self.lengths)
        return envelope(self.bethe, self.logits.double(), self.lengths)

    @property
    def bethe(self) -> Bethe:
        """The Bethe permanent in float64, its marginals and its residual, without gradient."""
        if self._bethe is None or not torch.equal(self._bethe[0], self.logits):
            with torch.inference_mode(False):  # what is kept may be differentiated around later
                X, lengths = self.logits.detach().clone(), self.lengths.clone()
                self._bethe = X, log_permanent_bethe(X.double(), lengths, TOLERANCE)
        return self._bethe[1]

    @property
    def marginals(self) -> Tensor:
        """`[*batch, n, n]`, how likely step t writes position i under the law that is scored."""
        if self.partition == "exact":
            return marginals_exact(self.logits, self.lengths)
        return self.bethe.marginals.to(self.logits.dtype)

    @property
    def mode(self) -> Tensor:
        """The most likely order, argmax_P <X, P>."""
        return assignment(self.logits, self.lengths)

    def entropy(self) -> Tensor:
        """Return log perm - <gamma, X>, the entropy of the law that is scored.

        Exact with `partition="exact"`, and differentiable. With `"bethe"` it is the Bethe entropy
        of the marginals gamma, which are held fixed: its gradient is zero.
        """
        if self.partition == "exact":
            X = centred(self.logits.double(), self.is_token.unsqueeze(-2))
            finite = torch.where(X.isfinite(), X, 0)  # what is forbidden has no weight
            mean = (marginals_exact(X, self.lengths) * finite).sum(dim=(-2, -1))
            return (log_permanent_exact(X, self.lengths) - mean).to(self.logits.dtype)
        finite = torch.where(self.logits.isfinite(), self.logits, 0)
        entropy = _bethe_entropy(self.bethe.marginals)
        return entropy.to(self.logits.dtype) + (0 * finite).sum(dim=(-2, -1))

    @torch.no_grad()
    def rough_entropy(self) -> Tensor:
        """Return the Bethe entropy to a hundredth or two, several times as fast for long rows."""
        marginals = log_permanent_bethe(self.logits.double(), self.lengths, *_ROUGH).marginals
        return _bethe_entropy(marginals).to(self.logits.dtype)

    def gumbel_entropy(self) -> Tensor:
        """Return the differentiable entropy term of the paper, log n! - KL.

        KL = sum_ij gumbel_divergence(X_ij, tau)                  (docs/math.md, "gumbel-entropy")
        is the divergence of (X + G) / tau from standard Gumbel noise; no divergence of the orders
        they are matched to can exceed it.
        """
        entries = gumbel_divergence(self.logits, self.tau)
        divergence = torch.where(block_mask(self.lengths, self.size), entries, 0).sum(dim=(-2, -1))
        return log_factorial(self.lengths, self.logits.dtype) - divergence

    def proposal(self) -> Spiked:
        """Return a law near this one whose samples and density agree.

        It is the matrix Plackett-Luce law of the same scores, and half of the time the mode: a
        choice row by row can miss what a matching of all rows finds. All scores must be finite: a
        row can come to be left with forbidden places alone.
        """
        if not self.logits.isfinite().all():
            raise ValueError("a proposal needs finite scores, got one that forbids a place")
        by_rows = MatrixPlackettLuce(self.logits, self.lengths, validate_args=self._validate_args)
        return Spiked(by_rows, self.mode)


def _bethe_entropy(marginals: Tensor) -> Tensor:
    """Return the Bethe entropy of gamma.

    It is log perm_B - <gamma, X> at a fixed point, and an entropy where gamma is not quite one too.
    """
    g = marginals.clamp(0, 1)
    return (torch.special.entr(g) - torch.special.entr(1 - g)).sum(dim=(-2, -1))


def _check_options(partition: str, sampler: str, tau: float, sinkhorn_iterations: int) -> None:
    if partition not in PARTITIONS:
        raise ValueError(f'partition must be "bethe" or "exact", got {partition!r}')
    if sampler not in SAMPLERS:
        raise ValueError(f'sampler must be "assignment" or "sinkhorn", got {sampler!r}')
    if not tau > 0:
        raise ValueError(f"tau must be positive, got {tau}")
    if sinkhorn_iterations < 1:
        raise ValueError(f"sinkhorn_iterations must be at least 1, got {sinkhorn_iterations}")
