"""Backward passes that are written by hand: where they serve, and that they are taken once."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

Gradients = tuple[Tensor | None, ...]


def is_transformed() -> bool:
    """Return whether torch.func transforms what is computed: it cannot use passes of our own."""
    return torch._C._are_functorch_transforms_active()


def is_plain(x: Tensor) -> bool:
    """Return whether a float32 tensor of the processor is computed with as it is, here and now."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not is_transformed()
    )


def once_differentiable(backward: Callable[..., Gradients]) -> Callable[..., Gradients]:
    """Return a backward pass whose gradients raise where they are differentiated again.

    All that they depend on must be among the inputs that the forward pass saves. torch's decorator
    of that name takes them for constants where the gradient that comes in is one, as of a sum.
    """

    @wraps(backward)
    def passed(ctx: Any, *grads: Tensor | None) -> Gradients:
        with torch.no_grad():
            found = backward(ctx, *grads)
        if not torch.is_grad_enabled():  # without create_graph
            return found
        behind = (*ctx.saved_tensors, *grads)
        return tuple(x if x is None else _Once.apply(x, *behind) for x in found)

    return passed


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *behind: Tensor | None) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        raise RuntimeError(
            "gradients of this model are differentiated under torch.func alone (as by "
            "jacrev of functional_call), not with create_graph=True"
        )
