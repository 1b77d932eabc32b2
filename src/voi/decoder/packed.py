"""Linear maps laid out for few rows at a time, as one step of a search has them.

A matrix product of few rows spends much of its time bringing the weights into the order in which
the processor reads them. Weights that do not change between steps are brought there once.
"""

import copy
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

_ROWS = 32  # the number of rows the layout is chosen for; it serves others nearly as well
_LEAST_ENTRIES = 2**18  # smaller weights gain less than the call costs

Stamp = tuple[int, int]  # where a weight lies and how often it was changed
_kept: WeakKeyDictionary[nn.Module, tuple[Stamp, Tensor]] = WeakKeyDictionary()
M = TypeVar("M", bound=nn.Module)


class PackedLinear(nn.Module):
    """A linear map without gradient; `owner` holds its weight and keeps the layout alive."""

    def __init__(self, owner: nn.Linear | nn.Embedding, bias: Tensor | None = None):
        super().__init__()
        self.weight, self.bias = owner.weight.detach(), bias
        self.layout = _layout(owner)

    def forward(self, x: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows out"]:
        return torch.ops.mkldnn._linear_pointwise(x, self.layout, self.bias, "none", [], "")


def _layout(owner: nn.Linear | nn.Embedding) -> Tensor:
    """Return the weight in its new layout, made again only where it changed since."""
    weight = owner.weight.detach()
    stamp = (weight.data_ptr(), owner.weight._version)
    kept = _kept.get(owner)
    if kept is None or kept[0] != stamp:
        layout = torch.ops.mkldnn._reorder_linear_weight(weight, _ROWS)
        kept = _kept[owner] = (stamp, layout)
    return kept[1]


def packed(module: M) -> M:
    """Return a twin for inference that shares all weights but those of large linear maps.

    Where the processor or the kind of numbers has no such layout, the maps are shared too.
    """
    if isinstance(module, nn.Linear):
        return PackedLinear(module, module.bias) if _gains(module.weight) else module  # type: ignore[return-value]
    twin = copy.copy(module)
    twin._modules = {n: child and packed(child) for n, child in module._modules.items()}
    return twin


def word_scores(embedding: nn.Embedding) -> nn.Module:
    """Return the map from states to one score per word, whose weight is the embedding's."""
    if _gains(embedding.weight):
        return PackedLinear(embedding)
    scores = nn.Linear(embedding.embedding_dim, embedding.num_embeddings, False, device="meta")
    scores.weight = embedding.weight
    return scores


def _gains(weight: Tensor) -> bool:
    is_plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    return is_plain and weight.numel() >= _LEAST_ENTRIES and torch.backends.mkldnn.is_available()
