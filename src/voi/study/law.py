"""The law q(z | x, y) of one target's order, seen in orders sampled from it."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from voi.data import Source
from voi.devices import seeded
from voi.model import Model
from voi.permutation import to_matrix
from voi.study.frozen import frozen_batch

NUM_SAMPLES = 200


@torch.no_grad()
def step_shares(
    model: Model,
    source: Source,
    tokens: Sequence[str],
    *,
    samples: int = NUM_SAMPLES,
    seed: int = 0,
) -> Float[np.ndarray, "n n"]:
    """Return the share of sampled orders whose step t writes final position i, at `[t, i]`.

    Every row and every column adds up to 1. Tokens stay as they are.
    """
    batch = frozen_batch(model.codec, source, tokens).to(model.device)
    q = model.networks.orders(batch, model.networks.decoder.encode(batch))
    with seeded(seed, model.device):
        orders = q.sample(torch.Size([samples]))[:, 0]  # [K, n]
    return to_matrix(orders).double().mean(0).cpu().numpy()
