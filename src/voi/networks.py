"""The two networks of an experiment, built from its configuration alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from voi.config import Experiment
from voi.decoder import InsertionDecoder
from voi.layers import Block
from voi.orders import OrderGenerator, make_orders
from voi.tokens import Codec

T = TypeVar("T")


def word_counts(codec: Codec) -> Int[Tensor, " v"]:
    """Return how often each word stands in the training targets; on the CPU in any context."""
    return torch.tensor(codec.vocabulary.counts, device="cpu")


@contextmanager
def undrawn() -> Iterator[None]:
    """Make networks inside whose weights are to be replaced: their matrices are not drawn.

    Random numbers go on outside as if nothing had been drawn. The device "meta" would do as well,
    but there torch loads its compiler to multiply two tensors: as much work as loading torch.
    """
    with torch.random.fork_rng(devices=[]), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Lets functions of torch.nn.init leave their tensors as they are."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if getattr(func, "__module__", "") == nn.init.__name__:
            return given["tensor"]
        return func(*args, **given)


class Networks(nn.Module):
    """The decoder p(y, z | x) and the orders q(z | x, y) it is trained on.

    `region_size` is the width of region features; 0 where sources are text or nothing.
    """

    def __init__(self, experiment: Experiment, counts: Int[Tensor, " v"], region_size: int = 0):
        super().__init__()
        self.region_size = region_size
        self.decoder = InsertionDecoder(experiment.decoder, len(counts), region_size)
        order = experiment.order
        self.orders = make_orders(order.kind, order, counts, self.decoder, region_size)
        for module in self.modules():
            if isinstance(module, Block):
                module.recompute = experiment.training.recompute

    @classmethod
    def of(cls, experiment: Experiment, codec: Codec, region_size: int = 0) -> "Networks":
        """Return networks for the words of a codec, with weights drawn from torch's generator."""
        return cls(experiment, word_counts(codec), region_size)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.decoder.embedding.weight.device

    def forward(self, compute: Callable[[], T]) -> T:
        """Return what a function computes with the networks.

        Where processes hold parts of the parameters, they are gathered around this call.
        """
        return compute()

    def weights(self) -> dict[str, Tensor]:
        """Return all weights by name; those that the generator shares stand under both names."""
        found = dict(self.state_dict())
        if isinstance(self.orders, OrderGenerator) and self.orders.is_sharing:
            for part in ("decoder.source.", "decoder.embedding."):
                shared = [name for name in found if name.startswith(part)]
                found |= {name.replace("decoder", "orders", 1): found[name] for name in shared}
        return found
