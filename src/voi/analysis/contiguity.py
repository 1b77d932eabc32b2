"""How often an order goes on where it left off: the next token beside the one just written."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from voi.analysis.bootstrap import bootstrap_ratio
from voi.analysis.distances import Orders, as_integers, generation_ranks
from voi.analysis.slots import slots_of
from voi.analysis.traces import Trace


@dataclass(frozen=True)
class Contiguity:
    """Shares of the steps after the first, and what a uniformly random order would give."""

    num_steps: int  # n - 1
    final: float  # beside the previous token in the finished text
    written: float  # beside the previous token among the tokens written so far
    final_chance: float
    written_chance: float


@dataclass(frozen=True)
class ContiguitySummary:
    """One kind of contiguity over all steps of all examples, with its bootstrap interval."""

    neighbour: str  # "final" or "written"
    num: int  # examples with at least two tokens; the interval resamples these
    mean: float
    low: float
    high: float
    chance: float  # expected of uniformly random orders of the same lengths


def contiguity(order: Orders) -> Contiguity:
    """Return how often `order [n]`, n >= 2, writes beside the token it has just written.

    final   = #{ t >= 1 : |order[t] - order[t-1]| = 1 } / (n - 1)
    written = #{ t >= 1 : slot[t] - slot[t-1] in {0, 1} } / (n - 1)   (docs/orders.md, "Contiguity")

    Neighbours in the finished text are neighbours when written, so final <= written.

    >>> found = contiguity([0, 2, 1, 3, 4])       # 2 stands beside 0 until 1 comes between them
    >>> found.final, found.written
    (0.5, 0.75)
    """
    array = as_integers(order, "order").astype(np.int64)  # signed, to subtract
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(
            f"order must list at least two positions, [n], got shape {list(array.shape)}: "
            "contiguity is about the steps after the first"
        )
    generation_ranks(array)  # for its check
    n = len(array)
    moves = np.diff(np.array(slots_of(array.tolist())))
    return Contiguity(
        num_steps=n - 1,
        final=float((np.abs(np.diff(array)) == 1).mean()),
        written=float(((moves == 0) | (moves == 1)).mean()),
        final_chance=2 / n,
        written_chance=float((2 / np.arange(2, n + 1)).mean()),
    )


def contiguity_summaries(
    traces: Sequence[Trace], *, rng: np.random.Generator, num_resamples: int = 1000
) -> list[ContiguitySummary]:
    """Return both kinds of contiguity over all steps of the targets with at least two tokens."""
    found = [contiguity(trace.order) for trace in traces if len(trace.order) >= 2]
    steps = np.array([one.num_steps for one in found], dtype=np.float64)
    rows = []
    for kind in ("final", "written") if found else ():
        share = np.array([getattr(one, kind) for one in found])
        chance = np.array([getattr(one, f"{kind}_chance") for one in found])
        interval = bootstrap_ratio(share * steps, steps, rng=rng, num_resamples=num_resamples)
        expected = float((chance * steps).sum() / steps.sum())
        rows.append(ContiguitySummary(neighbour=kind, chance=expected, **asdict(interval)))
    return rows
