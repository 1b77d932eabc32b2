"""Parts of a Transformer: attention with a bias by position, feed-forward layers, blocks."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from voi.attention import attend
from voi.linear import Linear


class Memory(NamedTuple):
    """Keys and values that many queries attend to."""

    keys: Float[Tensor, "batch h m dh"]
    values: Float[Tensor, "batch h m dh"]


def sinusoids(
    positions: Float[Tensor, "*shape"] | Int[Tensor, "*shape"],
    width: int,
    kind: torch.dtype = torch.float32,
) -> Float[Tensor, "*shape {width}"]:
    """Return sines, then cosines, of the positions at wavelengths from 2 pi to 20000 pi."""
    half = torch.arange(width // 2, device=positions.device, dtype=torch.float32)
    frequencies = torch.exp(half * (-math.log(1e4) / max(width // 2 - 1, 1)))
    angles = positions.unsqueeze(-1) * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(kind)


def precise(x: Tensor) -> Tensor:
    """Return x in float32 or finer: sums of many probabilities need more than bfloat16."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def split_heads(x: Float[Tensor, "b n d"], heads: int) -> Float[Tensor, "b {heads} n d//{heads}"]:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Float[Tensor, "b h n dh"]) -> Float[Tensor, "b n h*dh"]:
    return x.transpose(1, 2).flatten(-2)


class InsertionBias(nn.Module):
    """Bias by the ternary relation of two written tokens: left of, itself, right of.

    bias[i, j] = q_i . E[R_ij] / sqrt(d_head), R_ij in {-1, 0, +1}      (docs/math.md, "relation")

    The mean of the left and the right vector is the same for all keys but i itself and cancels in
    the softmax, so two vectors are learned: one multiplied by the sign, one for the token itself.
    """

    def __init__(self, heads: int, head_width: int):
        super().__init__()
        self.vectors = nn.Parameter(torch.randn(heads, head_width, 2) * head_width**-0.5)

    def terms(self, queries: Float[Tensor, "b h n dh"]) -> Float[Tensor, "b h n 2"]:
        """Return what a query adds for a key to its right (minus it: left), and for itself."""
        return torch.einsum("bhnd,hdt->bhnt", queries, self.vectors)

    def forward(
        self,
        queries: Float[Tensor, "b h n dh"],
        keys: Float[Tensor, "b h n dh"],
        relation: Float[Tensor, "b n n"],
    ) -> Float[Tensor, "b h n n"]:
        sign, itself = self.terms(queries).unbind(-1)
        diagonal = torch.diag_embed(itself)
        return torch.addcmul(diagonal, sign.unsqueeze(-1), relation.unsqueeze(1))


class RelativeBias(nn.Module):
    """Bias by clipped distance (Shaw et al. 2018): q_i . E[clip(j - i)] / sqrt(d_head)."""

    def __init__(self, heads: int, head_width: int, limit: int = 10):
        super().__init__()
        self.limit = limit
        vectors = torch.randn(heads, head_width, 2 * limit + 1) * head_width**-0.5
        self.vectors = nn.Parameter(vectors)

    def forward(
        self, queries: Float[Tensor, "b h n dh"], keys: Float[Tensor, "b h n dh"], relation: None
    ) -> Float[Tensor, "b h n n"]:
        steps = torch.arange(queries.shape[2], device=queries.device)
        index = (steps - steps.unsqueeze(1)).clamp(-self.limit, self.limit) + self.limit
        by_distance = queries @ self.vectors  # [b, h, n, 2 limit + 1]
        return by_distance.gather(-1, index.expand(*queries.shape[:2], -1, -1))


class XLBias(nn.Module):
    """Bias by content and distance as in Transformer-XL (Dai et al. 2019).

    bias[i, j] = ( u . k_j + (q_i + v) . W sinusoid(j - i) ) / sqrt(d_head)

    The 2n - 1 distances are projected once and picked per pair, so nothing of shape [n, n, d] is
    built. The queries come scaled by 1 / sqrt(d_head); u and v are scaled here.
    """

    def __init__(self, heads: int, head_width: int):
        super().__init__()
        self.heads, self.scale = heads, head_width**-0.5
        width = heads * head_width
        self.distance = Linear(width, width, bias=False)
        self.content = nn.Parameter(torch.zeros(heads, 1, head_width))
        self.position = nn.Parameter(torch.zeros(heads, 1, head_width))

    def forward(
        self, queries: Float[Tensor, "b h n dh"], keys: Float[Tensor, "b h n dh"], relation: None
    ) -> Float[Tensor, "b h n n"]:
        n, device = queries.shape[2], queries.device
        steps = torch.arange(n, device=device)
        distances = torch.arange(min(1 - n, n), n, device=device)  # none for no tokens
        waves = sinusoids(distances, self.distance.in_features, self.distance.weight.dtype)
        projected = self.distance(waves).unflatten(-1, (self.heads, -1))  # [2n - 1, h, dh]
        table = projected.permute(1, 2, 0)
        by_distance = (queries + self.position * self.scale) @ table
        index = (steps - steps.unsqueeze(1) + n - 1).expand(*queries.shape[:2], -1, -1)
        by_content = (self.content * self.scale) @ keys.transpose(-1, -2)  # [b, h, 1, n]
        return by_distance.gather(-1, index) + by_content


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself, with an optional bias by position."""

    def __init__(self, width: int, heads: int, bias: nn.Module | None = None):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.project = Linear(width, 3 * width)
        self.output = Linear(width, width)
        self.bias = bias

    def queries_keys_values(self, x: Float[Tensor, "b n d"]) -> tuple[Tensor, Tensor, Tensor]:
        """Return q (scaled by 1 / sqrt(d_head)), k and v, each [b, h, n, d_head]."""
        q, k, v = (split_heads(part, self.heads) for part in self.project(x).chunk(3, dim=-1))
        return q * self.scale, k, v

    def forward(
        self,
        x: Float[Tensor, "b n d"],
        visible: Bool[Tensor, "#b #n n"],
        relation: Float[Tensor, "b n n"] | None = None,
    ) -> Float[Tensor, "b n d"]:
        q, k, v = self.queries_keys_values(x)
        bias = None if self.bias is None else self.bias(q, k, relation)
        return self.output(merge_heads(attend(q, k, v, visible.unsqueeze(1), bias)))


class PositionalAttention(nn.Module):
    """Attention whose weights depend on positions alone (Gu et al. 2018)."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.positions = Linear(width, 2 * width)
        self.values = Linear(width, width)
        self.output = Linear(width, width)

    def forward(
        self, x: Float[Tensor, "b n d"], visible: Bool[Tensor, "#b #n n"]
    ) -> Float[Tensor, "b n d"]:
        steps = torch.arange(x.shape[1], device=x.device)
        waves = sinusoids(steps, x.shape[-1], self.positions.weight.dtype).unsqueeze(0)
        q, k = (split_heads(part, self.heads) for part in self.positions(waves).chunk(2, dim=-1))
        v = split_heads(self.values(x), self.heads)
        logits = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5  # [1, h, n, n]
        weights = logits.masked_fill(~visible.unsqueeze(1), -math.inf).softmax(-1)
        return self.output(merge_heads(weights @ v))


class CrossAttention(nn.Module):
    """Multi-head attention to a source; several rows of queries may share one source."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.query = Linear(width, width)
        self.key_value = Linear(width, 2 * width)
        self.output = Linear(width, width)

    def memory(self, source: Float[Tensor, "batch m d"]) -> Memory:
        """Return the source's keys and values; they serve every step and every order."""
        keys, values = (split_heads(x, self.heads) for x in self.key_value(source).chunk(2, dim=-1))
        return Memory(keys, values)

    def queries(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b h n dh"]:
        """Return queries, scaled by 1 / sqrt(d_head)."""
        return split_heads(self.query(x), self.heads) * self.scale

    def forward(
        self, x: Float[Tensor, "rows n d"], memory: Memory, mask: Bool[Tensor, "batch m"]
    ) -> Float[Tensor, "rows n d"]:
        folded = x.reshape(mask.shape[0], -1, x.shape[-1])  # rows of one source side by side
        visible = mask[:, None, None, :]
        mixed = attend(self.queries(folded), *memory, visible)
        return self.output(merge_heads(mixed)).view_as(x)


class FeedForward(nn.Sequential):
    """Two linear maps with a ReLU between them."""

    def __init__(self, width: int, hidden: int, dropout: float):
        super().__init__(
            Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout), Linear(hidden, width)
        )


class Block(nn.Module):
    """A pre-norm Transformer block; sub-layers that are not asked for are left out."""

    def __init__(
        self,
        width: int,
        hidden: int,
        heads: int,
        dropout: float,
        *,
        bias: nn.Module | None = None,
        positional: bool = False,
        cross: bool = False,
    ):
        super().__init__()
        self.norms = nn.ModuleDict()
        self.attention = SelfAttention(width, heads, bias)
        self.positional = PositionalAttention(width, heads) if positional else None
        self.cross = CrossAttention(width, heads) if cross else None
        self.feed_forward = FeedForward(width, hidden, dropout)
        for name in ("attention", "positional", "cross", "feed_forward"):
            if getattr(self, name) is not None:
                self.norms[name] = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.recompute = False  # keep no inner states for the backward pass

    def forward(
        self,
        x: Float[Tensor, "rows n d"],
        visible: Bool[Tensor, "#rows #n n"],
        relation: Float[Tensor, "rows n n"] | None = None,
        memory: Memory | None = None,
        source_mask: Bool[Tensor, "batch m"] | None = None,
    ) -> Float[Tensor, "rows n d"]:
        inputs = (x, visible, relation, memory, source_mask)
        if self.recompute and torch.is_grad_enabled():
            return checkpoint(self._output, *inputs, use_reentrant=False)
        return self._output(*inputs)

    def _output(
        self,
        x: Float[Tensor, "rows n d"],
        visible: Bool[Tensor, "#rows #n n"],
        relation: Float[Tensor, "rows n n"] | None,
        memory: Memory | None,
        source_mask: Bool[Tensor, "batch m"] | None,
    ) -> Float[Tensor, "rows n d"]:
        x = x + self.dropout(self.attention(self.norms["attention"](x), visible, relation))
        if self.positional is not None:
            x = x + self.dropout(self.positional(self.norms["positional"](x), visible))
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norms["cross"](x), memory, source_mask))
        return x + self.dropout(self.feed_forward(self.norms["feed_forward"](x)))
