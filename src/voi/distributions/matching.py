"""Maximum-weight matchings of perturbed scores: Gumbel noise, assignment, Sinkhorn scaling."""

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from voi.distributions.law import block_mask

# The solver works without the interpreter lock: two threads solve 128 matrices of n = 64 in 9 ms
# where one takes 16, but at n = 32 handing out the work costs what it saves.
THREADED_SIZE = 48

# Beyond this exponent the Gumbel divergence goes on as a straight line: its gradient stays finite.
LARGEST_EXPONENT = 10.0


def gumbel_noise(like: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return standard Gumbel noise -log(-log U), U uniform, of the shape of `like`, in float64.

    With the bits of U in float32 no noise is larger than 16.6: what has a probability of 1e-7
    would come up too rarely, what has less never.
    """
    uniform = torch.rand(like.shape, dtype=torch.float64, device=like.device)
    return uniform.clamp_min_(torch.finfo(torch.float64).tiny).log_().neg_().log_().neg_()


def centred(scores: Tensor, is_token: Tensor) -> Tensor:
    """Return scores [..., n] less the largest one of a row's tokens, which is held fixed.

    What a row has in common changes no choice, and would cost its scores digits.
    """
    if not scores.shape[-1]:
        return scores
    top = scores.detach().masked_fill(~is_token, -torch.inf).amax(dim=-1, keepdim=True)
    return scores - torch.where(top.isfinite(), top, 0)


def gumbel_divergence(scores: Float[Tensor, "*shape"], tau: float = 1.0) -> Float[Tensor, "*shape"]:
    """Return the divergence of (score + G) / tau from G, both noisy with standard Gumbel G.

    log tau - 1 + euler (1 / tau - 1) + s / tau + Gamma(1 + 1 / tau) exp(-s / tau)
                                                              (docs/math.md, "gumbel-entropy")
    At tau = 1 that is s + exp(-s) - 1. Beyond an exponent of 10 the exponential is replaced by its
    tangent, so that the gradient at very low scores stays finite.
    """
    rate = 1 / tau
    constant = np.log(tau) - 1 + np.euler_gamma * (rate - 1)
    exponent = math.lgamma(1 + rate) - rate * scores
    capped = exponent.clamp(max=LARGEST_EXPONENT)
    return constant + rate * scores + capped.exp() * (1 + (exponent - capped))


def assignment(
    scores: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"]
) -> Int[Tensor, "*batch n"]:
    """Return the order with the largest total score, argmax_P <scores, P>, without gradient.

    Only the block of each row's tokens is solved; the tail is the identity.

    >>> assignment(torch.tensor([[0.0, 3.0], [1.0, 3.5]]), torch.tensor(2))
    tensor([1, 0])
    """
    n = scores.shape[-1]
    costs = -scores.detach().double().reshape(lengths.numel(), n, n).cpu().numpy()
    sizes = lengths.reshape(-1).tolist()
    orders = np.tile(np.arange(n), (len(sizes), 1))

    def solve(rows: Iterable[int]) -> None:
        for row in rows:
            size = sizes[row]
            if size > 1:
                try:
                    orders[row, :size] = linear_sum_assignment(costs[row, :size, :size])[1]
                except ValueError as error:
                    raise FloatingPointError("scores of orders are not finite") from error

    threads = min(torch.get_num_threads(), len(sizes)) if n >= THREADED_SIZE else 1
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, (range(first, len(sizes), threads) for first in range(threads))))
    else:
        solve(range(len(sizes)))
    return torch.from_numpy(orders).to(scores.device).reshape(scores.shape[:-1])


def log_sinkhorn(
    scores: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"], iterations: int
) -> Float[Tensor, "*batch n n"]:
    """Return log S, where exp(scores) is scaled towards a doubly stochastic S, block by block.

    Each iteration normalises the columns, then the rows.     (docs/math.md, "sinkhorn")
    """
    log_matrix = block_diagonal(scores, lengths)
    for _ in range(iterations):
        log_matrix = log_matrix.log_softmax(dim=-2).log_softmax(dim=-1)
    return log_matrix


def block_diagonal(
    scores: Float[Tensor, "*batch n n"], lengths: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch n n"]:
    """Return the scores with the tail tied to the identity: 0 on its diagonal, -inf beside it.

    Permanent, Sinkhorn matrix and matchings of the whole are then those of the block of tokens.
    """
    n = scores.shape[-1]
    tail = scores.new_full((n, n), -torch.inf).fill_diagonal_(0)
    return torch.where(block_mask(lengths, n), scores, tail)
