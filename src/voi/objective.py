"""ELBO, advantages and the losses that train the order generator."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from voi.config import ObjectiveConfig
from voi.decoder import StepLogProbs
from voi.distributions import GumbelMatching, OrderLaw, PlackettLuce

LARGEST_LOG_RATIO = 20.0  # far beyond any clip; exp stays finite, and so do gradients
Gather = Callable[[Tensor], Tensor]  # [own, batch] -> [K, batch]


def _same(values: Tensor) -> Tensor:
    return values


def centered(
    values: Float[Tensor, "own batch"], everyone: Float[Tensor, "K batch"], baseline: str
) -> Float[Tensor, "own batch"]:
    """Return values minus their baseline over all K samples.

    mean:          v_k - mean(v)                 shrinks the gradient by (K - 1) / K
    leave_one_out: v_k - mean of the others      unbiased             (docs/math.md, "baseline")

    `everyone` are the values of all K samples, of which other processes may have some.
    """
    num_samples = everyone.shape[0]
    difference = values - everyone.mean(0)
    return difference * (num_samples / (num_samples - 1)) if baseline != "mean" else difference


def advantages(
    log_joint: Float[Tensor, "own batch"],
    log_potential: Float[Tensor, "own batch"],
    entropy_weight: float,
    config: ObjectiveConfig,
    gather: Gather = _same,
) -> Float[Tensor, "own batch"]:
    """Return how much better each order is than its siblings, without gradient.

    The reward is log p(y, z | x), less beta log q(z) where the entropy is part of it. Terms that
    are the same for all K orders cancel, so log q is needed up to a constant only. The entropy is
    added after standardising, so that its weight keeps its meaning.
    """
    rewards = log_joint.detach()
    everyone = gather(rewards)
    if everyone.shape[0] < 2:
        raise ValueError(f"advantages need at least 2 orders per example, got {everyone.shape[0]}")
    gain = centered(rewards, everyone, config.baseline)
    if config.standardize:
        gain = gain / everyone.std(0).clamp(min=config.standardize_floor)
    if config.entropy == "score":
        potentials = log_potential.detach()
        gain = gain - entropy_weight * centered(potentials, gather(potentials), config.baseline)
    return gain


def order_loss(
    q: OrderLaw,
    orders: Int[Tensor, "K batch n"],
    log_joint: Float[Tensor, "K batch"],
    entropy_weight: float,
    config: ObjectiveConfig,
    gather: Gather = _same,
) -> Float[Tensor, ""]:
    """Return the REINFORCE surrogate, whose gradient estimates that of -(E_q[log p] + beta H(q)).

    loss = - 1/(K N) sum_k A_k log q(z_k)        (docs/math.md, "surrogate")

    As the advantages of an example sum to zero, log q without its normaliser has the same
    gradient: no permanent is computed. A law without parameters gives a constant.

    The estimate is unbiased for laws that are sampled as they are scored, with baseline
    leave_one_out, without standardising, and with the entropy in the score.
    """
    log_potential = q.log_potential(orders)
    gain = advantages(log_joint, log_potential, entropy_weight, config, gather)
    return -(gain * log_potential).mean() - _entropy_bonus(q, entropy_weight, config)


def ppo_loss(
    q: OrderLaw,
    orders: Int[Tensor, "K batch n"],
    gain: Float[Tensor, "K batch"],
    old_log_prob: Float[Tensor, "K batch"],
    entropy_weight: float,
    config: ObjectiveConfig,
) -> Float[Tensor, ""]:
    """Return the clipped surrogate of PPO for orders sampled before the inner steps.

    Ratios need the normalised log q. Under Gumbel-Matching this is the Gibbs law with a Bethe
    permanent, not the law that was sampled, so PPO is approximate there.
    """
    log_ratio = q.log_prob(orders) - old_log_prob
    ratio = torch.exp(log_ratio.clamp(max=LARGEST_LOG_RATIO))
    clipped = ratio.clamp(1 - config.ppo_clip, 1 + config.ppo_clip)
    surrogate = torch.minimum(ratio * gain, clipped * gain).mean()
    return -surrogate - _entropy_bonus(q, entropy_weight, config)


def _entropy_bonus(q: OrderLaw, weight: float, config: ObjectiveConfig) -> Tensor | float:
    if config.entropy != "gumbel":
        return 0.0
    assert isinstance(q, GumbelMatching | PlackettLuce), "an experiment allows no other law"
    return weight * q.gumbel_entropy().mean()


def decoder_loss(terms: StepLogProbs, smoothing: float) -> Float[Tensor, ""]:
    """Return -1/(N K) sum log p(y, z_k | x), the tokens' labels smoothed."""
    return -terms.smoothed(smoothing).mean()


@dataclass(frozen=True)
class Elbo:
    """Sums over examples, in nats; divided by `num_tokens` (END counted) they are per token."""

    tokens: float
    slots: float
    entropy: float
    num_tokens: int
    num_examples: int

    @property
    def total(self) -> float:
        return self.tokens + self.slots + self.entropy

    @property
    def per_token(self) -> dict[str, float]:
        parts = {"elbo": self.total, "tokens": self.tokens, "slots": self.slots}
        return {k: v / self.num_tokens for k, v in {**parts, "entropy": self.entropy}.items()}

    def __add__(self, other: "Elbo") -> "Elbo":
        return Elbo(
            self.tokens + other.tokens,
            self.slots + other.slots,
            self.entropy + other.entropy,
            self.num_tokens + other.num_tokens,
            self.num_examples + other.num_examples,
        )


@torch.no_grad()
def elbo(
    q: OrderLaw,
    orders: Int[Tensor, "K batch n"],
    terms: StepLogProbs,
    lengths: Int[Tensor, " batch"],
) -> Elbo:
    """Return E_q[log p(y, z | x)] + H(q), estimated from the samples, in its parts.

    The entropy is the law's own where it has one, else the mean of -log q. Under Gumbel-Matching
    it is the Bethe entropy of the Gibbs law, an approximation (docs/math.md, "elbo").
    """
    return Elbo(
        tokens=terms.tokens.sum(-1).mean(0).sum().item(),
        slots=terms.slots.sum(-1).mean(0).sum().item(),
        entropy=entropy(q, orders).sum().item(),
        num_tokens=int((lengths + 1).sum()),
        num_examples=len(lengths),
    )


@torch.no_grad()
def entropy(
    q: OrderLaw, orders: Int[Tensor, "K batch n"], *, is_rough: bool = False
) -> Float[Tensor, " batch"]:
    """Return the law's entropy, or its estimate from samples where there is no closed form."""
    try:
        return q.rough_entropy() if is_rough else q.entropy()
    except NotImplementedError:
        return -q.log_prob(orders).mean(0)
