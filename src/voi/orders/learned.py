"""The order generator q(z | x, y): a Transformer over the whole target that proposes orders."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from voi.batch import Batch
from voi.config import OrderConfig, check_sharing
from voi.decoder import InsertionDecoder, SourceEncoder, SourceStates
from voi.distributions import (
    EarlyLate,
    GumbelMatching,
    MatrixPlackettLuce,
    OrderLaw,
    PlackettLuce,
)
from voi.layers import Block, RelativeBias, XLBias, precise, sinusoids
from voi.linear import Linear
from voi.orders.user_law import load_law
from voi.pos import UNIVERSAL

LAWS: Mapping[str, Callable[..., OrderLaw]] = {
    "gumbel-matching": GumbelMatching,
    "plackett-luce": PlackettLuce,
    "matrix-plackett-luce": MatrixPlackettLuce,
    "early-late": EarlyLate,
}
_SAMPLING = ("sampler", "tau", "sinkhorn_iterations")  # settings of Gumbel-Matching


class OrderGenerator(nn.Module):
    """Answers a batch with a law over orders of each target, in one parallel pass.

    The law's parameters are a matrix, row = step, column = final position, or one score per
    position, as each law asks for. While `share` holds, source states and token embedding are the
    decoder's; `separate` copies them and the two networks part.
    """

    def __init__(self, config: OrderConfig, vocabulary_size: int, region_size: int = 0):
        super().__init__()
        c, self.config = config, config
        self.embedding = nn.Embedding(vocabulary_size, c.width)
        nn.init.normal_(self.embedding.weight, std=c.width**-0.5)
        self.source = SourceEncoder(
            c.width, c.hidden, c.heads, c.source_layers, c.dropout, region_size
        )
        self.blocks = nn.ModuleList(
            Block(
                c.width,
                c.hidden,
                c.heads,
                c.dropout,
                bias=self._bias(),
                positional=c.positions == "sinusoid+attention",
                cross=True,
            )
            for _ in range(c.layers)
        )
        self.norm = nn.LayerNorm(c.width)
        self.dropout = nn.Dropout(c.dropout)
        self.tags = nn.Embedding(len(UNIVERSAL), c.width) if c.tags else None
        self.law = LAWS[c.law] if c.law in LAWS else load_law(c.law)
        is_vector = getattr(self.law, "logits_shape", "matrix") == "vector"
        self.head = ScoreHead(c.width) if is_vector else MatrixHead(c.width, c.rows)
        self._decoder: InsertionDecoder | None = None

    def _bias(self) -> nn.Module | None:
        c = self.config
        kinds = {"relative": RelativeBias, "xl": XLBias}
        return kinds[c.positions](c.heads, c.width // c.heads) if c.positions in kinds else None

    def share(self, decoder: InsertionDecoder) -> None:
        """Use the decoder's source encoder and token embedding instead of the generator's own."""
        check_sharing(self.config, decoder.config)
        self.__dict__["_decoder"] = decoder  # hidden from nn.Module: the parameters are its own

    @property
    def is_sharing(self) -> bool:
        """Are source encoder and token embedding the decoder's?"""
        return self._decoder is not None

    def separate(self) -> None:
        """Continue with copies of what was shared; nothing happens where nothing is."""
        decoder = self._decoder
        if decoder is not None:
            self.source.load_state_dict(decoder.source.state_dict())
            self.embedding.load_state_dict(decoder.embedding.state_dict())
            self._decoder = None

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        """Return q(z | x, y); `source` are the decoder's states, read only while sharing."""
        logits = precise(self.head(self.states(batch, source), batch))
        names = _SAMPLING if self.law is GumbelMatching else ()
        options = {name: getattr(self.config, name) for name in names}
        return self.law(logits, batch.lengths, validate_args=False, **options)

    def states(
        self, batch: Batch, source: SourceStates | None = None
    ) -> Float[Tensor, "batch n d"]:
        """Return one state per target position."""
        embedding, decoder = self.embedding, self._decoder
        if decoder is not None:
            embedding, source = decoder.embedding, source or decoder.encode(batch)
        else:
            source = self.source(batch, embedding)
        x = self._partly_hidden(embedding(batch.target) * self.config.width**0.5)
        if self.tags is not None:
            assert batch.tags is not None, "the codec gives tags where order.tags is set"
            x = x + self.tags(batch.tags)
        if self.config.positions.startswith("sinusoid"):
            x = x + sinusoids(torch.arange(x.shape[1], device=x.device), self.config.width, x.dtype)
        x = self.dropout(x)
        mask = batch.target_mask
        visible = (mask | ~mask.any(1, keepdim=True)).unsqueeze(1)  # an empty row sees its padding
        for block in self.blocks:
            memory = block.cross.memory(source.states)  # type: ignore[union-attr, operator]
            x = block(x, visible, None, memory, source.mask)
        return self.norm(x)

    def _partly_hidden(self, x: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
        """Return token embeddings, in training a random share of them zero.

        Orders then cannot be read off the identity of the words.
        """
        if not self.training or not self.config.token_dropout:
            return x
        is_seen = torch.rand(x.shape[:2], device=x.device) >= self.config.token_dropout
        return x * is_seen.unsqueeze(-1)

    def alignment(self, decoder: InsertionDecoder) -> Float[Tensor, ""]:
        """Return 1 - cosine between the two embeddings of a token, averaged over the vocabulary.

        It is computed as half the squared distance of the unit vectors: where they are equal, value
        and gradient are exactly zero. The gradient of a cosine is a rounding error there, which
        Adam would scale up to full steps.
        """
        ours, theirs = (
            nn.functional.normalize(x, dim=-1)
            for x in (self.embedding.weight, decoder.embedding.weight.detach())
        )
        return (ours - theirs).square().sum(-1).mean() / 2


class ScoreHead(nn.Module):
    """One score per target position."""

    def __init__(self, width: int):
        super().__init__()
        self.score = Linear(width, 1)

    def forward(self, states: Float[Tensor, "batch n d"], batch: Batch) -> Float[Tensor, "batch n"]:
        return self.score(states).squeeze(-1)


class MatrixHead(nn.Module):
    """A matrix of step against final position; columns come from the states of the positions.

    Row t comes from the state of position t (rows="position", the paper's code) or from how many
    steps were taken and how many are left (rows="step").
    """

    def __init__(self, width: int, rows: str):
        super().__init__()
        self.rows, self.scale = rows, width**-0.5
        self.columns = Linear(width, width)
        self.position_rows = Linear(width, width) if rows == "position" else None
        self.step_rows = (
            nn.Sequential(Linear(2 * width, width), nn.ReLU(), Linear(width, width))
            if rows == "step"
            else None
        )

    def forward(
        self, states: Float[Tensor, "batch n d"], batch: Batch
    ) -> Float[Tensor, "batch n n"]:
        if self.position_rows is not None:
            rows = self.position_rows(states)
        else:
            assert self.step_rows is not None
            rows = self.step_rows(self._steps(states, batch))
        return (rows * self.scale) @ self.columns(states).transpose(-1, -2)

    def _steps(
        self, states: Float[Tensor, "batch n d"], batch: Batch
    ) -> Float[Tensor, "batch n 2*d"]:
        taken = torch.arange(states.shape[1], device=states.device).expand(len(batch), -1)
        left = (batch.lengths.unsqueeze(1) - 1 - taken).clamp(min=0)
        width, kind = states.shape[-1], self.columns.weight.dtype
        return torch.cat([sinusoids(x, width, kind) for x in (taken, left)], dim=-1)
