"""log p(y | x): the sum over all orders, exact for short targets, bounded from below for others."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from voi.batch import Batch
from voi.distributions import OrderLaw
from voi.networks import Networks
from voi.permutation import all_orders

EXACT_LENGTH = 6  # tokens; 720 orders


@dataclass(frozen=True, eq=False)
class Likelihood(float):
    """What is known of log p(y | x), in nats; as a number it is the best of it.

    >>> found = Likelihood(bound=-2.5, standard_error=0.1, elbo=-3.0, exact=None, num_samples=64)
    >>> found + 1, found < 0, f"{found:.2f}"
    (-1.5, True, '-2.50')
    """

    bound: float  # importance-weighted: its expectation is at most log p(y | x)
    standard_error: float  # of the bound
    elbo: float  # mean of log p(y, z | x) - log q(z), never above the bound
    exact: float | None  # where the target is short, or the decoder writes in one order
    num_samples: int

    def __new__(
        cls,
        bound: float,
        standard_error: float,
        elbo: float,
        exact: float | None,
        num_samples: int,
    ) -> "Likelihood":
        return super().__new__(cls, bound if exact is None else exact)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))


@torch.no_grad()
def likelihoods(
    networks: Networks, batch: Batch, num_samples: int = 64, chunk: int = 16
) -> list[Likelihood]:
    """Return the likelihoods of a batch of targets, from `num_samples` orders of each.

    log p(y | x) >= E[ log 1/K sum_k p(y, z_k | x) / q(z_k) ],  z_k ~ q   (docs/math.md, "bound")

    The orders are drawn from a law whose density is known. For Gumbel-Matching that is the matrix
    Plackett-Luce law of the same scores and, half of the time, the mode.
    """
    if num_samples < 1:
        raise ValueError(f"num_samples must be at least 1, got {num_samples}")
    decoder = networks.decoder
    source = decoder.encode(batch)
    law: OrderLaw = networks.orders(batch, source)
    proposal = law.proposal()
    orders = proposal.sample(torch.Size([num_samples]))
    joint = [decoder.step_log_probs(batch, part, source).joint for part in orders.split(chunk)]
    log_weights = torch.cat(joint).double() - proposal.log_prob(orders).double()  # [K, batch]
    found = [_likelihood(weights) for weights in log_weights.unbind(1)]
    if decoder.slots is None:  # it writes in reading order alone: every order drawn is that one
        return [replace(one, exact=one.bound) for one in found]
    exact = _exact(networks, batch)
    return [replace(one, exact=value) for one, value in zip(found, exact, strict=True)]


def _likelihood(log_weights: Float[Tensor, " K"]) -> Likelihood:
    num_samples = len(log_weights)
    bound = log_weights.logsumexp(0) - math.log(num_samples)
    relative = torch.exp(log_weights - bound)  # weights over their mean
    error = relative.std() / math.sqrt(num_samples) if num_samples > 1 else torch.tensor(math.nan)
    return Likelihood(bound.item(), error.item(), log_weights.mean().item(), None, num_samples)


def _exact(networks: Networks, batch: Batch) -> list[float | None]:
    """Return the enumerated log p(y | x) of each target that is short enough."""
    values: list[float | None] = [None] * len(batch)
    for i, n in enumerate(batch.lengths.tolist()):
        if n <= EXACT_LENGTH:
            row = batch.select(torch.tensor([i])).trimmed()
            orders = all_orders(n).to(row.target.device)
            values[i] = _log_marginal(networks, row, orders.unsqueeze(1))
    return values


def _log_marginal(networks: Networks, row: Batch, orders: Int[Tensor, "K 1 n"]) -> float:
    source = networks.decoder.encode(row)
    parts = [networks.decoder.step_log_probs(row, o, source).joint for o in orders.split(120)]
    return torch.cat(parts).double().logsumexp(0).item()
