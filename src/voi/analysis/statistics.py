"""Which fixed order the written orders look like: per example, on average, and by length."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from voi.analysis.bootstrap import bootstrap_mean
from voi.analysis.distances import (
    compared,
    kendall_tau,
    normalized_levenshtein,
    order_rank_correlation,
    padded,
)
from voi.analysis.reference import common_order, l2r_order, r2l_order, rare_order, tree_order
from voi.analysis.slots import slots_of
from voi.analysis.traces import Trace

ValidOrders: TypeAlias = list[
    list[Sequence[int]]
]  # for each example the orders that count as right

METRICS = ("nld", "orc", "orc_squared", "tau")


@dataclass(frozen=True)
class Comparison:
    """One example against one reference order, and left to right against the same reference."""

    example: int  # index of the trace
    length: int
    reference: str  # "l2r", "r2l", "tree", "common", "rare" or "known"
    nld: float
    orc: float
    orc_squared: float  # of the value beside it
    tau: float
    l2r_nld: float
    l2r_orc: float
    l2r_orc_squared: float
    l2r_tau: float


@dataclass(frozen=True)
class Summary:
    """The mean of one metric against one reference, with its bootstrap interval."""

    reference: str
    metric: str  # "nld", "orc", "orc_squared" or "tau"
    length: int | None  # None: all lengths
    num: int  # examples
    mean: float
    low: float
    high: float
    l2r: float  # the mean of left to right on the same examples


def comparisons(
    traces: Sequence[Trace],
    *,
    counts: Mapping[str, int] | None = None,
    compare: Literal["orders", "ranks"] = "orders",
) -> list[Comparison]:
    """Return one row for each reference and example, grouped by reference.

    The references are `l2r`, `r2l` and `tree`; with token frequencies in `counts` also `common` and
    `rare`; and `known` for the traces that have `known_orders`, of which the closest counts, for
    each metric by itself. `compare="ranks"` compares the inverse permutations, as the authors'
    program does (docs/orders.md, "Orders or ranks").
    """
    rows: list[Comparison] = []
    for name, valid_orders in reference_orders(traces, counts).items():
        rows += _compared(traces, name, valid_orders, compare)
    return rows


def sampled_comparisons(
    traces: Sequence[Trace],
    *,
    counts: Mapping[str, int] | None = None,
    compare: Literal["orders", "ranks"] = "orders",
) -> list[Comparison]:
    """Return the same rows for the sampled orders of the traces that have some.

    Every value is the mean over the samples of the example, so that an interval over rows resamples
    examples and not samples.
    """
    drawn = [
        (i, replace(trace, order=sample, slots=slots_of(sample)))
        for i, trace in enumerate(traces)
        for sample in trace.samples or ()
    ]
    groups: dict[tuple[str, int], list[Comparison]] = defaultdict(list)
    for row in comparisons([trace for _, trace in drawn], counts=counts, compare=compare):
        groups[row.reference, drawn[row.example][0]].append(row)
    return [_mean_row(example, rows) for (_, example), rows in groups.items()]


def _mean_row(example: int, rows: Sequence[Comparison]) -> Comparison:
    """Return the mean of the rows of one example's samples."""
    names = [*METRICS, *(f"l2r_{metric}" for metric in METRICS)]
    means: dict[str, Any] = {
        name: float(np.mean([getattr(row, name) for row in rows])) for name in names
    }
    return replace(rows[0], example=example, **means)


def reference_orders(
    traces: Sequence[Trace], counts: Mapping[str, int] | None = None
) -> dict[str, ValidOrders]:
    """Return for each reference the orders of each example that count as right; some have none."""
    tokens = [trace.tokens for trace in traces]
    references: dict[str, ValidOrders] = {
        "l2r": [[l2r_order(words)] for words in tokens],
        "r2l": [[r2l_order(words)] for words in tokens],
        "tree": [[tree_order(words)] for words in tokens],
    }
    if counts is not None:
        references["common"] = [[common_order(words, counts)] for words in tokens]
        references["rare"] = [[rare_order(words, counts)] for words in tokens]
    references["known"] = [list(trace.known_orders or ()) for trace in traces]
    return references


def summaries(
    rows: Iterable[Comparison], *, rng: np.random.Generator, num_resamples: int = 1000
) -> list[Summary]:
    """Return the mean and 95 % interval of each metric against each reference."""
    return [
        _summary(name, metric, None, group, rng, num_resamples)
        for name, group in _by_reference(rows).items()
        for metric in METRICS
    ]


def summaries_by_length(
    rows: Iterable[Comparison], *, rng: np.random.Generator, num_resamples: int = 1000
) -> list[Summary]:
    """Return the same for the examples of each length, shortest first."""
    found = []
    for name, group in _by_reference(rows).items():
        by_length: dict[int, list[Comparison]] = defaultdict(list)
        for row in group:
            by_length[row.length].append(row)
        found += [
            _summary(name, metric, length, by_length[length], rng, num_resamples)
            for metric in METRICS
            for length in sorted(by_length)
        ]
    return found


def to_rows(records: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the rows of any table of this package as plain dicts, ready for CSV or JSON."""
    return [asdict(record) for record in records]


def _compared(
    traces: Sequence[Trace], name: str, valid_orders: ValidOrders, compare: str
) -> list[Comparison]:
    """Return the rows of one reference; all pairs of example and valid order are scored at once."""
    examples = [i for i, orders in enumerate(valid_orders) if orders]
    if not examples:
        return []
    sizes = np.array([len(valid_orders[i]) for i in examples])
    valid = padded([order for i in examples for order in valid_orders[i]])  # [pairs, n]
    written = padded([traces[i].order for i in examples]).orders.repeat(sizes, axis=0)
    left_to_right = np.arange(written.shape[1])
    right, written = compared(valid.orders, compare), compared(written, compare)
    starts = np.cumsum(sizes) - sizes
    scores = _closest(written, right, valid.lengths, starts)
    l2r = _closest(left_to_right, right, valid.lengths, starts)
    return [
        Comparison(
            example=i,
            length=len(traces[i].tokens),
            reference=name,
            **{metric: float(scores[metric][row]) for metric in METRICS},
            **{f"l2r_{metric}": float(l2r[metric][row]) for metric in METRICS},
        )
        for row, i in enumerate(examples)
    ]


def _closest(
    written: Int[np.ndarray, "*pairs n"],
    right: Int[np.ndarray, "pairs n"],
    lengths: Int[np.ndarray, " pairs"],
    starts: Int[np.ndarray, " examples"],
) -> dict[str, Float[np.ndarray, " examples"]]:
    """Return each metric's best value of every example, whose pairs begin at `starts`."""
    nld = np.asarray(normalized_levenshtein(written, right, lengths))
    tau = np.asarray(kendall_tau(written, right, lengths))
    all_orc = np.asarray(order_rank_correlation(written, right, lengths))
    orc = np.maximum.reduceat(all_orc, starts)
    return {
        "nld": np.minimum.reduceat(nld, starts),
        "orc": orc,
        "orc_squared": orc**2,
        "tau": np.maximum.reduceat(tau, starts),
    }


def _by_reference(rows: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    groups: dict[str, list[Comparison]] = defaultdict(list)
    for row in rows:
        groups[row.reference].append(row)
    return groups


def _summary(
    reference: str,
    metric: str,
    length: int | None,
    rows: Sequence[Comparison],
    rng: np.random.Generator,
    num_resamples: int,
) -> Summary:
    interval = bootstrap_mean(
        [getattr(row, metric) for row in rows], rng=rng, num_resamples=num_resamples
    )
    l2r = float(np.mean([getattr(row, f"l2r_{metric}") for row in rows]))
    return Summary(reference=reference, metric=metric, length=length, l2r=l2r, **asdict(interval))
