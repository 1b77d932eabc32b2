"""Linear maps by the faster of the two libraries that torch has for products on the processor.

Products of float32 matrices go to the BLAS torch was built with. oneDNN, which torch has as well,
takes half of the time on processors of AMD with AVX-512, a tenth less on those without, and as much
on those of Intel (benchmarks/kernels.py); torch itself asks it for other kinds of numbers only.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from voi.derivatives import is_plain, once_differentiable

_LEAST_PRODUCTS = 3 * 10**6  # of two numbers; with fewer the call costs more than it gains


class Linear(nn.Linear):
    """A linear map whose large products, with their gradients, are those of oneDNN."""

    def forward(self, x: Float[Tensor, "*rows in"]) -> Float[Tensor, "*rows out"]:
        return linear(x, self.weight, self.bias)


def linear(
    x: Float[Tensor, "*rows in"],
    weight: Float[Tensor, "out in"],
    bias: Float[Tensor, " out"] | None = None,
) -> Float[Tensor, "*rows out"]:
    """Return x @ weight.T + bias; gradients of it are differentiated under torch.func only."""
    learns = torch.is_grad_enabled()
    if not _gains(x, weight):
        return F.linear(x, weight, bias)
    return _Linear.apply(x, weight, bias) if learns else onednn_linear(x, weight, bias)


def _gains(x: Tensor, weight: Tensor) -> bool:
    is_large = x.numel() * weight.shape[0] >= _LEAST_PRODUCTS and x.ndim > 1
    return is_large and x.dtype == torch.float32 and has_onednn(weight)


def has_onednn(weight: Tensor) -> bool:
    """Return whether oneDNN can be asked for products with a weight, here and now."""
    return (
        is_plain(weight)
        and torch.backends.mkldnn.is_available()
        and bool(torch.backends.mkldnn.enabled)
    )


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x @ weight.T + bias without a gradient; the weight may lie in oneDNN's own layout."""
    product = torch.ops.mkldnn._linear_pointwise.default
    return product(x, weight, bias, "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return onednn_linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return gradients; that of the weight is left to BLAS, which is the faster one there."""
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        rows = grad.flatten(0, -2)
        return (
            onednn_linear(grad, weight.t()) if of_x else None,
            rows.t() @ x.flatten(0, -2) if of_weight else None,
            rows.sum(0) if of_bias else None,
        )
