"""Linear maps laid out for few rows at a time, as one step of a search has them.

A matrix product of few rows spends much of its time bringing the weights into the order in which
the processor reads them. Weights that do not change between steps are brought there once.
"""

import copy
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from voi.linear import has_onednn, onednn_linear

_ROWS = 32  # the number of rows the layout is chosen for; it serves others nearly as well
_LEAST_ENTRIES = 2**18  # with smaller weights the call costs more than it saves

Part = TypeVar("Part", bound=nn.Module)


class PackedLinear(nn.Module):
    """A linear map without gradient; it does not see later changes of the weight."""

    def __init__(self, weight: Float[Tensor, "out d"], bias: Float[Tensor, " out"] | None = None):
        super().__init__()
        self.weight, self.bias = weight.detach(), bias
        self.layout = torch.ops.mkldnn._reorder_linear_weight(self.weight, _ROWS)

    def forward(self, x: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows out"]:
        return onednn_linear(x, self.layout, self.bias)


def packed(module: Part) -> Part:
    """Return a twin for inference that shares everything but its large linear maps.

    Where the processor or the kind of numbers has no such layout, the maps are shared too.
    """
    if isinstance(module, nn.Linear):
        gains = _gains(module.weight)
        return PackedLinear(module.weight, module.bias) if gains else module  # type: ignore[return-value]
    twin = copy.copy(module)
    twin._modules = {name: part and packed(part) for name, part in module._modules.items()}
    return twin


def vocabulary_scores(embedding: nn.Embedding) -> nn.Module:
    """Return the map from states to one score per token, whose weight is the embedding's."""
    if _gains(embedding.weight):
        return PackedLinear(embedding.weight)
    scores = nn.Linear(embedding.embedding_dim, embedding.num_embeddings, False, device="meta")
    scores.weight = embedding.weight
    return scores


def _gains(weight: Tensor) -> bool:
    return weight.numel() >= _LEAST_ENTRIES and has_onednn(weight)
