"""Intervals of means, by the percentile bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Shaped
from torch import Tensor

from voi.resampling import resampled_sums

Values: TypeAlias = (
    Sequence[float] | Sequence[int] | Shaped[np.ndarray, " _"] | Shaped[Tensor, " _"]
)


@dataclass(frozen=True)
class Interval:
    """A mean and its bootstrap interval, in the unit of the values."""

    mean: float
    low: float
    high: float
    num: int  # resampled units: examples


def bootstrap_mean(
    values: Values,
    *,
    rng: np.random.Generator,
    num_resamples: int = 1000,
    confidence: float = 0.95,
) -> Interval:
    """Return the mean of `values [num]` with its percentile bootstrap interval.

    >>> bootstrap_mean([0.5, 0.5, 0.5], rng=np.random.default_rng(0))
    Interval(mean=0.5, low=0.5, high=0.5, num=3)
    """
    array = _as_floats(values, "values")
    ones = np.ones_like(array)
    return bootstrap_ratio(array, ones, rng=rng, num_resamples=num_resamples, confidence=confidence)


def bootstrap_ratio(
    totals: Values,
    counts: Values,
    *,
    rng: np.random.Generator,
    num_resamples: int = 1000,
    confidence: float = 0.95,
) -> Interval:
    """Return sum(totals) / sum(counts) with its interval, resampling examples, not their parts.

    `totals [num]` and `counts [num]` hold one sum and one number of parts per example. The parts of
    one example (the tokens of a sentence) hang together, so they are drawn together.

    >>> bootstrap_ratio([1.0, 2.0], [2, 4], rng=np.random.default_rng(0)).mean
    0.5
    """
    total, count = _as_floats(totals, "totals"), _as_floats(counts, "counts")
    _check_pairs(total, count, "totals", "counts")
    if (count <= 0).any():
        raise ValueError(
            f"counts must be positive, got {count.min()}: leave out examples without parts"
        )
    if num_resamples < 1:
        raise ValueError(f"num_resamples must be at least 1, got {num_resamples}: 1000 is usual")
    totals_r, counts_r = resampled_sums(np.stack([total, count]), rng, num_resamples)
    low, high = _percentiles(totals_r / counts_r, confidence)
    return Interval(float(total.sum() / count.sum()), low, high, len(total))


def _percentiles(values: Float[np.ndarray, " resamples"], confidence: float) -> tuple[float, float]:
    """Return the two ends of the central interval that holds `confidence` of the values."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}: 0.95 is usual")
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _as_floats(values: Values, name: str) -> Float[np.ndarray, " num"]:
    """Return lists, arrays or tensors of finite numbers as an array."""
    raw = values.detach().cpu() if isinstance(values, Tensor) else values
    array = np.asarray(raw, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name} must be a list of at least one number, got shape {list(array.shape)}: "
            "a mean over no examples has no interval"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got nan or inf: leave such examples out")
    return array


def _check_pairs(
    a: Float[np.ndarray, " _"], b: Float[np.ndarray, " _"], first: str, second: str
) -> None:
    """Raise a ValueError when two lists do not pair up."""
    if len(a) != len(b):
        raise ValueError(
            f"{first} and {second} must pair up, got {len(a)} and {len(b)} numbers: "
            "give one of each per example, in the same order"
        )
