"""Searched adaptive order (Gu et al. 2019): beam search for the order of a known target."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from voi.batch import Batch
from voi.decoder import InsertionDecoder, SourceStates
from voi.decoder.cache import Cache, Stepper, insert_entries
from voi.distributions import Listed, OrderLaw
from voi.errors import ConfigError
from voi.tokens.vocabulary import END

Weighting = Literal["best", "uniform", "softmax"]


class SearchedOrder(nn.Module):
    """Answers a batch with the orders a beam search finds under the decoder as it is now.

    `weighting` makes a law of the orders found: the best one alone, all alike, or each by its
    probability, softmax(log p(y, z | x)).
    """

    _decoder: InsertionDecoder

    def __init__(self, decoder: InsertionDecoder, beam: int = 8, weighting: Weighting = "best"):
        super().__init__()
        self.beam, self.weighting = beam, weighting
        self.__dict__["_decoder"] = decoder  # hidden from nn.Module: not ours to train

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        orders, scores = search_orders(self._decoder, batch, source, self.beam)
        if self.weighting == "best":
            orders, scores = orders[:, :1], scores[:, :1]
        elif self.weighting == "uniform":
            scores = torch.zeros_like(scores).where(scores.isfinite(), scores)
        return Listed(orders, scores, batch.lengths, validate_args=False)


class SearchedOrders(NamedTuple):
    """Orders of each target, best first, and log p(y, z | x) of each; -inf: there are no more."""

    orders: Int[Tensor, "batch beam n"]
    scores: Float[Tensor, "batch beam"]


@torch.no_grad()
def search_orders(
    decoder: InsertionDecoder, batch: Batch, source: SourceStates | None = None, beam: int = 8
) -> SearchedOrders:
    """Return the `beam` best orders that a beam search over a target's tokens finds.

    A step takes any token that is not written yet, to its own place; all candidates of all
    hypotheses compete by log p(token) + log p(slot). Equal tokens are candidates of their own.
    Written tokens are cached, the source is encoded once. The search itself runs without dropout;
    a `source` that was encoded with dropout is taken as it is.
    """
    if decoder.slots is None:
        raise ConfigError("a decoder without slots writes left to right: there is no order to find")
    was_training = decoder.training
    decoder.eval()
    try:
        source = source or decoder.encode(batch)
        stepper = Stepper(decoder)
        state = _State.start(stepper, batch, source, beam)
        size = batch.target.shape[1]
        for step in range(size):
            state = state.advance(stepper, batch, step)
        token_terms = stepper.token_log_probs(state.states)
        scores = state.scores + _end_terms(token_terms, batch, size)
    finally:
        decoder.train(was_training)
    scores, index = scores.sort(dim=1, descending=True, stable=True)
    index = index.where(scores.isfinite(), index[:, :1])  # what does not exist repeats the best
    orders = state.orders.gather(1, index.unsqueeze(-1).expand_as(state.orders))
    return SearchedOrders(orders, scores)


@dataclass(frozen=True)
class _State:
    """All hypotheses of a batch after some steps."""

    cache: Cache
    states: Float[Tensor, "batch beam d"]
    reading: Int[Tensor, "batch beam written"]  # pool entries in reading order, START first
    is_written: Bool[Tensor, "batch beam n"]  # target positions
    orders: Int[Tensor, "batch beam t"]
    scores: Float[Tensor, "batch beam"]  # -inf: no hypothesis
    by_token: Float[Tensor, "batch used n 2"]  # slot logits of the target's tokens

    @staticmethod
    def start(stepper: Stepper, batch: Batch, source: SourceStates, beam: int) -> "_State":
        num_rows, size = batch.target.shape
        cache, states, reading = stepper.start(source, beam, capacity=size + 1)
        device = batch.target.device
        scores = torch.full((num_rows, beam), -torch.inf, device=device)
        scores[:, 0] = 0.0
        return _State(
            cache,
            states,
            reading,
            torch.zeros(num_rows, beam, size, dtype=torch.bool, device=device),
            torch.zeros(num_rows, beam, 0, dtype=torch.long, device=device),
            scores,
            _by_token(stepper, cache, batch, first=0),
        )

    def advance(self, stepper: Stepper, batch: Batch, step: int) -> "_State":
        """Return the state after one more token of every hypothesis is written.

        A target that has no more tokens writes its padding, in place and at no cost.
        """
        beam, size = self.is_written.shape[1:]
        token_terms = stepper.token_log_probs(self.states)
        scores = self.scores + _end_terms(token_terms, batch, step)
        joint = scores.unsqueeze(-1) + self._candidates(stepper, token_terms, batch, step)
        scores, index = joint.flatten(1).topk(beam, dim=1)
        parents, taken = index // size, index % size
        is_written = _of(parents, self.is_written)
        slots = (is_written & (torch.arange(size, device=index.device) < taken[..., None])).sum(-1)
        first = self.cache.used
        reading = insert_entries(_of(parents, self.reading), slots + 1, first)
        tokens = batch.target.gather(1, taken)
        states = stepper.write(self.cache, tokens, reading, slots + 1)
        new = _by_token(stepper, self.cache, batch, first)
        return _State(
            self.cache,
            states,
            reading,
            is_written.scatter(-1, taken.unsqueeze(-1), True),
            torch.cat([_of(parents, self.orders), taken.unsqueeze(-1)], dim=-1),
            scores,
            torch.cat([self.by_token, new], dim=1),
        )

    def _candidates(
        self,
        stepper: Stepper,
        token_terms: Float[Tensor, "batch beam v"],
        batch: Batch,
        step: int,
    ) -> Float[Tensor, "batch beam n"]:
        """Return log p(token) + log p(slot) of every token that may be written next."""
        tokens = batch.target.unsqueeze(1).expand_as(self.is_written)
        before = self.is_written.cumsum(-1) - self.is_written.long()  # the slot of each position
        terms = token_terms.gather(-1, tokens) + self._slot_terms(stepper, before)
        is_open = ~self.is_written & batch.target_mask.unsqueeze(1)
        is_padding = (batch.lengths <= step).unsqueeze(1)
        is_next = torch.arange(tokens.shape[-1], device=tokens.device) == step
        idle = torch.zeros_like(is_next, dtype=terms.dtype).masked_fill(~is_next, -torch.inf)
        terms = terms.masked_fill(~is_open, -torch.inf)
        return torch.where(is_padding.unsqueeze(-1), idle, terms)

    def _slot_terms(
        self, stepper: Stepper, slots: Int[Tensor, "batch beam n"]
    ) -> Float[Tensor, "batch beam n"]:
        """Return log p(slot | token) of each target position's own slot.

        The logit of a token at a written one is the sum of two parts: one of the two tokens, which
        is computed once, when the latter is written, and one of the state.
        """
        by_state = stepper.slot_logits_by_state(self.cache, self.states)
        index = self.reading.unsqueeze(-1).expand(-1, -1, -1, 2)
        rows = torch.arange(len(slots), device=slots.device)[:, None, None]
        logits = self.by_token[rows, self.reading] + by_state.gather(2, index).unsqueeze(3)
        total = logits.logsumexp((2, 4))  # logits: [batch, beam, written, n, 2]
        right_of, left_of = logits.unbind(-1)
        after = (slots + 1) % self.reading.shape[-1]  # right of the last slot stands START
        names = (
            right_of.gather(2, slots.unsqueeze(2)),
            left_of.gather(2, after.unsqueeze(2)),
        )
        return torch.logaddexp(*names).squeeze(2) - total


def _end_terms(
    token_terms: Float[Tensor, "batch beam v"], batch: Batch, step: int
) -> Float[Tensor, "batch beam"]:
    """Return log p(END) of targets whose tokens are all written by `step` steps, else 0."""
    return token_terms[..., END].masked_fill((batch.lengths != step).unsqueeze(1), 0.0)


def _by_token(
    stepper: Stepper, cache: Cache, batch: Batch, first: int
) -> Float[Tensor, "batch new n 2"]:
    """Return the slot logits of all target tokens at the pool entries from `first` on."""
    return stepper.slot_logits_by_token(cache, batch.target, first).transpose(1, 2)


def _of(parents: Int[Tensor, "batch beam"], x: Tensor) -> Tensor:
    """Return the rows of the hypotheses that are continued."""
    return x.gather(1, parents.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
