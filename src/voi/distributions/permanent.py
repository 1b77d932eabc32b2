"""The logarithm of the permanent of exp(X): exactly for small n, and its Bethe approximation.

perm(exp X) = sum over orders of exp <X, P> normalises the Gibbs law over orders, and the gradient
of its logarithm is the matrix of marginals, E[P].                (docs/math.md, "permanent")
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from voi.distributions.law import block_mask, square_logits
from voi.distributions.matching import block_diagonal
from voi.distributions.subsets import subset_levels
from voi.permutation import token_mask

MAX_EXACT_SIZE = 16
TOLERANCE = 1e-5
CHECK_EVERY = 4  # iterations between two looks at the residual
MAX_SCALINGS, UNEVEN = 2000, 0.1  # before belief propagation; the largest |log sum| that is left


class Bethe(NamedTuple):
    """The Bethe approximation of a log permanent, and how far its iteration came."""

    value: Float[Tensor, "*batch"]  # log perm_B: once converged, at most (n / 2) log 2 below
    marginals: Float[Tensor, "*batch n n"]  # gamma, rows sum to one; the identity on the tail
    residual: Float[Tensor, "*batch"]  # largest entry of |V1 - V2|, zero at the fixed point


def log_permanent_exact(
    logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"] | None = None
) -> Float[Tensor, "*batch"]:
    """Return log perm(exp X) of each row's block of tokens, in n 2^(n-1) steps of float64.

    F[S] = logsumexp_{i in S} ( F[S - i] + X[|S| - 1, i] ),  log perm = F[{0, ..., n - 1}]
    where F[S] sums over the orders in which S can be written first. An entry of -inf forbids its
    place; -inf comes back where no order is left.

    >>> log_permanent_exact(torch.zeros(3, 3)).exp()              # 3! orders of weight one
    tensor(6.)
    """
    logits, lengths = square_logits(logits, lengths)
    block = _block(logits, lengths)
    if (block.isnan() | block.isposinf()).any():
        raise ValueError("logits must be numbers or -inf wherever step and position are tokens")
    n = int(lengths.max()) if lengths.numel() else 0
    if n > MAX_EXACT_SIZE:
        raise ValueError(
            f"the exact permanent is limited to n <= {MAX_EXACT_SIZE}, got n = {n}: "
            'use partition="bethe" (log_permanent_bethe)'
        )
    X = block[..., :n, :n].double()
    totals = X.new_zeros(*X.shape[:-2], 1)  # [*batch, subsets], F of one level
    prefixes = [totals[..., 0]]  # F of {0, ..., k - 1}, all a row of length k can use
    for t, level in enumerate(subset_levels(n, logits.device)[1:]):
        weights = X[..., t, :][..., level.column]  # [*batch, subsets, t + 1]
        totals = _logsumexp(totals[..., level.previous] + weights)
        prefixes.append(totals[..., 0])
    by_length = torch.stack(prefixes, dim=-1)  # [*batch, n + 1]
    return by_length.gather(-1, lengths.unsqueeze(-1)).squeeze(-1).to(logits.dtype)


def _logsumexp(x: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch"]:
    """Return log sum exp of the last dimension; where all is -inf, so is that, without gradient."""
    is_empty = x.isneginf().all(-1)
    return x.masked_fill(is_empty.unsqueeze(-1), 0).logsumexp(-1).masked_fill(is_empty, -torch.inf)


def marginals_exact(
    logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"] | None = None
) -> Float[Tensor, "*batch n n"]:
    """Return the probability of each entry under the Gibbs law, d log perm / dX.

    Differentiable where the logits are, so that an entropy built on it can be maximised.
    """
    logits, lengths = square_logits(logits, lengths)
    if not lengths.any():  # no token: nothing depends on the logits
        whole = torch.eye(logits.shape[-1], dtype=logits.dtype, device=logits.device)
        return whole.expand_as(logits)
    is_learned = logits.requires_grad and torch.is_grad_enabled()
    with torch.inference_mode(False), torch.enable_grad():
        X = logits if is_learned else logits.detach().clone().requires_grad_()
        total = log_permanent_exact(X, lengths.clone()).sum()  # clones are no inference tensors
        (marginals,) = torch.autograd.grad(total, X, create_graph=is_learned)
    tail = ~token_mask(lengths, logits.shape[-1])
    return marginals + torch.diag_embed(tail.to(logits.dtype))


def log_permanent_bethe(
    logits: Float[Tensor, "*batch n n"],
    lengths: Int[Tensor, "*batch"] | None = None,
    tolerance: float | None = None,
    max_iterations: int = 1000,
) -> Bethe:
    """Return the Bethe approximation of log perm(exp X), found by belief propagation.

    From V1 = 1/n and V2 = rowsoftmax(X), rows and columns of X scaled to sums of one, repeat
        V1 <- colnorm( V2 (1 - V1) / (1 - V2) ),   V2 <- rownorm( V1 (1 - V2) / (1 - V1) )
    until both agree to the tolerance, 1e-5 or, for float64, 1e-8; then gamma = V1 = V2.
                                                                  (docs/math.md, "bethe")

    V2 (1 - V1) stays exp(X) up to a factor per row and one per column, so these factors and
    1 - V are all the iteration keeps. The value is stationary in them: a residual r moves it by
    the order of r^2. Its gradient is gamma, which is held fixed. A row stops when it has
    converged, whatever its neighbours do.

    Where two tokens or more compete for the same steps with large scores it converges slowly: look
    at the residual.

    Relative to the paper: iterated to a tolerance, not a fixed number of times, and from scaled
    scores. Without the scaling the iteration can end away from the fixed point where rows tie.
    """
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, got {max_iterations}")
    logits, lengths = square_logits(logits, lengths)
    n = logits.shape[-1]
    if tolerance is None:
        tolerance = 1e-8 if logits.dtype == torch.float64 else TOLERANCE
    with torch.no_grad():
        X = block_diagonal(finite_block(logits, lengths), lengths)
        X = X.double().reshape(lengths.numel(), n, n)
        by_row, by_column = _potentials(X)
        fixed_point = _propagate(X - by_row - by_column, tolerance, max_iterations)
        factors = by_row.sum((-2, -1)) + by_column.sum((-2, -1))
    found = Bethe(
        value=(fixed_point.value + factors).to(logits.dtype).reshape(lengths.shape),
        marginals=fixed_point.marginals.to(logits.dtype).reshape(logits.shape),
        residual=fixed_point.residual.to(logits.dtype).reshape(lengths.shape),
    )
    return Bethe(envelope(found, logits, lengths), found.marginals, found.residual)


def finite_block(
    logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch n n"]:
    """Return the logits of the tokens, which must be finite, and zero on the padded tail."""
    block = _block(logits, lengths)
    if not block.isfinite().all():
        raise ValueError("logits must be finite wherever step and position are tokens")
    return block


def _block(
    logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch n n"]:
    """Return the logits of the tokens, and zero on the padded tail."""
    if ((lengths < 0) | (lengths > logits.shape[-1])).any():
        raise ValueError(f"lengths must lie between 0 and n = {logits.shape[-1]}")
    return torch.where(block_mask(lengths, logits.shape[-1]), logits, 0)


def envelope(
    bethe: Bethe, logits: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """Return the Bethe value as a function of the logits whose gradient is gamma, held fixed."""
    X = torch.where(block_mask(lengths, logits.shape[-1]), logits, 0)
    return bethe.value + (bethe.marginals * (X - X.detach())).sum(dim=(-2, -1))


def _potentials(
    X: Float[Tensor, "rows n n"],
) -> tuple[Float[Tensor, "rows n 1"], Float[Tensor, "rows 1 n"]]:
    """Return what to subtract from rows and columns, so that those of exp X sum to nearly one."""
    by_row = X.logsumexp(-1, keepdim=True)
    by_column = X.new_zeros(X.shape[0], 1, X.shape[-1])
    uneven = torch.arange(X.shape[0], device=X.device)
    for _ in range(MAX_SCALINGS if X.numel() else 0):
        excess = (X[uneven] - by_row[uneven] - by_column[uneven]).logsumexp(-2, keepdim=True)
        is_uneven = excess.abs().amax((-2, -1)) > UNEVEN
        uneven, excess = uneven[is_uneven], excess[is_uneven]
        if not len(uneven):
            break
        by_column[uneven] += excess
        by_row[uneven] = (X[uneven] - by_column[uneven]).logsumexp(-1, keepdim=True)
    return by_row, by_column


def _propagate(X: Float[Tensor, "rows n n"], tolerance: float, max_iterations: int) -> Bethe:
    """Run belief propagation on all rows, leaving each out once it has converged."""
    value, residual = X.new_zeros(X.shape[0]), X.new_zeros(X.shape[0])
    marginals = torch.zeros_like(X)
    if X.numel() == 0:
        return Bethe(value, marginals, residual)
    active = torch.arange(X.shape[0], device=X.device)
    row_total, row_rest = _log_normaliser(X, dim=-1)
    for iteration in range(1, max_iterations + 1):
        column_total, column_rest = _log_normaliser(X - row_rest - row_total, dim=-2)
        joint = X - column_rest - column_total  # [active, n, n], V2 before its rows are normalised
        row_total, row_rest = _log_normaliser(joint, dim=-1)
        if iteration % CHECK_EVERY and iteration < max_iterations:
            continue
        residual[active] = (row_rest.exp() - column_rest.exp()).abs().amax(dim=(-2, -1))
        marginals[active] = (joint - row_total).exp()
        value[active] = (row_total + column_total.mT + column_rest.sum(-1, True)).sum(dim=(-2, -1))
        keep = residual[active] > tolerance
        if not keep.any():
            break
        X, active, row_total, row_rest = X[keep], active[keep], row_total[keep], row_rest[keep]
    return Bethe(value, marginals, residual)


def _log_normaliser(
    scores: Float[Tensor, "rows n n"], dim: int
) -> tuple[Float[Tensor, "rows _ _"], Float[Tensor, "rows n n"]]:
    """Return log sum exp(scores) along a dimension and log(1 - V) of V = softmax(scores).

    1 - V of the largest entry is summed from the others, not subtracted from one, so it keeps its
    digits as V goes to one. Where nothing competes 1 - V would be zero in rows and columns alike,
    and the iteration would ask for 0 / 0: there log(1 - V) is reported as 0, the limit being one.
    """
    top, place = scores.max(dim=dim, keepdim=True)
    others = scores.scatter(dim, place, -torch.inf)
    scale = others.amax(dim=dim, keepdim=True)
    has_others = scale > -torch.inf
    scale = torch.where(has_others, scale, 0)
    weights = others.sub_(scale).exp_()  # zero at the largest entry, at most one elsewhere
    log_rest = weights.sum(dim=dim, keepdim=True).log_() + scale
    log_total = torch.logaddexp(top, log_rest)
    log_complement = weights.mul_(-(scale - log_total).exp_()).log1p_()
    largest = torch.where(has_others, log_rest - log_total, 0)
    return log_total, log_complement.scatter_(dim, place, largest)
