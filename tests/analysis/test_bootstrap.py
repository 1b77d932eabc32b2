"""Bootstrap intervals against scipy, enumeration of all resamples, and the normal law."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from chance import errors
from voi.analysis.bootstrap import bootstrap_mean, bootstrap_ratio


def rng(seed=0):
    return np.random.default_rng(seed)


def test_same_seed_same_interval():
    values = rng(3).normal(size=50)
    assert bootstrap_mean(values, rng=rng(1)) == bootstrap_mean(list(values), rng=rng(1))
    assert bootstrap_mean(values, rng=rng(1)) != bootstrap_mean(values, rng=rng(2))
    assert bootstrap_mean(torch.from_numpy(values), rng=rng(1)).num == 50


@pytest.mark.statistical
def test_interval_of_a_mean_has_the_width_of_its_standard_error():
    values = rng(5).normal(2.0, 3.0, size=2000)
    found = bootstrap_mean(values, rng=rng(), num_resamples=4000)
    assert found.mean == pytest.approx(values.mean())
    error = values.std() / np.sqrt(2000)
    # The standard error of a 2.5 % quantile from 4000 normal draws is 0.042 of their deviation.
    tolerance = errors(2) * 0.042 * error
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=tolerance)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=tolerance)


@pytest.mark.statistical
def test_mean_agrees_with_scipy():
    values = rng(6).exponential(size=300)
    ours = bootstrap_mean(values, rng=rng(), num_resamples=5000, confidence=0.9)
    theirs = stats.bootstrap(
        (values,), np.mean, confidence_level=0.9, n_resamples=5000, method="percentile", rng=rng(9)
    )
    # A 5 % quantile from 5000 draws has standard error 0.030 deviations; two of them: 0.042.
    tolerance = errors(2) * 0.042 * theirs.standard_error
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=tolerance)


@pytest.mark.statistical
def test_ratio_resamples_examples_whole():
    totals, counts = np.array([0.0, 3.0, 8.0]), np.array([1.0, 2.0, 4.0])
    ratios = [
        totals[list(draw)].sum() / counts[list(draw)].sum() for draw in product(range(3), repeat=3)
    ]
    found = bootstrap_ratio(totals, counts, rng=rng(), num_resamples=20000, confidence=0.6)
    assert found.mean == pytest.approx(11 / 7)
    # The quantiles are those of the enumeration: the shares of the 27 cases up to the values
    # beside them differ from 20 % and 80 % by 14 standard errors of 20000 draws and more.
    assert (found.low, found.high) == pytest.approx(
        np.quantile(ratios, [0.2, 0.8], method="inverted_cdf")
    )


@pytest.mark.parametrize("num", range(2, 60))
def test_equal_examples_have_no_interval(num):
    """Whatever is drawn, the ratio is that of one example, to the last digit."""
    for places, n in (((1, 3), 7), ((0, 2, 5), 6), ((1, 2, 4), 9), ((1, 2, 4, 8), 11)):
        total = sum(place / n for place in places)
        found = bootstrap_ratio([total] * num, [len(places)] * num, rng=rng(), num_resamples=20)
        assert found.low == found.mean == found.high == pytest.approx(total / len(places))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_mean([], rng=rng()), "at least one number"),
        (lambda: bootstrap_mean([float("nan")], rng=rng()), "must be finite"),
        (lambda: bootstrap_mean([1.0], rng=rng(), num_resamples=0), "num_resamples"),
        (lambda: bootstrap_mean([1.0], rng=rng(), confidence=95.0), "confidence"),
        (lambda: bootstrap_ratio([1.0], [1.0, 2.0], rng=rng()), "pair up, got 1 and 2"),
        (lambda: bootstrap_ratio([1.0], [0.0], rng=rng()), "counts must be positive"),
    ],
)
def test_wrong_input_is_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
