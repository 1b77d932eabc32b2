"""Orders that are not learned: each answers a batch with a point mass or the uniform law."""

import math
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from voi.analysis import tree_order
from voi.batch import Batch
from voi.decoder import SourceStates
from voi.distributions import Delta, OrderLaw, Uniform
from voi.errors import ConfigError
from voi.extras import failed, load_callable
from voi.permutation import is_permutation
from voi.tokens.vocabulary import UNK


class RandomOrder(nn.Module):
    """A fresh uniform order for every example and sample."""

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        return Uniform(batch.lengths, batch.target.shape[1])


class SortedOrder(nn.Module):
    """Tokens in ascending order of a key; equal keys from left to right."""

    def keys(self, batch: Batch) -> Float[Tensor, "batch n"]:
        raise NotImplementedError

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        keys = self.keys(batch).masked_fill(~batch.target_mask, math.inf)  # padding stays the tail
        order = keys.argsort(dim=-1, stable=True)
        return Delta(order, batch.lengths, validate_args=False)


class LeftToRight(SortedOrder):
    """Reading order."""

    def keys(self, batch: Batch) -> Float[Tensor, "batch n"]:
        places = torch.arange(batch.target.shape[1], device=batch.target.device)
        return places.float().expand_as(batch.target)


class RightToLeft(LeftToRight):
    """Reading order, reversed."""

    def keys(self, batch: Batch) -> Float[Tensor, "batch n"]:
        return -super().keys(batch)


class ByFrequency(SortedOrder):
    """Common words first or rare words first, by their counts in the training targets.

    Unknown words, copied or not, count as never seen.
    """

    counts: Tensor

    def __init__(self, counts: Int[Tensor, " v"], *, common_first: bool):
        super().__init__()
        self.common_first = common_first
        counts = counts.clone()
        counts[UNK] = 0
        self.register_buffer("counts", counts)

    def keys(self, batch: Batch) -> Float[Tensor, "batch n"]:
        counts = self.counts[batch.target].double()
        return -counts if self.common_first else counts


class BalancedTree(nn.Module):
    """The middle first, then the middles of both halves, level by level, left before right."""

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        size = batch.target.shape[1]
        orders = [[*_tree(n), *range(n, size)] for n in batch.lengths.tolist()]
        order = torch.tensor(orders, dtype=torch.long, device=batch.target.device)
        return Delta(order.view_as(batch.target), batch.lengths, validate_args=False)


@cache
def _tree(n: int) -> tuple[int, ...]:
    return tuple(tree_order(range(n)))


_TAKEN = "(batch), a voi.batch.Batch"
_RETURNED = "orders [batch, n] of a voi.batch.Batch (docs/extending.md)"


class UserOrder(nn.Module):
    """Orders from a user's function, named module:function, that maps a Batch to [batch, n]."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name
        self.function = load_callable(name, "order", f"{_TAKEN}, and return {_RETURNED}", "batch")

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        try:
            orders = self.function(batch)
        except Exception as error:
            raise failed(self.name, error, _RETURNED) from error
        expected = tuple(batch.target.shape)
        if not isinstance(orders, Tensor) or tuple(orders.shape) != expected:
            found = tuple(orders.shape) if isinstance(orders, Tensor) else type(orders).__name__
            raise ConfigError(f"{self.name} must return orders of shape {expected}, got {found}")
        if orders.is_floating_point():
            raise ConfigError(f"{self.name} must return integers, got {orders.dtype}")
        if not bool(is_permutation(orders, batch.lengths).all()):
            raise ConfigError(
                f"{self.name} must return a permutation of each target's positions, padding in "
                f"place at the tail (order[t] = t for t >= length)"
            )
        return Delta(orders.long(), batch.lengths)
