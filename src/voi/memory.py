"""How much memory a training step needs, estimated from sizes alone."""

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
        decoder, order = experiment.decoder, experiment.order
        activations = _stack(rows, m, m, decoder, decoder.source_layers)
        activations += _stack(rows * phase.num_orders, n, m, decoder, decoder.layers)
        if order.is_learned:
            activations += _stack(rows, m, m, order, order.source_layers)
            activations += _stack(rows, n, m, order, order.layers)
        activations += min(rows * phase.num_orders * n * vocabulary, CHUNK)
        largest = max(largest, activations)
    return _FLOAT * (4 * parameters + largest)


def _stack(rows: int, n: int, m: int, config: DecoderConfig | OrderConfig, layers: int) -> int:
    """Return the floats that a stack of blocks keeps for its backward pass."""
    per_token = 14 * config.width + 2 * config.hidden
    attention = 3 * config.heads * n + 2 * config.heads * m
    return layers * rows * n * (per_token + attention)
