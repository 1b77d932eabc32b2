"""The state of a search: hypotheses of a batch as tensors, and how a step changes them."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from voi.decoder import SourceStates
from voi.decoder.cache import Cache, Stepper, insert_entries
from voi.search.constraints import Constraints
from voi.tokens.vocabulary import END


@dataclass(frozen=True)
class Choice:
    """The next step of every hypothesis: from which old one, which word, into which slot.

    A hypothesis that is closed stays as it is; its word and slot are without meaning.
    """

    parents: Int[Tensor, "batch width"]
    words: Int[Tensor, "batch width"]
    slots: Int[Tensor, "batch width"]
    token_scores: Float[Tensor, "batch width"]
    slot_scores: Float[Tensor, "batch width"]  # 0 for END, which has no slot


@dataclass(frozen=True)
class History:
    """What was written so far, in generation order; steps after END are without meaning."""

    words: Int[Tensor, "batch width t"]
    slots: Int[Tensor, "batch width t"]
    token_scores: Float[Tensor, "batch width t"]
    slot_scores: Float[Tensor, "batch width t"]


@dataclass(frozen=True)
class SearchState:
    """All hypotheses of a batch after some steps; all open ones have written the same number.

    A step is chosen, taken with `advance`, and its tokens are then run through the decoder with
    `write`, unless no further step follows.
    """

    cache: Cache
    states: Float[Tensor, "batch width d"]  # of the last token that was run through the decoder
    reading: Int[Tensor, "batch width written"]  # pool entries in reading order, START first
    history: History
    scores: Float[Tensor, "batch width"]  # log p(y, z | x) so far; -inf: no hypothesis
    lengths: Int[Tensor, "batch width"]  # steps taken, END counted
    closed: Bool[Tensor, "batch width"]
    constraints: Constraints
    chances: Float[Tensor, "batch steps 2"] | None = None  # in [0, 1): for each step's word, slot

    @staticmethod
    def start(
        stepper: Stepper,
        source: SourceStates,
        width: int,
        constraints: Constraints,
        chances: Float[Tensor, "batch steps 2"] | None = None,
    ) -> "SearchState":
        """Return one empty hypothesis per example, and `width - 1` that do not exist yet."""
        cache, states, reading = stepper.start(source, width)
        batch, device = source.mask.shape[0], source.mask.device
        scores = torch.full((batch, width), -torch.inf, device=device)
        scores[:, 0] = 0.0
        none = torch.zeros(batch, width, 0, device=device)
        return SearchState(
            cache,
            states,
            reading,
            History(none.long(), none.long(), none, none),
            scores,
            lengths=torch.zeros(batch, width, dtype=torch.long, device=device),
            closed=torch.zeros(batch, width, dtype=torch.bool, device=device),
            constraints=constraints,
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
                    (choice.words, choice.slots, choice.token_scores, choice.slot_scores),
                    strict=True,
                )
            )
        )
        gain = (choice.token_scores + choice.slot_scores).masked_fill(was_closed, 0.0)
        return SearchState(
            self.cache,
            self.states,
            insert_entries(reading, choice.slots + 1, self.cache.used),
            history,
            self.scores.gather(1, parents) + gain,
            self.lengths.gather(1, parents) + (~was_closed).long(),
            was_closed | (choice.words == END),
            self.constraints.advance(parents, choice.words, choice.slots),
            self.chances,
        )

    def write(self, stepper: Stepper) -> "SearchState":
        """Return the state with the last step's tokens run; the cache is extended in place."""
        words, slots = self.history.words[..., -1], self.history.slots[..., -1]
        states = stepper.write(self.cache, words, self.reading, slots + 1)
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
            constraints=self.constraints.select(rows),
            chances=None if self.chances is None else self.chances[rows],
            **tensors,
        )
