"""Whether the orders sampled for one target agree with each other."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from voi.analysis.bootstrap import bootstrap_mean
from voi.analysis.distances import Orders, as_integers, normalized_levenshtein
from voi.analysis.traces import Trace


@dataclass(frozen=True)
class Agreement:
    """How alike K sampled orders of one target are, over their K (K - 1) / 2 pairs."""

    num_samples: int
    nld: float  # mean normalised Levenshtein distance; 0: all the same
    identical: float  # share of pairs that are the same order


@dataclass(frozen=True)
class AgreementSummary:
    """One measure of agreement, averaged over targets, with its bootstrap interval."""

    measure: str  # "nld" or "identical"
    num: int  # targets with at least two samples
    mean: float
    low: float
    high: float


def agreement(samples: Orders) -> Agreement:
    """Return the agreement of `samples [K, n]`, K >= 2.

    >>> agreement([[0, 1, 2, 3], [3, 0, 1, 2]])
    Agreement(num_samples=2, nld=0.5, identical=0.0)
    """
    array = as_integers(samples, "samples")
    if array.ndim != 2 or len(array) < 2:
        raise ValueError(
            f"samples must be at least two orders, [K, n], got shape {list(array.shape)}: "
            "sample more orders of the target"
        )
    first, second = np.triu_indices(len(array), k=1)  # [pairs]
    distances = np.asarray(normalized_levenshtein(array[first], array[second]))
    return Agreement(len(array), float(distances.mean()), float((distances == 0).mean()))


def agreement_summaries(
    traces: Sequence[Trace], *, rng: np.random.Generator, num_resamples: int = 1000
) -> list[AgreementSummary]:
    """Return both measures over the traces that have at least two samples."""
    sampled = [trace.samples for trace in traces if trace.samples is not None]
    found = [agreement(samples) for samples in sampled if len(samples) >= 2]
    rows = []
    for measure in ("nld", "identical") if found else ():
        interval = bootstrap_mean(
            [getattr(one, measure) for one in found], rng=rng, num_resamples=num_resamples
        )
        rows.append(AgreementSummary(measure=measure, **asdict(interval)))
    return rows
