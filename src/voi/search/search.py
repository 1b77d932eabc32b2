"""Search: an encoded source -> hypotheses, step by step, until none that is open can win."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import neg

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from voi.decoder import InsertionDecoder, SourceStates
from voi.decoder.cache import Stepper
from voi.errors import DataError
from voi.search.choose import BestPairs, ByChance, Chooser, penalized
from voi.search.rule_state import RuleState
from voi.search.rules import Rules
from voi.search.state import SearchState


@dataclass(frozen=True)
class Sampling:
    """Settings of generation by chance.

    >>> Sampling(num_samples=4, top_p=0.9)
    Sampling(num_samples=4, temperature=1.0, top_p=0.9, seed=0)
    """

    num_samples: int = 1
    temperature: float = 1.0
    top_p: float = 1.0  # nucleus, of tokens and of slots
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (self.num_samples, self.seed)
        is_right = all(isinstance(count, Integral) for count in counts)
        is_right = is_right and self.num_samples >= 1 and self.seed >= 0
        is_right = is_right and 1e-3 <= self.temperature <= 1e3 and 1e-6 <= self.top_p <= 1
        if not is_right:
            raise ValueError(
                f"sampling needs whole num_samples >= 1 and seed >= 0, temperature from 0.001 to "
                f"1000 and top_p from 1e-6 to 1, got {self}"
            )

    def chances(self, numbers: Iterable[int], max_length: int) -> Float[Tensor, "rows steps 2"]:
        """Return the random numbers of all samples of some examples, in [0, 1)."""
        shape = (self.num_samples, max_length + 1, 2)
        drawn = [np.random.default_rng([self.seed, number]).random(shape) for number in numbers]
        return torch.from_numpy(np.concatenate(drawn))


@dataclass(frozen=True)
class Found:
    """A finished hypothesis in ids."""

    tokens: tuple[int, ...]  # in generation order
    slots: tuple[int, ...]
    token_scores: tuple[float, ...]  # END's is the last
    slot_scores: tuple[float, ...]
    score: float


@torch.inference_mode()
def search(
    decoder: InsertionDecoder | Stepper,
    source: SourceStates,
    *,
    beam: int = 1,
    nbest: int = 1,
    length_penalty: float = 0.0,
    max_length: int = 256,
    sampling: Sampling | None = None,
    rules: Sequence[Rules] | None = None,
    first: int = 0,
) -> list[list[Found]]:
    """Return the hypotheses of each example, best first.

    Beam search over (token, slot) pairs scored jointly; beam 1 is greedy. What is finished takes a
    place of the beam as long as it is among the best, and is not lost where it no longer is. With
    `sampling` they are drawn instead, and come in the order drawn. Every hypothesis ends with END,
    which `max_length` enforces, and its score is log p(y, z | x) of the model. A `Stepper` of the
    decoder serves many searches, as long as the weights stay the same.

    Draws depend on the seed and on an example's number, counted from `first`, and not on what else
    is in the batch.
    """
    num_examples, device = source.mask.shape[0], source.mask.device
    rules = [Rules()] * num_examples if rules is None else rules
    _check_counts(nbest, 1 if sampling else beam, len(rules), num_examples)
    if not num_examples:
        return []
    copies = sampling.num_samples if sampling else 1  # each drawn on its own, as one more example
    batch, beam = num_examples * copies, 1 if sampling else beam
    rows = torch.arange(batch, device=device)  # the examples that `state` holds
    all_rules = [rule for rule in rules for _ in range(copies)]
    rule_state = RuleState.start(all_rules, beam, max_length, device)
    stepper = decoder if isinstance(decoder, Stepper) else Stepper(decoder)
    if stepper.slots is None and any(rule.fills_before_given for rule in all_rules):
        raise DataError(
            'a decoder with decoder.head = "sequential" writes left to right: it fills no gap '
            "before words that are given; give a text that ends in a gap, or another run"
        )
    numbers = range(first, first + num_examples)
    chances = sampling.chances(numbers, max_length).to(device) if sampling else None
    state = SearchState.start(stepper, source.select(rows // copies), beam, rule_state, chances)
    choose: Chooser = BestPairs(length_penalty)
    if sampling:
        choose = ByChance(sampling.temperature, sampling.top_p)
    finished = Finished(batch, nbest, length_penalty)
    num_open = batch
    while num_open:
        state = state.advance(choose(stepper, state))
        done = finished.take(state, rows)
        num_open = int((~done).sum())
        if 2 * num_open < len(rows):  # more than half are done: go on without them
            keep = (~done).nonzero().flatten()
            state, rows = state.select(keep), rows[keep]
        if len(rows):
            state = state.write(stepper)
    grouped = [range(i * copies, (i + 1) * copies) for i in range(num_examples)]
    return [[one for row in group for one in finished.best[row]] for group in grouped]


def _check_counts(nbest: int, width: int, num_rules: int, num_examples: int) -> None:
    """Raise where an example cannot have so many hypotheses, or has no rules of its own."""
    if not 1 <= nbest <= width:
        raise ValueError(
            f"nbest must be at least 1 and at most {width} (the beam, or 1 where samples are "
            f"drawn), got {nbest}"
        )
    if num_rules != num_examples:
        raise ValueError(f"expected Rules of each of {num_examples} examples, got {num_rules}")


class Finished:
    """The best hypotheses of each example that are finished, whether or not the beam has them."""

    def __init__(self, num_examples: int, nbest: int, penalty: float):
        self.nbest, self.penalty = nbest, penalty
        self.best: list[list[Found]] = [[] for _ in range(num_examples)]
        self._values: list[list[float]] = [[] for _ in range(num_examples)]  # scores, penalized

    def take(self, state: SearchState, rows: Int[Tensor, " batch"]) -> Bool[Tensor, " batch"]:
        """Add what a step finished; return for which examples no open hypothesis can enter.

        Scores only fall, so an open hypothesis is worth at most its score at the longest length, or
        at the next where long targets are punished (a negative penalty).
        """
        values = penalized(state.scores, state.lengths, self.penalty)
        worst = self._worst(rows, values)
        is_new = state.closed & (state.lengths == state.history.tokens.shape[-1])
        is_new &= values > worst.unsqueeze(-1)
        for i, place in is_new.nonzero().tolist():
            self._add(int(rows[i]), values[i, place].item(), _found(state, i, place))
        at = state.rules.max_length + 1 if self.penalty >= 0 else state.lengths + 1
        hope = penalized(state.scores, at, self.penalty)
        hope = hope.masked_fill(state.closed, -torch.inf).amax(1)
        return hope <= self._worst(rows, values)

    def _worst(self, rows: Int[Tensor, " batch"], like: Tensor) -> Float[Tensor, " batch"]:
        """Return what a hypothesis must exceed to be among the best, in its kind of numbers."""
        of_rows = [self._values[row] for row in rows.tolist()]
        nth = [values[-1] if len(values) == self.nbest else -math.inf for values in of_rows]
        return like.new_tensor(nth)

    def _add(self, row: int, value: float, found: Found) -> None:
        place = bisect_right(self._values[row], -value, key=neg)
        self._values[row].insert(place, value)
        self.best[row].insert(place, found)
        del self._values[row][self.nbest :], self.best[row][self.nbest :]


def _found(state: SearchState, row: int, i: int) -> Found:
    steps = int(state.lengths[row, i])  # END counted
    history = {name: x[row, i].tolist() for name, x in vars(state.history).items()}
    return Found(
        tokens=tuple(history["tokens"][: steps - 1]),
        slots=tuple(history["slots"][: steps - 1]),
        token_scores=tuple(history["token_scores"][:steps]),
        slot_scores=tuple(history["slot_scores"][: steps - 1]),
        score=float(state.scores[row, i]),
    )


def ids_in_reading_order(found: Found) -> list[int]:
    """Return a hypothesis' tokens as they are read."""
    written: list[int] = []
    for token, slot in zip(found.tokens, found.slots, strict=True):
        written.insert(slot, token)
    return written
