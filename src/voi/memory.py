"""How much memory a training step needs, estimated from sizes alone."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from voi.config import DecoderConfig, Experiment, OrderConfig
from voi.decoder.heads import CHUNK
from voi.networks import Networks

_FLOAT = 4  # bytes


def training_memory(
    experiment: Experiment,
    networks: Networks,
    target_lengths: Int[np.ndarray, " rows"],
    source_lengths: Int[np.ndarray, " rows"],
) -> int:
    """Return an estimate in bytes for the largest batch: weights, Adam's state, activations."""
    parameters = sum(p.numel() for p in networks.parameters())
    n = int(target_lengths.max()) + 1
    m = int(source_lengths.max(initial=0)) + 1
    vocabulary = networks.decoder.embedding.num_embeddings
    largest = 0
    for phase in experiment.training.phases:
        rows = phase.batch_size
        if phase.max_tokens:
            rows = max(1, min(rows, phase.max_tokens // n))
        kept = _kept(_stacks(experiment, rows, phase.num_orders, n, m), experiment)
        kept += min(rows * phase.num_orders * n * vocabulary, CHUNK)
        largest = max(largest, kept)
    return _FLOAT * (4 * parameters + largest)


@dataclass(frozen=True)
class _Stack:
    """Blocks of equal layers over rows of n tokens; some of the rows may share one source."""

    config: DecoderConfig | OrderConfig
    layers: int
    rows: int
    n: int
    m: int  # source tokens
    sources: int = 0  # whose keys and values every layer keeps; 0: no cross-attention

    @property
    def layer(self) -> int:
        """Floats that a layer keeps for its backward pass."""
        per_token = 14 * self.config.width + 2 * self.config.hidden
        attention = 3 * self.config.heads * self.n + 2 * self.config.heads * self.m
        return self.rows * self.n * (per_token + attention)

    @property
    def recomputed_layer(self) -> int:
        """Floats that are left of it where states are computed again: its inputs."""
        return self.config.width * (self.rows * self.n + 2 * self.sources * self.m)


def _stacks(experiment: Experiment, rows: int, num_orders: int, n: int, m: int) -> list[_Stack]:
    decoder, order = experiment.decoder, experiment.order
    stacks = [
        _Stack(decoder, decoder.source_layers, rows, m, m),
        _Stack(decoder, decoder.layers, rows * num_orders, n, m, sources=rows),
    ]
    if order.is_learned:
        stacks.append(_Stack(order, order.source_layers, rows, m, m))
        stacks.append(_Stack(order, order.layers, rows, n, m, sources=rows))
    return stacks


def _kept(stacks: list[_Stack], experiment: Experiment) -> int:
    """Return the floats kept by all stacks; computed again, one layer at a time is there whole."""
    if not experiment.training.recompute:
        return sum(stack.layers * stack.layer for stack in stacks)
    inputs = sum(stack.layers * stack.recomputed_layer for stack in stacks)
    return inputs + max(stack.layer for stack in stacks if stack.layers)
