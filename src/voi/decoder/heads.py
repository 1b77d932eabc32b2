"""Token head and slot head: what is written next, and where."""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from voi.derivatives import is_transformed, once_differentiable
from voi.layers import precise
from voi.linear import Linear, linear
from voi.permutation import Neighbours
from voi.tokens.vocabulary import PAD, START

NEVER_PRODUCED = (PAD, START)
CHUNK = 2**27  # entries of the [tokens, vocabulary] matrix that live at a time: half a GiB
_INEXACT = -60.0  # log-probabilities below it are not read off a softmax in float32


class TokenTerms(NamedTuple):
    """Log-probabilities of chosen tokens, and the mean log-probability over the vocabulary."""

    chosen: Float[Tensor, " tokens"]
    mean: Float[Tensor, " tokens"]


def token_logits(hidden: Float[Tensor, "*rows d"], weight: Float[Tensor, "v d"]) -> Tensor:
    """Return unnormalised log-probabilities of all tokens [*rows, v]; PAD and START have none."""
    return producible(linear(hidden, weight))


def producible(logits: Float[Tensor, "*rows v"]) -> Float[Tensor, "*rows v"]:
    """Return the same logits, changed in place: PAD and START have none."""
    logits[..., NEVER_PRODUCED] = -math.inf
    return logits


def token_terms(
    hidden: Float[Tensor, "tokens d"],
    weight: Float[Tensor, "v d"],
    tokens: Int[Tensor, " tokens"],
) -> TokenTerms:
    """Return the log-probabilities of `tokens` without keeping a second [tokens, v] matrix.

    The mean over the vocabulary, needed for label smoothing, is h . mean(W) - log Z. Gradients are
    differentiated under torch.func only.
    """
    if torch.is_autocast_enabled(hidden.device.type):
        kind = torch.get_autocast_dtype(hidden.device.type)
        hidden, weight = hidden.to(kind), weight.to(kind)
    if is_transformed():
        logits = precise(token_logits(hidden, weight))
        partitions = logits.logsumexp(-1)
        mean = precise(hidden @ _mean_weight(weight)) - partitions
        return TokenTerms(_entries(logits, tokens) - partitions, mean)
    return TokenTerms(*_TokenTerms.apply(hidden, weight, tokens))


def _entries(matrix: Float[Tensor, "tokens v"], tokens: Int[Tensor, " tokens"]) -> Tensor:
    return precise(matrix.gather(-1, tokens.unsqueeze(-1)).squeeze(-1))


def _probabilities(logits: Float[Tensor, "tokens v"]) -> Float[Tensor, "tokens v"]:
    """Return probabilities in place of the logits: no second matrix is made in float32."""
    probs = precise(logits)
    return torch.softmax(probs, -1, out=probs)


def _less_chosen(
    probs: Float[Tensor, "tokens v"], tokens: Int[Tensor, " tokens"]
) -> Float[Tensor, "tokens v"]:
    """Return p - 1[chosen], computed in place.

    Subtract 1 at the chosen token before rounding; rounding p near 1 first would lose the
    difference.
    """
    return probs.scatter_add_(1, tokens.unsqueeze(-1), -probs.new_ones(len(tokens), 1))


def _mean_weight(weight: Float[Tensor, "v d"]) -> Float[Tensor, " d"]:
    """Return the mean vector of the tokens that can be produced."""
    total = weight.sum(0) - weight[list(NEVER_PRODUCED)].sum(0)
    return total / (weight.shape[0] - len(NEVER_PRODUCED))


class _TokenTerms(torch.autograd.Function):
    """Log-probability of the chosen token, and of all tokens in the mean, chunk by chunk.

    Where one chunk holds all tokens, p - 1[chosen] is kept for the backward pass; else that pass
    computes each chunk again.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        size = max(1, CHUNK // weight.shape[0])
        log_probs, partitions, probs = [hidden.new_empty(0)], [hidden.new_empty(0)], hidden
        for rows, chosen in zip(hidden.split(size), tokens.split(size), strict=True):
            logits = token_logits(rows, weight)
            logit = _entries(logits, chosen)
            probs = _probabilities(logits)
            log_prob = _entries(probs, chosen).log()
            partition = logit - log_prob
            small = log_prob < _INEXACT
            if small.any():
                partition[small] = precise(token_logits(rows[small], weight)).logsumexp(-1)
                log_prob = torch.where(small, logit - partition, log_prob)
            log_probs.append(log_prob)
            partitions.append(partition)
        mean_weight = _mean_weight(weight)
        ctx.save_for_backward(hidden, weight, tokens, mean_weight)
        ctx.set_materialize_grads(False)
        is_whole = 0 < len(tokens) <= size
        ctx.kept = _less_chosen(probs, tokens).to(hidden.dtype) if is_whole else None
        ctx.size = size
        return torch.cat(log_probs), precise(hidden @ mean_weight) - torch.cat(partitions)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_token: Tensor | None, of_mean: Tensor | None
    ) -> tuple[Tensor, Tensor, None]:
        """Return the gradients by hidden states and weight.

        By the logits, the token's term has the gradient 1[chosen] - p and the mean 1/v - p. One
        product with p - 1[chosen] serves both, and 1/v - 1[chosen] is added for the mean. Rows are
        scaled where they are d wide, not v.
        """
        hidden, weight, tokens, mean_weight = ctx.saved_tensors
        total = sum(
            (x for x in (of_token, of_mean) if x is not None), hidden.new_zeros(len(tokens))
        )
        scale = -total.unsqueeze(-1).to(hidden.dtype)
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.empty_like(weight) if len(tokens) else torch.zeros_like(weight)
        kept, ctx.kept = ctx.kept, None
        for start in range(0, len(tokens), ctx.size):
            part = slice(start, start + ctx.size)
            rest = kept
            if rest is None:
                probs = _probabilities(token_logits(hidden[part], weight))
                rest = _less_chosen(probs, tokens[part]).to(hidden.dtype)
            torch.mul(linear(rest, weight.t()), scale[part], out=grad_hidden[part])
            sums = (grad_weight, rest.t(), hidden[part] * scale[part])
            torch.addmm(*sums, beta=int(start > 0), out=grad_weight)  # beta=0: nothing is read
        if of_mean is not None:
            back = of_mean.unsqueeze(-1).to(hidden.dtype)
            grad_hidden += (mean_weight - weight[tokens]) * back
            scaled = precise(hidden * back)
            shared = scaled.sum(0) / (len(weight) - len(NEVER_PRODUCED))
            grad_weight = precise(grad_weight)  # rows of a frequent token are many and small
            grad_weight += shared
            grad_weight[list(NEVER_PRODUCED)] -= shared
            grad_weight.index_add_(0, tokens, scaled, alpha=-1)
        return grad_hidden, grad_weight.to(weight.dtype), None


class SlotHead(nn.Module):
    """Probability of each slot between the written tokens, given the token that goes there.

    A slot has two names, "right of its left neighbour" and "left of its right neighbour"; one
    softmax runs over all names and the two of a slot are summed      (docs/math.md, "slots").
    """

    def __init__(self, width: int):
        super().__init__()
        self.scale = width**-0.5
        self.state = Linear(width, width)
        self.word = Linear(width, width, bias=False)  # of the token; checkpoints call it so
        self.names = Linear(width, 2 * width)

    def keys(self, states: Float[Tensor, "rows written d"]) -> Float[Tensor, "rows written 2 d"]:
        """Return the keys of the names "right of" (0) and "left of" (1) each written token."""
        return self.names(states).unflatten(-1, (2, -1))

    def token_keys(self, keys: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows d"]:
        """Return what a token's vector e is compared with: e . token_keys(k) = word(e) . k."""
        return keys @ self.word.weight

    def queries(
        self, states: Float[Tensor, "*rows d"], vectors: Float[Tensor, "*rows d"]
    ) -> Float[Tensor, "*rows d"]:
        """Return queries from the state before a token is written and the token's vector."""
        return (self.state(states) + self.word(vectors)) * self.scale

    def forward(
        self,
        queries: Float[Tensor, "rows n d"],
        keys: Float[Tensor, "rows n 2 d"],
        written: Bool[Tensor, "n n"],
        neighbours: Neighbours,
    ) -> Float[Tensor, "rows n"]:
        """Return the log-probability of the slot between the two neighbours at every step."""
        logits = precise(queries @ keys.flatten(1, 2).transpose(-1, -2))  # [rows, n, 2 n]
        is_hidden = ~written.repeat_interleave(2, dim=1)
        hidden = logits.new_zeros(logits.shape[1:]).masked_fill_(is_hidden, -math.inf)
        names = torch.stack([2 * neighbours.left, 2 * neighbours.right + 1], dim=-1)
        return logits.add_(hidden).log_softmax(-1).gather(-1, names).logsumexp(-1)
