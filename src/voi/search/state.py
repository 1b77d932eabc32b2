"""The state of a search: hypotheses of a batch as tensors, and how a step changes them."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from voi.decoder import SourceStates
from voi.decoder.cache import Cache, Stepper, insert_entries
from voi.search.rule_state import RuleState
from voi.tokens.vocabulary import END


@dataclass(frozen=True)
class Choice:
    """The next step of every hypothesis: from which old one, which token, into which slot.

    A hypothesis that is closed stays as it is; its token and slot are without meaning.
    """

    parents: Int[Tensor, "batch beam"]
    tokens: Int[Tensor, "batch beam"]
    slots: Int[Tensor, "batch beam"]
    token_scores: Float[Tensor, "batch beam"]  # -inf: there is no such step, nor hypothesis
    slot_scores: Float[Tensor, "batch beam"]  # 0 for END, which has no slot


@dataclass(frozen=True)
class History:
    """What was written so far, in generation order; steps after END are without meaning."""

    tokens: Int[Tensor, "batch beam t"]
    slots: Int[Tensor, "batch beam t"]
    token_scores: Float[Tensor, "batch beam t"]
    slot_scores: Float[Tensor, "batch beam t"]


@dataclass(frozen=True)
class SearchState:
    """All hypotheses of a batch after some steps; all open ones have written the same number.

    A step is chosen, taken with `advance`, and its tokens are then run through the decoder with
    `write`, unless no further step follows.
    """

    cache: Cache
    states: Float[Tensor, "batch beam d"]  # of the last token that was run through the decoder
    reading: Int[Tensor, "batch beam written"]  # pool entries in reading order, START first
    history: History
    scores: Float[Tensor, "batch beam"]  # log p(y, z | x) so far; -inf: no hypothesis
    lengths: Int[Tensor, "batch beam"]  # steps taken, END counted
    closed: Bool[Tensor, "batch beam"]
    rules: RuleState
    chances: Float[Tensor, "batch steps 2"] | None = None  # in [0, 1): for each step's token, slot

    @staticmethod
    def start(
        stepper: Stepper,
        source: SourceStates,
        beam: int,
        rules: RuleState,
        chances: Float[Tensor, "batch steps 2"] | None = None,
    ) -> "SearchState":
        """Return one empty hypothesis per example, and `beam - 1` that do not exist yet."""
        cache, states, reading = stepper.start(source, beam)
        batch, device = source.mask.shape[0], source.mask.device
        scores = torch.full((batch, beam), -torch.inf, device=device)
        scores[:, 0] = 0.0
        none = torch.zeros(batch, beam, 0, device=device)
        return SearchState(
            cache,
            states,
            reading,
            History(none.long(), none.long(), none, none),
            scores,
            lengths=torch.zeros(batch, beam, dtype=torch.long, device=device),
            closed=torch.zeros(batch, beam, dtype=torch.bool, device=device),
            rules=rules,
            chances=chances,
        )

    def advance(self, choice: Choice) -> "SearchState":
        """Return the state after every hypothesis took its step, the new tokens not yet run."""
        parents = choice.parents
        was_closed = self.closed.gather(1, parents)
        reading = self.reading.gather(1, parents.unsqueeze(-1).expand_as(self.reading))
        history = History(
            *(
                torch.cat([old.gather(1, parents.unsqueeze(-1).expand_as(old)), new[..., None]], -1)
                for old, new in zip(
                    vars(self.history).values(),
                    (choice.tokens, choice.slots, choice.token_scores, choice.slot_scores),
                    strict=True,
                )
            )
        )
        stays = was_closed & (choice.token_scores > -torch.inf)
        gain = (choice.token_scores + choice.slot_scores).masked_fill(stays, 0.0)
        return SearchState(
            self.cache,
            self.states,
            insert_entries(reading, choice.slots + 1, self.cache.used),
            history,
            self.scores.gather(1, parents) + gain,
            self.lengths.gather(1, parents) + (~was_closed).long(),
            was_closed | (choice.tokens == END),
            self.rules.advance(parents, choice.tokens, choice.slots),
            self.chances,
        )

    def write(self, stepper: Stepper) -> "SearchState":
        """Return the state with the last step's tokens run; the cache is extended in place."""
        tokens, slots = self.history.tokens[..., -1], self.history.slots[..., -1]
        states = stepper.write(self.cache, tokens, self.reading, slots + 1)
        return replace(self, states=states)

    def select(self, rows: Int[Tensor, " rows"]) -> "SearchState":
        """Return the state of some examples of the batch."""
        tensors = {
            name: getattr(self, name)[rows]
            for name in ("states", "reading", "scores", "lengths", "closed")
        }
        history = History(*(x[rows] for x in vars(self.history).values()))
        return replace(
            self,
            cache=self.cache.select(rows),
            history=history,
            rules=self.rules.select(rows),
            chances=None if self.chances is None else self.chances[rows],
            **tensors,
        )
