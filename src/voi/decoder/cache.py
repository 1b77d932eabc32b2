"""Decoding step by step: what is kept of written tokens, so that no state is computed twice.

The hypotheses of one example share a pool of written tokens. A hypothesis is the list of its pool
entries in reading order; choosing other hypotheses changes the lists, and no cached key is moved.
States are exact because a written token's state never changes when more is inserted.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from voi.decoder.heads import producible
from voi.decoder.insertion import InsertionDecoder
from voi.decoder.packed import packed, vocabulary_scores
from voi.decoder.source import SourceStates
from voi.layers import Block, InsertionBias, Memory, merge_heads, precise
from voi.tokens.vocabulary import START


@dataclass
class Cache:
    """Keys and values of source and pool, per layer; `used` entries of the pool are filled."""

    memories: list[Memory]
    source_bias: Float[Tensor, "batch 1 1 m"]  # 0 on the source, -inf on its padding
    keys: list[Float[Tensor, "batch h capacity dh"]]
    values: list[Float[Tensor, "batch h capacity dh"]]
    slot_keys: Float[Tensor, "batch capacity 2 d"]
    slot_token_keys: Float[Tensor, "batch capacity 2 d"]  # the same, to multiply tokens' vectors
    used: int = 0

    @property
    def capacity(self) -> int:
        return self.slot_keys.shape[1]

    def select(self, rows: Int[Tensor, " rows"]) -> "Cache":
        """Return the cache of some examples of the batch."""
        return replace(
            self,
            memories=[Memory(m.keys[rows], m.values[rows]) for m in self.memories],
            source_bias=self.source_bias[rows],
            keys=[x[rows] for x in self.keys],
            values=[x[rows] for x in self.values],
            slot_keys=self.slot_keys[rows],
            slot_token_keys=self.slot_token_keys[rows],
        )

    def make_room(self, count: int) -> None:
        """Make `count` more entries fit; capacity doubles, so entries are rarely copied."""
        while self.used + count > self.capacity:
            self.keys = [_doubled(x, 2) for x in self.keys]
            self.values = [_doubled(x, 2) for x in self.values]
            self.slot_token_keys = _doubled(self.slot_token_keys, 1)
            self.slot_keys = _doubled(self.slot_keys, 1)


def _contiguous(memory: Memory) -> Memory:
    return Memory(memory.keys.contiguous(), memory.values.contiguous())


def _attended(
    queries: Float[Tensor, "batch h beam dh"],
    keys: Float[Tensor, "batch h m dh"],
    values: Float[Tensor, "batch h m dh"],
    bias: Float[Tensor, "#batch #h #beam m"],
) -> Float[Tensor, "batch h beam dh"]:
    """Return attention in its plainest form, which for few queries is faster than the fused one."""
    return (queries @ keys.transpose(-1, -2)).add_(bias).softmax(-1) @ values


def _doubled(entries: Tensor, dim: int) -> Tensor:
    return torch.cat([entries, torch.empty_like(entries)], dim)


@dataclass(frozen=True)
class Sight:
    """What the tokens being written see of the pool, and on which side of them it stands."""

    mask: Float[Tensor, "batch 1 beam used"]  # 0 on a hypothesis' own tokens, -inf elsewhere
    relation: Float[Tensor, "batch 1 beam used"]  # +1 right of the new token, -1 left, 0 itself
    itself: Float[Tensor, "1 1 beam used"]  # 1 on the new token


class Stepper:
    """Runs a decoder one written token at a time, for `beam` hypotheses of every example.

    It holds a copy of large weights in a layout for few rows (voi.decoder.packed): when the weights
    change, a new one is needed. A decoder that drops units would write by chance: it is refused.
    """

    def __init__(self, decoder: InsertionDecoder):
        if decoder.training and decoder.config.dropout:
            raise ValueError("a decoder in training mode has dropout: call its eval() first")
        self.decoder = decoder
        self.blocks: list[Block] = [packed(block) for block in decoder.blocks]  # type: ignore[misc]
        self.slots = packed(decoder.slots) if decoder.slots is not None else None
        self.vocabulary_scores = vocabulary_scores(decoder.embedding)

    def start(
        self, source: SourceStates, beam: int, capacity: int = 16
    ) -> tuple[Cache, Float[Tensor, "batch beam d"], Int[Tensor, "batch beam 1"]]:
        """Return a cache that holds START, the states after it, and the hypotheses' readings."""
        c, batch = self.decoder.config, source.mask.shape[0]
        blank = source.states.new_empty
        shape = (batch, c.heads, capacity * beam, c.width // c.heads)
        cache = Cache(
            [_contiguous(block.cross.memory(source.states)) for block in self.blocks],  # type: ignore[union-attr]
            torch.zeros_like(source.states[:, None, None, :, 0]).masked_fill(
                ~source.mask[:, None, None], -math.inf
            ),
            [blank(shape) for _ in self.blocks],
            [blank(shape) for _ in self.blocks],
            blank(batch, capacity * beam, 2, c.width),
            blank(batch, capacity * beam, 2, c.width),
        )
        tokens = source.mask.new_full((batch, 1), START, dtype=torch.long)
        reading = torch.zeros_like(tokens).unsqueeze(-1)
        states = self.write(cache, tokens, reading, torch.zeros_like(tokens))
        return cache, states.expand(-1, beam, -1), reading.expand(-1, beam, -1)

    def write(
        self,
        cache: Cache,
        tokens: Int[Tensor, "batch beam"],
        reading: Int[Tensor, "batch beam written"],
        places: Int[Tensor, "batch beam"],
    ) -> Float[Tensor, "batch beam d"]:
        """Put one token per hypothesis into the pool and return the states after it.

        `reading` lists the pool entries of each hypothesis in reading order with the new ones,
        START first; `places` says at which index of it the new entry stands. New entries are
        numbered from `cache.used` in the order of the hypotheses.
        """
        cache.make_room(tokens.shape[1])
        first, cache.used = cache.used, cache.used + tokens.shape[1]
        sight = self._sight(cache, first, reading, places)
        steps = reading.shape[-1] - 1
        x = self.decoder.embed(tokens.flatten().unsqueeze(1), steps).view(*tokens.shape, -1)
        for layer, block in enumerate(self.blocks):
            x = self._block(block, layer, x, cache, first, sight)
        states = self.decoder.norm(x)
        if self.slots is not None:
            keys = self.slots.keys(states)
            cache.slot_keys[:, first : cache.used] = keys
            cache.slot_token_keys[:, first : cache.used] = self.slots.token_keys(keys)
        return states

    def _sight(
        self,
        cache: Cache,
        first: int,
        reading: Int[Tensor, "batch beam written"],
        places: Int[Tensor, "batch beam"],
    ) -> Sight:
        steps = torch.arange(reading.shape[-1], device=reading.device)
        kind = self.decoder.embedding.weight.dtype
        sides = (steps - places.unsqueeze(-1)).sign().to(kind)  # [batch, beam, written]
        blank = torch.zeros(*reading.shape[:2], cache.used, dtype=kind, device=reading.device)
        relation = blank.scatter(-1, reading, sides)
        mask = torch.full_like(blank, -math.inf).scatter(-1, reading, 0.0)
        itself = torch.zeros_like(blank[:1])
        itself[0, :, first:].fill_diagonal_(1.0)
        return Sight(mask.unsqueeze(1), relation.unsqueeze(1), itself.unsqueeze(1))

    def _block(
        self,
        block: Block,
        layer: int,
        x: Float[Tensor, "batch beam d"],
        cache: Cache,
        first: int,
        sight: Sight,
    ) -> Float[Tensor, "batch beam d"]:
        """Return a block's output for the new tokens and keep their keys and values."""
        attention = block.attention
        q, k, v = attention.queries_keys_values(block.norms["attention"](x))
        cache.keys[layer][:, :, first : cache.used] = k
        cache.values[layer][:, :, first : cache.used] = v
        bias = sight.mask
        if isinstance(attention.bias, InsertionBias):
            sign, itself = attention.bias.terms(q).chunk(2, dim=-1)  # [batch, h, beam, 1] each
            bias = bias + sign * sight.relation + itself * sight.itself
        keys, values = (part[layer][:, :, : cache.used] for part in (cache.keys, cache.values))
        x = x + attention.output(merge_heads(_attended(q, keys, values, bias)))
        cross, memory = block.cross, cache.memories[layer]
        assert cross is not None
        q = cross.queries(block.norms["cross"](x))
        x = x + cross.output(merge_heads(_attended(q, *memory, cache.source_bias)))
        return x + block.feed_forward(block.norms["feed_forward"](x))

    def token_log_probs(self, states: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows v"]:
        """Return log p(next token) after the given states."""
        return precise(producible(self.vocabulary_scores(states))).log_softmax(-1)

    def slot_log_probs(
        self,
        cache: Cache,
        states: Float[Tensor, "batch beam d"],
        tokens: Int[Tensor, "batch beam choices"],
        reading: Int[Tensor, "batch beam written"],
    ) -> Float[Tensor, "batch beam choices written"]:
        """Return log p(slot | token) of every slot, left to right, for several next tokens.

        Slot s lies right of the s-th entry of the reading and left of the one after it; the last
        slot's right neighbour is START.
        """
        if self.slots is None:  # the only slot is the last one
            shape = (*tokens.shape, reading.shape[-1])
            last = torch.zeros(shape, device=tokens.device)
            last[..., :-1] = -math.inf
            return last
        by_token = self.slot_logits_by_token(cache, tokens.flatten(1))
        by_token = by_token.unflatten(1, tokens.shape[1:])
        logits = self.slot_logits_by_state(cache, states).unsqueeze(2) + by_token
        index = reading.unsqueeze(2).expand(-1, -1, tokens.shape[2], -1)
        right_of, left_of = (
            part.gather(-1, index)
            for part in logits.unbind(-1)  # of [.., choices, used, 2]
        )
        total = torch.cat([right_of, left_of], dim=-1).logsumexp(-1, keepdim=True)
        return torch.logaddexp(right_of, left_of.roll(-1, dims=-1)) - total

    def slot_logits_by_state(
        self, cache: Cache, states: Float[Tensor, "batch beam d"]
    ) -> Float[Tensor, "batch beam used 2"]:
        """Return the part of the names' logits that the state before a step contributes."""
        assert self.slots is not None
        keys = cache.slot_keys[:, : cache.used].flatten(1, 2).transpose(-1, -2)
        logits = precise((self.slots.state(states) * self.slots.scale) @ keys)
        return logits.unflatten(-1, (-1, 2))

    def slot_logits_by_token(
        self, cache: Cache, tokens: Int[Tensor, "batch choices"], first: int = 0
    ) -> Float[Tensor, "batch choices used 2"]:
        """Return the part that tokens contribute, at the pool entries from `first` on."""
        assert self.slots is not None
        keys = cache.slot_token_keys[:, first : cache.used].flatten(1, 2).transpose(-1, -2)
        logits = precise((self.decoder.token_vectors(tokens) * self.slots.scale) @ keys)
        return logits.unflatten(-1, (-1, 2))


def insert_entries(
    reading: Int[Tensor, "batch beam written"], places: Int[Tensor, "batch beam"], first: int
) -> Int[Tensor, "batch beam more"]:
    """Return readings in which a new pool entry of each hypothesis stands at its place.

    The entries are numbered from `first` in the order of the hypotheses, as `Stepper.write` does.
    """
    index = torch.arange(reading.shape[-1] + 1, device=places.device)
    shifted = (index - (index > places.unsqueeze(-1)).long()).clamp(max=reading.shape[-1] - 1)
    entries = torch.arange(places.shape[1], device=places.device) + first
    is_new = index == places.unsqueeze(-1)
    return torch.where(is_new, entries.unsqueeze(-1), reading.gather(-1, shifted))
