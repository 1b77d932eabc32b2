"""The decoder written a second time, for one target at a time, from its definition alone.

No mask, no folding, no neighbour arithmetic: the text is a Python list into which tokens are
inserted, and all states are computed anew at every step from the tokens written before it.
"""

from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional as F

from voi.decoder import InsertionDecoder
from voi.layers import Block, CrossAttention, SelfAttention
from voi.tokens import END, PAD, START


def slots_of(order: list[int]) -> list[int]:
    """Return the slot of each step, counting the tokens written to its left."""
    return [sum(old < new for old in order[:t]) for t, new in enumerate(order)]


def insert_all(words: list[int], slots: list[int]) -> list[int]:
    """Return the text that insertion makes of words and slots."""
    text: list[int] = []
    for word, slot in zip(words, slots, strict=True):
        text.insert(slot, word)
    return text


def order_from(slots: list[int]) -> list[int]:
    """Return the final position written at each step."""
    steps = insert_all(list(range(len(slots))), slots)
    return [steps.index(t) for t in range(len(slots))]


def naive_terms(
    decoder: InsertionDecoder, words: list[int], slots: list[int], source: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return token terms [n + 1], slot terms [n] and means over producible words [n + 1].

    `words` are in the order of writing and `source [m, d]` holds real states only.
    """
    tokens, places, means = [], [], []
    reading = [0]  # steps from left to right, START is step 0
    for t in range(len(words) + 1):
        states = naive_states(decoder, [START, *words[:t]], reading, source)
        log_probs = naive_token_log_probs(decoder, states[-1])
        means.append(torch.stack(list(log_probs.values())).mean())
        if t == len(words):
            tokens.append(log_probs[END])
            break
        tokens.append(log_probs[words[t]])
        places.append(naive_slot_log_probs(decoder, states, reading, words[t])[slots[t]])
        reading.insert(slots[t] + 1, t + 1)
    empty = source.new_empty(0)
    return torch.stack(tokens), torch.stack(places) if places else empty, torch.stack(means)


def naive_token_log_probs(decoder: InsertionDecoder, state: Tensor) -> dict[int, Tensor]:
    """Return log p(word) of every word that can be written."""
    weight = decoder.embedding.weight
    scores = {w: state @ weight[w] for w in range(len(weight)) if w not in (PAD, START)}
    total = torch.stack(list(scores.values())).exp().sum().log()
    return {word: score - total for word, score in scores.items()}


def naive_slot_log_probs(
    decoder: InsertionDecoder, states: Tensor, reading: list[int], word: int
) -> list[Tensor]:
    """Return log p(slot | word) of every slot: both names of each, on the circle, summed."""
    head, width = decoder.slots, states.shape[-1]
    vector = decoder.embedding.weight[word] * width**0.5
    query = F.linear(states[-1], head.state.weight, head.state.bias)
    query = (query + F.linear(vector, head.word.weight)) / width**0.5
    names = F.linear(states, head.names.weight, head.names.bias)
    right_of = {s: torch.exp(query @ names[s, :width]) for s in reading}
    left_of = {s: torch.exp(query @ names[s, width:]) for s in reading}
    total = sum(right_of.values()) + sum(left_of.values())
    circle = [*reading, reading[0]]
    return [torch.log((right_of[a] + left_of[b]) / total) for a, b in pairwise(circle)]


def naive_states(
    decoder: InsertionDecoder, words: list[int], reading: list[int], source: Tensor
) -> Tensor:
    """Return the state after every step [len(words), d]; words[0] is START."""
    width = decoder.config.width
    x = decoder.embedding.weight[words] * width**0.5
    if decoder.slots is None or decoder.config.count_steps:
        x = x + torch.stack([naive_sinusoid(t, width) for t in range(len(words))]).to(x)
    place = [reading.index(t) for t in range(len(words))]
    for block in decoder.blocks:
        x = _naive_block(block, x, place, source)
    return _norm(decoder.norm, x)


def naive_sinusoid(position: int, width: int) -> Tensor:
    half = width // 2
    rates = [10000 ** (-i / (half - 1)) for i in range(half)]
    angles = torch.tensor([position * rate for rate in rates], dtype=torch.float64)
    return torch.cat([angles.sin(), angles.cos()])


def _norm(norm: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias)


def _naive_block(block: Block, x: Tensor, place: list[int], source: Tensor) -> Tensor:
    x = x + _naive_self_attention(block.attention, _norm(block.norms["attention"], x), place)
    x = x + _naive_cross_attention(block.cross, _norm(block.norms["cross"], x), source)
    first, last = block.feed_forward[0], block.feed_forward[3]
    hidden = F.linear(_norm(block.norms["feed_forward"], x), first.weight, first.bias).clamp(min=0)
    return x + F.linear(hidden, last.weight, last.bias)


def _naive_self_attention(attention: SelfAttention, x: Tensor, place: list[int]) -> Tensor:
    """Three vectors per head, for keys left of a query, itself, and right of it."""
    project = attention.project
    queries, keys, values = F.linear(x, project.weight, project.bias).chunk(3, -1)
    size = x.shape[-1] // attention.heads
    rows = []
    for i in range(len(x)):
        heads = []
        for h in range(attention.heads):
            part = slice(h * size, (h + 1) * size)
            q, scores = queries[i, part], []
            for j in range(i + 1):
                score = q @ keys[j, part]
                if attention.bias is not None:
                    score = score + q @ _three_vectors(attention, h)[_sign(place[j] - place[i])]
                scores.append(score / size**0.5)
            weights = torch.stack(scores).softmax(0)
            heads.append(weights @ values[: i + 1, part])
        rows.append(torch.cat(heads))
    return F.linear(torch.stack(rows), attention.output.weight, attention.output.bias)


def _three_vectors(attention: SelfAttention, head: int) -> dict[int, Tensor]:
    """Return E[-1], E[0], E[+1]; what is added to all three must not matter."""
    sign, itself = attention.bias.vectors[head].unbind(-1)
    common = torch.linspace(-1, 1, len(sign), dtype=sign.dtype)
    return {-1: common - sign, 0: common + itself, 1: common + sign}


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _naive_cross_attention(cross: CrossAttention, x: Tensor, source: Tensor) -> Tensor:
    queries = F.linear(x, cross.query.weight, cross.query.bias)
    keys, values = F.linear(source, cross.key_value.weight, cross.key_value.bias).chunk(2, -1)
    by_head = zip(*(part.chunk(cross.heads, -1) for part in (queries, keys, values)), strict=True)
    heads = [torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1) @ v for q, k, v in by_head]
    return F.linear(torch.cat(heads, -1), cross.output.weight, cross.output.bias)
