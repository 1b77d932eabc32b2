"""The insertion decoder p(y, z | x): writes a target token by token, each into a slot."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from voi.batch import Batch
from voi.config import DecoderConfig
from voi.decoder.heads import SlotHead, token_terms
from voi.decoder.source import SourceEncoder, SourceStates
from voi.layers import Block, InsertionBias, sinusoids
from voi.permutation import (
    insertion_neighbours,
    is_permutation,
    relative_positions,
    token_mask,
)
from voi.tokens.vocabulary import END, START


@dataclass(frozen=True)
class StepLogProbs:
    """The terms of log p(y, z | x), in nats, zero on padding."""

    tokens: Float[Tensor, "K batch steps"]  # n + 1: the last term of a target is END's
    slots: Float[Tensor, "K batch steps-1"]
    means: Float[Tensor, "K batch steps"]  # mean over the vocabulary, for label smoothing

    @property
    def joint(self) -> Float[Tensor, "K batch"]:
        return self.tokens.sum(-1) + self.slots.sum(-1)

    def smoothed(self, amount: float) -> Float[Tensor, "K batch"]:
        """Return the joint with the tokens' labels smoothed by `amount`."""
        tokens = (1 - amount) * self.tokens + amount * self.means
        return tokens.sum(-1) + self.slots.sum(-1)


class InsertionDecoder(nn.Module):
    """A Transformer that picks a token, then one of the slots between the tokens written so far.

    log p(y, z | x) = sum_t [ log p(y_{z_t} | steps < t, x)
                              + log p(slot_t | y_{z_t}, steps < t, x) ]
                      + log p(END | all steps, x)                       (docs/math.md, "joint")

    Attention is causal in generation order and knows of positions only who stands left of whom.
    That relation never changes when more is inserted, so states of written tokens are final.
    Relative to the paper's code: plain pre-norm blocks, END has no slot term, PAD and START cannot
    be produced, the source is encoded once for all K orders.

    With head="sequential" it is an ordinary left-to-right decoder: sinusoids, no slots.
    """

    def __init__(self, config: DecoderConfig, vocabulary_size: int, region_size: int = 0):
        super().__init__()
        c, self.config = config, config
        self.embedding = nn.Embedding(vocabulary_size, c.width)
        nn.init.normal_(self.embedding.weight, std=c.width**-0.5)
        self.source = SourceEncoder(
            c.width, c.hidden, c.heads, c.source_layers, c.dropout, region_size
        )
        self.blocks = nn.ModuleList(
            Block(c.width, c.hidden, c.heads, c.dropout, bias=self._bias(), cross=True)
            for _ in range(c.layers)
        )
        self.norm = nn.LayerNorm(c.width)
        self.dropout = nn.Dropout(c.dropout)
        self.slots = SlotHead(c.width) if c.head == "insertion" else None

    def _bias(self) -> nn.Module | None:
        c = self.config
        return InsertionBias(c.heads, c.width // c.heads) if c.head == "insertion" else None

    def encode(self, batch: Batch) -> SourceStates:
        """Return the encoded sources, for all orders of a batch and all steps of a search."""
        return self.source(batch, self.embedding)

    def log_prob(self, batch: Batch, orders: Int[Tensor, "K batch n"]) -> Float[Tensor, "K batch"]:
        """Return log p(y, z | x) of each target in each of its orders, in nats."""
        _check_shape(batch, orders)
        if not bool(is_permutation(orders, batch.lengths).all()):
            raise ValueError(
                "an order has every position of its target once, and padding in its place"
            )
        return self.step_log_probs(batch, orders).joint

    def step_log_probs(
        self,
        batch: Batch,
        orders: Int[Tensor, "K batch n"],
        source: SourceStates | None = None,
    ) -> StepLogProbs:
        """Return the terms of log p(y, z | x); `source` saves encoding the source again."""
        _check_shape(batch, orders)
        source = source or self.encode(batch)
        by_example = orders.transpose(0, 1)  # [batch, K, n]: rows of one source side by side
        num_orders = by_example.shape[1]
        targets = batch.target.unsqueeze(1).expand_as(by_example)
        tokens = targets.gather(-1, by_example).flatten(0, 1)  # [batch K, n], as they are written
        steps = by_example.flatten(0, 1)
        vectors = self._vectors(tokens)
        states = self._states(vectors, steps, source)  # [batch K, n + 1, d]
        lengths = batch.lengths.repeat_interleave(num_orders)
        terms, means = self._token_terms(states, tokens, lengths)
        slots = self._slot_terms(states, vectors[:, 1:], steps, lengths)
        return StepLogProbs(*(_samples_first(x, num_orders) for x in (terms, slots, means)))

    def token_vectors(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape d"]:
        """Return embeddings on the scale of normalised states."""
        return self.embedding(tokens) * self.config.width**0.5

    def embed(
        self, tokens: Int[Tensor, "rows n"], first_step: int = 0
    ) -> Float[Tensor, "rows n d"]:
        """Return input vectors of tokens written from `first_step` on (START is step 0)."""
        return self._inputs(self.token_vectors(tokens), first_step)

    def _inputs(
        self, vectors: Float[Tensor, "rows n d"], first_step: int = 0
    ) -> Float[Tensor, "rows n d"]:
        if self.slots is None or self.config.count_steps:
            steps = torch.arange(first_step, first_step + vectors.shape[1], device=vectors.device)
            vectors = vectors + sinusoids(steps, self.config.width, vectors.dtype)
        return self.dropout(vectors)

    def states(
        self, tokens: Int[Tensor, "rows n"], orders: Int[Tensor, "rows n"], source: SourceStates
    ) -> Float[Tensor, "rows n+1 d"]:
        """Return the state after START and after every step. `rows` is a multiple of the batch."""
        return self._states(self._vectors(tokens), orders, source)

    def _vectors(self, tokens: Int[Tensor, "rows n"]) -> Float[Tensor, "rows n+1 d"]:
        """Return the vectors of START and the tokens: input of the blocks and of the slot head."""
        return self.token_vectors(nn.functional.pad(tokens, (1, 0), value=START))

    def _states(
        self,
        vectors: Float[Tensor, "rows steps d"],
        orders: Int[Tensor, "rows steps-1"],
        source: SourceStates,
    ) -> Float[Tensor, "rows steps d"]:
        x = self._inputs(vectors)
        steps = torch.arange(x.shape[1], device=x.device)
        visible = (steps <= steps.unsqueeze(1)).unsqueeze(0)  # [1, n + 1, n + 1]
        places = nn.functional.pad(orders, (1, 0), value=-1)  # START stands left of everything
        relation = relative_positions(places).to(x.dtype)
        for block in self.blocks:
            memory = block.cross.memory(source.states)  # type: ignore[union-attr, operator]
            x = block(x, visible, relation, memory, source.mask)
        return self.norm(x)

    def _token_terms(
        self,
        states: Float[Tensor, "rows steps d"],
        tokens: Int[Tensor, "rows steps-1"],
        lengths: Int[Tensor, " rows"],
    ) -> tuple[Float[Tensor, "rows steps"], Float[Tensor, "rows steps"]]:
        """Return terms of the tokens and of END, computed on real steps only."""
        real = token_mask(lengths + 1, states.shape[1])
        targets = nn.functional.pad(tokens, (0, 1), value=END)
        targets = targets.scatter(1, lengths.unsqueeze(1), END)
        chosen, means = token_terms(states[real], self.embedding.weight, targets[real])
        blank = states.new_zeros(real.shape, dtype=chosen.dtype)
        return blank.masked_scatter(real, chosen), blank.masked_scatter(real, means)

    def _slot_terms(
        self,
        states: Float[Tensor, "rows steps d"],
        vectors: Float[Tensor, "rows steps-1 d"],
        orders: Int[Tensor, "rows steps-1"],
        lengths: Int[Tensor, " rows"],
    ) -> Float[Tensor, "rows steps-1"]:
        real = token_mask(lengths, vectors.shape[1])
        if self.slots is None:
            return states.new_zeros(real.shape)
        before = states[:, :-1]  # the state a step is taken from
        terms = self.slots(
            self.slots.queries(before, vectors),
            self.slots.keys(before),
            _written(vectors.shape[1], vectors.device),
            insertion_neighbours(orders),
        )
        return terms.masked_fill(~real, 0.0)


def _check_shape(batch: Batch, orders: Tensor) -> None:
    if orders.ndim != 3 or not len(orders) or orders.shape[1:] != batch.target.shape:
        raise ValueError(
            f"orders must be [K, batch, n], at least one of each target and as wide as targets "
            f"{list(batch.target.shape)}, got {list(orders.shape)}"
        )


def _written(n: int, device: torch.device) -> Bool[Tensor, "{n} {n}"]:
    """Return which elements (START first) stand in the text when step t is taken."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def _samples_first(x: Float[Tensor, "rows n"], num_orders: int) -> Float[Tensor, "K batch n"]:
    return x.unflatten(0, (-1, num_orders)).transpose(0, 1)
