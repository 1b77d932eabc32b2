"""Where the decoder looks while it writes: the weights of its last cross-attention layer."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from voi.analysis import Trace
from voi.batch import Batch
from voi.data import Source
from voi.decoder import InsertionDecoder
from voi.layers import CrossAttention
from voi.model import Model
from voi.study.frozen import frozen_batch


@torch.no_grad()
def cross_attention(
    decoder: InsertionDecoder, batch: Batch, orders: Int[Tensor, "batch n"]
) -> Float[Tensor, "batch n m"]:
    """Return how much each step attends to each source token or region, 0 on padding.

    The weights are those of the last block, averaged over its heads. Row t is the state from which
    step t is taken. The decoder may also look at its learned state for "nothing", which is left
    out, so a row adds up to at most 1.
    """
    source = decoder.encode(batch)
    cross = decoder.blocks[-1].cross
    assert isinstance(cross, CrossAttention)
    inputs: list[Float[Tensor, "batch steps d"]] = []
    hook = cross.register_forward_pre_hook(lambda module, given: inputs.append(given[0]))
    try:
        decoder.states(batch.target.gather(1, orders), orders, source)
    finally:
        hook.remove()
    keys = cross.memory(source.states).keys  # [batch, h, 1 + m, dh]
    logits = cross.queries(inputs[0]) @ keys.transpose(-1, -2)  # [batch, h, n + 1, 1 + m]
    logits = logits.masked_fill(~source.mask[:, None, None], -math.inf)
    weights = logits.softmax(-1).mean(dim=1)[:, :-1, 1:]  # END's step and "nothing" left out
    return weights * batch.target_mask.unsqueeze(-1)


def attention_of(model: Model, source: Source, trace: Trace) -> Float[np.ndarray, "n m"]:
    """Return the weights with which a model writes a trace's tokens in the trace's order."""
    batch = frozen_batch(model.codec, source, trace.tokens).to(model.device)
    order = torch.tensor([trace.order], device=model.device)
    return cross_attention(model.networks.decoder, batch, order)[0].double().cpu().numpy()


def opacities(weights: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    """Return weights as opacities of boxes: at each step the heaviest is fully opaque.

    >>> opacities(np.array([[0.1, 0.2], [0.0, 0.0]]))
    array([[0.5, 1. ],
           [0. , 0. ]])
    """
    heaviest = weights.max(axis=1, keepdims=True, initial=0.0)
    return weights / np.where(heaviest > 0, heaviest, 1.0)
