"""One update of both networks: sample orders, score them, learn from the scores."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from voi.batch import Batch
from voi.config import Experiment, Phase
from voi.decoder import SourceStates, StepLogProbs
from voi.distributions import OrderLaw
from voi.networks import Networks
from voi.objective import advantages, decoder_loss, order_loss, ppo_loss
from voi.orders import OrderGenerator
from voi.training.optimiser import Optimiser
from voi.world import World


@dataclass(frozen=True)
class Scored:
    """A batch, the orders sampled for it, and what the decoder makes of them."""

    batch: Batch
    q: OrderLaw
    orders: Int[Tensor, "K batch n"]
    terms: StepLogProbs
    source: SourceStates  # without gradient


@dataclass(frozen=True)
class Updated:
    """What an update did; `scored` is its last batch."""

    scored: Scored
    loss: float  # nats per token, unsmoothed
    reward: float  # log p(y, z | x), nats per target
    num_tokens: int
    decoder_norm: float
    order_norm: float
    rows: tuple[int, ...]  # of the corpus, of all batches of this process


class Update:
    """Runs updates under one phase of an experiment."""

    def __init__(
        self,
        experiment: Experiment,
        phase: Phase,
        networks: Networks,
        orders: nn.Module,
        decoder_optimiser: Optimiser,
        order_optimiser: Optimiser,
        world: World = World(),
    ):
        self.experiment, self.phase, self.world = experiment, phase, world
        splits_orders = experiment.training.split == "orders"
        self.num_orders = phase.num_orders // (world.size if splits_orders else 1)
        self.networks, self.decoder = networks, networks.decoder
        self.orders = orders
        self.decoder_optimiser, self.order_optimiser = decoder_optimiser, order_optimiser
        has_parameters = any(p.requires_grad for p in orders.parameters())
        self.orders_learn = has_parameters and not phase.freeze_orders
        self.uses_ppo = experiment.objective.estimator == "ppo"

    def __call__(
        self,
        batches: Iterable[Batch],
        num_examples: int,
        step: int,
        factor: float,
        entropy_weight: float,
    ) -> Updated:
        """Return what one update at a step of the phase did, from one or more batches.

        `num_examples` are those of all its batches, other processes' as well: each counts the same.
        """
        decoder_learns, orders_learn = self._turns(step)
        self._set_training(decoder_learns, orders_learn and not self.uses_ppo)
        parts = [
            self._accumulate(
                batch, len(batch) / num_examples, decoder_learns, orders_learn, entropy_weight
            )
            for batch in batches
        ]
        norms = [0.0, 0.0]
        if orders_learn and self.uses_ppo:  # before the decoder moves: it may share its embedding
            with self.decoder_optimiser.aside():
                norms[1] = self._ppo(parts, num_examples, factor, entropy_weight)
        if decoder_learns:
            norms[0] = self.decoder_optimiser.step(self.phase.decoder_rate * factor)
        self.decoder_optimiser.clear()  # what a shared encoder got from the generator's turn
        if orders_learn and not self.uses_ppo:
            norms[1] = self.order_optimiser.step(self.phase.order_rate * factor)
        return self._summary(parts, norms)

    def _set_training(self, decoder: bool, orders: bool) -> None:
        """Switch between training and evaluation mode where it changes.

        PPO compares probabilities, so its generator runs without dropout.
        """
        if (self.decoder.training, self.orders.training) != (decoder, orders):
            self.decoder.train(decoder)
            self.orders.train(orders)  # a shared encoder is the decoder's

    def _turns(self, step: int) -> tuple[bool, bool]:
        """Return which networks learn at a step: both, or one after the other by turns."""
        decoder_steps, order_steps = self.phase.alternate
        if not self.orders_learn or not (decoder_steps or order_steps):
            return True, self.orders_learn
        is_decoders = step % (decoder_steps + order_steps) < decoder_steps
        return is_decoders, not is_decoders

    def _accumulate(
        self,
        batch: Batch,
        share: float,
        decoder_learns: bool,
        orders_learn: bool,
        entropy_weight: float,
    ) -> Scored:
        """Add the gradients of one batch, a share of the update, and return its scored orders."""
        loss, scored = self.networks(
            lambda: self._score(batch, decoder_learns, orders_learn, entropy_weight)
        )
        if loss.requires_grad:
            (loss * share).backward()
        return scored

    def _score(
        self, batch: Batch, decoder_learns: bool, orders_learn: bool, entropy_weight: float
    ) -> tuple[Float[Tensor, ""], Scored]:
        """Return the loss of a batch, without a gradient where nothing learns, and its orders."""
        config = self.experiment.objective
        with self._precision(batch):
            with torch.set_grad_enabled(decoder_learns):
                source = self.decoder.encode(batch)
            with torch.set_grad_enabled(orders_learn and not self.uses_ppo):
                q = self.orders(batch, source)
            orders = self._own(q.sample(torch.Size([self.phase.num_orders])))
            with torch.set_grad_enabled(decoder_learns):
                terms = self.decoder.step_log_probs(batch, orders, source)
            loss = torch.zeros((), device=orders.device)
            if decoder_learns:
                loss = loss + decoder_loss(terms, config.label_smoothing)
            if orders_learn and not self.uses_ppo:
                loss = loss + order_loss(q, orders, terms.joint, entropy_weight, config, self._all)
                loss = loss + self._alignment()
        kept = SourceStates(source.states.detach(), source.mask)
        return loss, Scored(batch, q, orders, terms, kept)

    def _own(self, orders: Int[Tensor, "K batch n"]) -> Int[Tensor, "own batch n"]:
        """Return the orders that this process scores; each process then has its own dropout."""
        if self.num_orders == self.phase.num_orders:
            return orders
        torch.manual_seed(torch.initial_seed() + 1 + self.world.rank)
        return orders[self.world.rank * self.num_orders :][: self.num_orders]

    def _all(self, values: Float[Tensor, "own batch"]) -> Float[Tensor, "K batch"]:
        """Return the values of all K orders, also of those that other processes have."""
        return self.world.gather(values) if self.num_orders < self.phase.num_orders else values

    def _alignment(self) -> Float[Tensor, ""] | float:
        """Return the weighted distance between the two token embeddings, if a phase asks for it.

        While there is one embedding there is nothing to align.
        """
        if not self.phase.align or not isinstance(self.orders, OrderGenerator):
            return 0.0
        if self.orders.is_sharing:
            return 0.0
        return self.phase.align * self.orders.alignment(self.decoder)

    def _ppo(
        self, parts: list[Scored], num_examples: int, factor: float, entropy_weight: float
    ) -> float:
        """Take the inner steps of PPO on orders that were scored before; return the last norm."""
        config, norm = self.experiment.objective, 0.0
        fixed = []
        for part in parts:
            old = part.q.log_prob(part.orders).detach()
            gain = advantages(part.terms.joint, old, entropy_weight, config, self._all)
            fixed.append((part, old, gain))
        for _ in range(config.ppo_steps):
            for part, old, gain in fixed:
                loss = self.networks(partial(self._ppo_loss, part, gain, old, entropy_weight))
                (loss * (len(part.batch) / num_examples)).backward()
            norm = self.order_optimiser.step(self.phase.order_rate * factor)
            self.decoder_optimiser.clear()
        return norm

    def _ppo_loss(
        self,
        part: Scored,
        gain: Float[Tensor, "K batch"],
        old: Float[Tensor, "K batch"],
        entropy_weight: float,
    ) -> Float[Tensor, ""]:
        config = self.experiment.objective
        with self._precision(part.batch):
            q = self.orders(part.batch, part.source)  # a shared encoder's, as scored
            loss = ppo_loss(q, part.orders, gain, old, entropy_weight, config)
            return loss + self._alignment()

    def _precision(self, batch: Batch) -> torch.autocast:
        """Return the kind of numbers to compute with.

        Weights are cast anew in every pass: what a search for orders casts without a gradient must
        not be taken for what learns.
        """
        is_low = self.experiment.training.precision == "bfloat16"
        kind = batch.target.device.type
        return torch.autocast(kind, torch.bfloat16, enabled=is_low, cache_enabled=False)

    def _summary(self, parts: list[Scored], norms: list[float]) -> Updated:
        """Return what all processes did together."""
        device = parts[-1].orders.device
        sums = [
            sum(part.terms.joint.detach().mean(0).sum().item() for part in parts),
            sum(int((part.batch.lengths + 1).sum()) for part in parts),
            sum(len(part.batch) for part in parts),
        ]
        total, num_tokens, num_examples = self.world.total(sums, device)
        copies = self.world.size if self.num_orders < self.phase.num_orders else 1
        rows = [part.batch.rows.tolist() for part in parts if part.batch.rows is not None]
        return Updated(
            scored=parts[-1],
            loss=-total / num_tokens,
            reward=total / num_examples,
            num_tokens=round(num_tokens / copies),
            decoder_norm=norms[0],
            order_norm=norms[1],
            rows=tuple(row for part in rows for row in part),
        )
