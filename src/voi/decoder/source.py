"""Source encoder: text, regions, or nothing -> states that decoder and generator attend to."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from voi.batch import Batch
from voi.layers import Block, sinusoids
from voi.linear import Linear


class SourceStates(NamedTuple):
    """An encoded source. Column 0 is a learned state for "nothing", so no row is empty."""

    states: Float[Tensor, "batch m d"]
    mask: Bool[Tensor, "batch m"]

    def select(self, rows: Tensor) -> "SourceStates":
        """Return the sources of some rows of the batch."""
        return SourceStates(self.states[rows], self.mask[rows])


class SourceEncoder(nn.Module):
    """A Transformer over source tokens (with sinusoids) or over regions (a vector and a box each).

    Relative to the paper's code: one linear map per projection, sinusoids instead of the relation
    left / itself / right between source tokens, and a learned state before the first token, which
    is all there is when a row has no source.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        heads: int,
        layers: int,
        dropout: float,
        region_size: int = 0,
    ):
        super().__init__()
        self.scale = width**0.5
        self.nothing = nn.Parameter(torch.randn(width) * 0.02)
        self.regions = Linear(region_size + 4, width) if region_size else None
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, hidden, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def inputs(self, batch: Batch, embedding: nn.Embedding) -> Float[Tensor, "batch m d"]:
        """Return one vector per source token or region, before the learned state is put first."""
        if batch.source is not None:
            steps = torch.arange(batch.source.shape[1], device=batch.source.device)
            vectors = embedding(batch.source) * self.scale
            return vectors + sinusoids(steps, embedding.embedding_dim, vectors.dtype)
        if batch.features is not None and batch.boxes is not None and self.regions is not None:
            return self.regions(torch.cat([batch.features, batch.boxes], dim=-1))
        return self.nothing.new_zeros(len(batch), 0, len(self.nothing))

    def forward(self, batch: Batch, embedding: nn.Embedding) -> SourceStates:
        first = self.nothing.expand(len(batch), 1, -1)
        x = self.dropout(torch.cat([first, self.inputs(batch, embedding)], dim=1))
        mask = nn.functional.pad(batch.source_mask, (1, 0), value=True)  # [batch, 1 + m]
        for block in self.blocks:
            x = block(x, mask.unsqueeze(1))
        return SourceStates(self.norm(x), mask)
