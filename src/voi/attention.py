"""Attention by the fastest way that torch has for its size.

torch takes the softmax of a row in steps of a whole vector of the processor; what is left of a row
it does number by number, so rows shorter than a vector cost more than long ones. Targets of a few
words have no other rows. Here their sums are products with ones (benchmarks/kernels.py).
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from voi.derivatives import is_plain, once_differentiable

_VECTOR = 16  # float32 numbers in a vector of AVX-512


def attend(
    queries: Float[Tensor, "b h n dh"],
    keys: Float[Tensor, "b h m dh"],
    values: Float[Tensor, "b h m dh"],
    visible: Bool[Tensor, "#b #h #n m"],
    bias: Float[Tensor, "b h n m"] | None = None,
) -> Float[Tensor, "b h n dh"]:
    """Return softmax(queries keys^T + bias) values over the visible keys; queries come scaled.

    A query that sees no key gets zeros; with a bias and many keys every query must see one. For
    fewer keys than a vector has numbers gradients are differentiated under torch.func only.
    """
    if _is_short(queries, keys):
        flat = [x.flatten(0, 1).contiguous() for x in (queries, keys, values)]
        of_rows = None if bias is None else bias.flatten(0, 1)
        shape = queries.shape[:2]
        hidden = _hidden(visible, queries)
        return _ShortRows.apply(*flat, hidden, of_rows, shape).unflatten(0, shape)
    if bias is None:
        return F.scaled_dot_product_attention(queries, keys, values, visible, scale=1.0)
    logits = (queries @ keys.transpose(-1, -2)).add_(bias)
    return logits.add_(_hidden(visible, queries)).softmax(-1) @ values


def _hidden(visible: Bool[Tensor, "*shape"], like: Tensor) -> Float[Tensor, "*shape"]:
    return like.new_zeros(visible.shape).masked_fill_(~visible, -math.inf)


def _is_short(queries: Tensor, keys: Tensor) -> bool:
    return 0 < keys.shape[2] < _VECTOR and is_plain(queries)


class _ShortRows(torch.autograd.Function):
    """Attention with few keys; a query that sees none of them gets zeros."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        hidden: Tensor,
        bias: Tensor | None,
        shape: torch.Size,
    ) -> Tensor:
        """Return what rows [b h] see; `shape` is (b, h), `hidden` what is added to their logits."""
        ones = k.new_ones(k.shape[1], k.shape[1])
        if bias is None:
            logits = torch.bmm(q, k.transpose(1, 2))
        else:
            logits = torch.baddbmm(bias, q, k.transpose(1, 2))
        logits.unflatten(0, shape).add_(hidden)
        largest = logits.amax(-1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
        weights = logits.sub_(largest).exp_()
        weights.div_((weights @ ones).clamp_(min=1.0))  # the largest weight is one, if there is any
        ctx.save_for_backward(q, k, v, bias, weights, ones)
        return torch.bmm(weights, v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, _, weights, ones = ctx.saved_tensors
        upstream = grad.contiguous()
        of_weights = torch.bmm(upstream, v.transpose(1, 2)).mul_(weights)
        of_logits = of_weights.sub_((of_weights @ ones).mul_(weights))
        found = (
            torch.bmm(of_logits, k),
            torch.bmm(of_logits.transpose(1, 2), q),
            torch.bmm(weights.transpose(1, 2), upstream),
            None,
            of_logits,
            None,
        )
        asked = zip(found, ctx.needs_input_grad, strict=True)
        return tuple(x if needed else None for x, needed in asked)
