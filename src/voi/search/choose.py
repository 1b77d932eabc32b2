"""How the next tokens and slots are chosen: the best pairs of a beam, or by chance."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from voi.decoder.cache import Stepper
from voi.search.state import Choice, SearchState
from voi.tokens.vocabulary import END

Chooser = Callable[[Stepper, SearchState], Choice]


def penalized(
    scores: Float[Tensor, "*shape"], lengths: Int[Tensor, "*shape"] | int, penalty: float
) -> Float[Tensor, "*shape"]:
    """Return scores divided by ((5 + length) / 6) ** penalty, END counted (Wu et al. 2016)."""
    if not penalty:
        return scores
    lengths = torch.as_tensor(lengths, device=scores.device)
    return scores / ((5 + lengths) / 6) ** penalty


@dataclass(frozen=True)
class BestPairs:
    """The highest-scoring (token, slot) pairs of all hypotheses of an example, exactly.

    A pair never scores higher than its token alone, so slots are computed for the best tokens only,
    and for more of them until the best token left out cannot beat the worst pair kept. Closed
    hypotheses compete as they are.
    """

    length_penalty: float = 0.0

    def __call__(self, stepper: Stepper, state: SearchState) -> Choice:
        beam = state.scores.shape[1]
        log_probs = state.rules.allow_tokens(stepper.token_log_probs(state.states))
        log_probs = _numbers(log_probs.masked_fill(state.closed.unsqueeze(-1), -torch.inf))
        bounds = log_probs + state.scores.unsqueeze(-1)  # no pair of this token can score higher
        count = min(beam + 2, log_probs.shape[-1])
        while True:
            best, ids = bounds.topk(min(count + 1, log_probs.shape[-1]), dim=-1)
            pairs = _pairs(stepper, state, log_probs, ids[..., :count])
            choice, worst = self._best(state, pairs)
            if bool((best[..., count:] <= worst[:, None, None]).all()):
                return choice
            needed = int((bounds > worst[:, None, None]).sum(-1).max())
            count = min(4 * count, needed)

    def _best(self, state: SearchState, pairs: "_Pairs") -> tuple[Choice, Float[Tensor, " batch"]]:
        """Return the choice, and the score without penalty that a left-out pair must exceed."""
        beam, num_slots = state.scores.shape[1], pairs.slot_scores.shape[-1]
        joint = pairs.joint + state.scores[..., None, None]
        step = state.history.tokens.shape[-1] + 1
        new = penalized(joint, step, self.length_penalty).flatten(1)
        kept = penalized(state.scores, state.lengths, self.length_penalty)
        kept = kept.masked_fill(~state.closed, -torch.inf)
        top, index = torch.cat([kept, new], dim=1).topk(beam, dim=1)
        is_kept, pair = index < beam, (index - beam).clamp(min=0)
        per_parent = pairs.tokens.shape[-1] * num_slots
        parents = torch.where(is_kept, index, pair // per_parent)
        token_index = pair // num_slots  # of [beam choices]
        slots = pair % num_slots
        tokens = pairs.tokens.flatten(1).gather(1, token_index).masked_fill(is_kept, END)
        token_scores = pairs.token_scores.flatten(1).gather(1, token_index)
        is_none = top == -torch.inf  # fewer pairs than the beam wants
        token_scores = token_scores.masked_fill(is_kept, 0.0).masked_fill(is_none, -torch.inf)
        slot_scores = pairs.slot_scores.flatten(1).gather(1, pair).where(tokens != END, 0.0)
        slots = slots.where(tokens != END, num_slots - 1)
        worst = top[:, -1] * ((5 + step) / 6) ** self.length_penalty
        return Choice(parents, tokens, slots, token_scores, slot_scores), worst


def _numbers(log_probs: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the same values; if one is no number, raise."""
    if bool(log_probs.isnan().any()):
        raise FloatingPointError("the decoder gives no numbers: look at weights and sources")
    return log_probs


def _slot_scores(
    stepper: Stepper, state: SearchState, tokens: Int[Tensor, "batch beam choices"]
) -> Float[Tensor, "batch beam choices slots"]:
    """Return log p(slot | token), before rules."""
    found = stepper.slot_log_probs(state.cache, state.states, tokens, state.reading)
    return _numbers(found)


@dataclass(frozen=True)
class _Pairs:
    tokens: Int[Tensor, "batch beam choices"]
    token_scores: Float[Tensor, "batch beam choices"]
    slot_scores: Float[Tensor, "batch beam choices slots"]

    @property
    def joint(self) -> Float[Tensor, "batch beam choices slots"]:
        return self.token_scores.unsqueeze(-1) + self.slot_scores


def _pairs(
    stepper: Stepper,
    state: SearchState,
    log_probs: Float[Tensor, "batch beam v"],
    tokens: Int[Tensor, "batch beam choices"],
) -> _Pairs:
    """Return the pairs of some tokens with all slots; END has one place, and no slot term."""
    slot_scores = _slot_scores(stepper, state, tokens)
    slot_scores = state.rules.allow_slots(slot_scores, tokens)
    end = torch.full_like(slot_scores, -torch.inf)
    end[..., -1] = 0.0
    slot_scores = torch.where((tokens == END).unsqueeze(-1), end, slot_scores)
    return _Pairs(tokens, log_probs.gather(-1, tokens), slot_scores)


@dataclass(frozen=True)
class ByChance:
    """Tokens, then slots, drawn from the model's distributions, each hypothesis on its own.

    Only the smallest set of tokens (of slots) that holds `top_p` of the probability can be drawn;
    scores are those of the unchanged model.
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __call__(self, stepper: Stepper, state: SearchState) -> Choice:
        of_tokens = _numbers(stepper.token_log_probs(state.states))
        assert state.chances is not None
        for_tokens, for_slots = state.chances[:, state.history.tokens.shape[-1]].unbind(-1)
        tokens = self._draw(state.rules.allow_tokens(of_tokens), for_tokens)
        only = tokens.unsqueeze(-1)  # one choice each
        of_slots = _slot_scores(stepper, state, only)
        allowed = state.rules.allow_slots(of_slots, only)
        is_end = tokens == END
        allowed = torch.where(is_end[..., None, None], of_slots, allowed).squeeze(2)
        slots = self._draw(allowed, for_slots).where(~is_end, of_slots.shape[-1] - 1)
        slot_scores = of_slots.squeeze(2).gather(-1, slots.unsqueeze(-1)).squeeze(-1)
        return Choice(
            parents=torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens),
            tokens=tokens,
            slots=slots,
            token_scores=of_tokens.gather(-1, only).squeeze(-1),
            slot_scores=slot_scores.where(~is_end, 0.0),
        )

    def _draw(
        self, log_probs: Float[Tensor, "batch beam n"], chances: Float[Tensor, " batch"]
    ) -> Int[Tensor, "batch beam"]:
        """Return the first choice up to which the probability exceeds the row's chance."""
        probs = (log_probs / self.temperature).softmax(-1)
        if self.top_p < 1:
            probs = probs.masked_fill(~nucleus(probs, self.top_p), 0.0)
        upto = probs.double().cumsum(-1)
        wanted = chances[:, None, None] * upto[..., -1:]
        return torch.searchsorted(upto, wanted, right=True).squeeze(-1)


def nucleus(probs: Float[Tensor, "*rows n"], top_p: float) -> Bool[Tensor, "*rows n"]:
    """Return the fewest most probable entries whose probability is at least `top_p`.

    >>> nucleus(torch.tensor([0.2, 0.5, 0.3]), 0.6)
    tensor([False,  True,  True])
    """
    ordered, index = probs.sort(dim=-1, descending=True)
    is_needed = ordered.cumsum(-1) - ordered < top_p  # more probable entries hold less than top_p
    return torch.zeros_like(is_needed).scatter(-1, index, is_needed)
