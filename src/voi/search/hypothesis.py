"""A written target: what it says, and in which order it came to say it."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from voi.analysis import Trace, steps_of


@dataclass(frozen=True)
class Hypothesis:
    """One generated target. `order[t] = i`: step t wrote final position i.

    >>> found = Hypothesis("a b", ("a", "b"), order=(1, 0), slots=(0, 0), score=-1.0)
    >>> [" ".join(tokens) for tokens, _ in found.steps()]
    ['b', 'a b']
    """

    text: str
    tokens: tuple[str, ...]  # in reading order
    order: tuple[int, ...]
    slots: tuple[int, ...]  # slots[t]: how many written tokens stood left of step t's token
    score: float  # log p(y, z | x) in nats; of all merged orders where they were merged
    token_scores: tuple[float, ...] = ()  # log p of each step's token; END's is the last
    slot_scores: tuple[float, ...] = ()  # log p of each step's slot

    def __str__(self) -> str:
        return self.text

    def steps(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the partial sentence after every step and the index of its new token."""
        return steps_of(self.tokens, self.order)

    def to_trace(self, source: str | None = None, reference: str | None = None) -> Trace:
        """Return the record of how this target was written (docs/orders.md, "Trace files")."""
        return Trace(
            target=self.text,
            tokens=self.tokens,
            order=self.order,
            slots=self.slots,
            kind="generated",
            source=source,
            score=self.score,
            token_scores=self.token_scores or None,
            slot_scores=self.slot_scores if self.token_scores else None,
            reference=reference,
        )


def merged(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Return one hypothesis per text, the best of its orders, with all their probability."""
    by_text: dict[str, list[Hypothesis]] = {}
    for hypothesis in hypotheses:
        by_text.setdefault(hypothesis.text, []).append(hypothesis)
    found = [_merge(group) for group in by_text.values()]
    return sorted(found, key=lambda h: -h.score)


def _merge(group: Sequence[Hypothesis]) -> Hypothesis:
    best = max(group, key=lambda h: h.score)
    total = torch.tensor([h.score for h in group], dtype=torch.float64).logsumexp(0)
    return dataclasses.replace(best, score=total.item())
