"""How far the orders of two models are apart, on targets with the same tokens in both."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from voi.analysis.bootstrap import bootstrap_mean
from voi.analysis.distances import (
    compared,
    kendall_tau,
    normalized_levenshtein,
    order_rank_correlation,
    padded,
)
from voi.analysis.traces import Trace


@dataclass(frozen=True)
class Between:
    """The mean of one metric between the orders of two lists of traces, with its interval."""

    metric: str  # "nld", "orc" or "tau"
    num: int  # examples with the same tokens in both lists
    mean: float
    low: float
    high: float


def between_summaries(
    first: Sequence[Trace],
    second: Sequence[Trace],
    *,
    rng: np.random.Generator,
    compare: Literal["orders", "ranks"] = "orders",
    num_resamples: int = 1000,
) -> list[Between]:
    """Return the three metrics between two lists of traces of the same examples.

    Orders of different targets cannot be compared: only the examples count whose tokens are the
    same in both lists. Where there are none, nothing is returned.
    """
    if len(first) != len(second):
        raise ValueError(
            f"expected as many traces in both lists, got {len(first)} and {len(second)}: "
            "give the traces of the same examples"
        )
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.tokens == b.tokens]
    if not pairs:
        return []
    w, z = padded([a.order for a, _ in pairs]), padded([b.order for _, b in pairs])
    one, other = compared(w.orders, compare), compared(z.orders, compare)
    scores = {
        "nld": normalized_levenshtein(one, other, w.lengths),
        "orc": order_rank_correlation(one, other, w.lengths),
        "tau": kendall_tau(one, other, w.lengths),
    }
    rows = []
    for metric, values in scores.items():
        interval = bootstrap_mean(np.asarray(values), rng=rng, num_resamples=num_resamples)
        rows.append(Between(metric=metric, **asdict(interval)))
    return rows
