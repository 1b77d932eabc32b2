"""Is one system better than another? The paired bootstrap over examples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from voi.errors import ConfigError, DataError
from voi.metrics.corpus import CORPUS_METRICS, CorpusMetric, segment_statistics, value_of
from voi.metrics.registry import scores_of
from voi.metrics.score import Score, check_inputs
from voi.resampling import resampled_sums


@dataclass(frozen=True)
class Bootstrap:
    """How to resample: each resample draws as many examples as there are, with replacement."""

    num_resamples: int = 1000
    seed: int = 12345  # sacrebleu's default: the same seed draws the same examples
    confidence: float = 0.95  # of the interval

    def __post_init__(self) -> None:
        if self.num_resamples < 1 or not 0.0 < self.confidence < 1.0:
            raise ConfigError(
                "a bootstrap needs at least one resample and a confidence between 0 and 1, got "
                f"{self.num_resamples} and {self.confidence}"
            )

    def sums(
        self, values: Float64[np.ndarray, "columns examples"]
    ) -> Float64[np.ndarray, "columns resamples"]:
        """Return the sums of every resample; all calls draw the same examples."""
        return resampled_sums(values, np.random.default_rng(self.seed), self.num_resamples)


@dataclass(frozen=True)
class Comparison:
    """How far a system lies from a baseline on the same examples, on the metric's scale."""

    name: str
    baseline: float
    system: float
    difference: float  # system - baseline
    low: float  # percentile interval of the difference over the resamples
    high: float
    p_value: float  # two-sided, see `p_value`
    num_resamples: int
    method: str
    sacrebleu_p_value: float | None = None  # what sacrebleu prints; see `sacrebleu_p_value`


def compare(
    name: str,
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[Sequence[str]],
    bootstrap: Bootstrap = Bootstrap(),
) -> Comparison:
    """Return the paired bootstrap of one metric, given by its name in METRICS.

    Metrics of sacrebleu resample its statistics of each sentence and compare corpus values; the
    others resample values per example and compare means (see `compare_scores`).
    """
    check_inputs(baseline, references)
    check_inputs(system, references)
    if name in CORPUS_METRICS:
        return _compare_corpus(CORPUS_METRICS[name], baseline, system, references, bootstrap)
    scores = scores_of(name, baseline, references)
    if len(scores) > 1:
        kinds = ", ".join(score.name for score in scores)
        raise ConfigError(f"{name!r} is several scores: compare one of {kinds}")
    return compare_scores(scores[0], scores_of(name, system, references)[0], bootstrap)


def compare_scores(
    baseline: Score,
    system: Score,
    bootstrap: Bootstrap = Bootstrap(),
) -> Comparison:
    """Return the paired bootstrap of the mean of per-example values.

    This mean is the score itself for exact match, ROUGE and CIDEr. For METEOR and the BLEUs it is
    the mean over sentences, another number than the corpus value.
    """
    first, second = _examples(baseline), _examples(system)
    if baseline.name != system.name or len(first) != len(second):
        raise ValueError(
            "only the same metric on the same examples can be compared, got "
            f"{baseline.name} on {len(first)} and {system.name} on {len(second)} examples"
        )
    differences = bootstrap.sums((second - first)[None])[0] / len(first)  # [resamples]
    values = float(first.mean()), float(second.mean())
    method = f"paired bootstrap of the mean of per-example values|seed:{bootstrap.seed}"
    return comparison_of(baseline.name, values, differences, bootstrap, method)


def _compare_corpus(
    metric: CorpusMetric,
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[Sequence[str]],
    bootstrap: Bootstrap,
) -> Comparison:
    library = metric.build()
    values, resampled = [], []
    for hypotheses in (baseline, system):
        statistics = segment_statistics(library, hypotheses, references)  # [examples, counts]
        values.append(value_of(library, statistics.sum(axis=0)))
        sums = bootstrap.sums(statistics.T)  # [counts, resamples]
        resampled.append(np.array([value_of(library, row) for row in sums.T]))
    differences = resampled[1] - resampled[0]  # [resamples]
    method = f"paired bootstrap of corpus statistics|sacrebleu|seed:{bootstrap.seed}"
    method += f"|{library.get_signature()}"
    p = sacrebleu_p_value(values[1] - values[0], differences)
    return comparison_of(metric.name, (values[0], values[1]), differences, bootstrap, method, p)


def comparison_of(
    name: str,
    values: tuple[float, float],
    differences: Float64[np.ndarray, " resamples"],
    bootstrap: Bootstrap,
    method: str,
    sacrebleu_p: float | None = None,
) -> Comparison:
    """Return what the resampled differences say of two values, the baseline's and the system's."""
    tail = (1.0 - bootstrap.confidence) / 2.0
    low, high = np.quantile(differences, [tail, 1.0 - tail])
    difference = values[1] - values[0]
    return Comparison(
        name=name,
        baseline=values[0],
        system=values[1],
        difference=difference,
        low=float(low),
        high=float(high),
        p_value=p_value(difference, differences),
        num_resamples=bootstrap.num_resamples,
        method=method,
        sacrebleu_p_value=sacrebleu_p,
    )


def p_value(difference: float, differences: Float64[np.ndarray, " resamples"]) -> float:
    """Return the two-sided p-value of a difference d from its R resamples d_r.

    p = ( 1 + #{ r : |d_r - d| >= |d| } ) / ( 1 + R )

    The spread of the resamples around d stands for the spread around 0 if the systems were equal.
    Two systems with equal outputs have p = 1.

    >>> p_value(1.0, np.array([0.5, 0.0, 1.5, 2.5]))                  # the second and the last
    0.6
    """
    rounding = 1e-9  # a resample that ties with d may miss it by this much
    num_larger = int((np.abs(differences - difference) >= abs(difference) - rounding).sum())
    return (1 + num_larger) / (1 + len(differences))


def sacrebleu_p_value(difference: float, differences: Float64[np.ndarray, " resamples"]) -> float:
    """Return the p-value as sacrebleu's paired bootstrap computes it, after a script of Moses.

    p = ( 1 + #{ r : |d_r| - mean |d_r| > |d| } ) / ( 1 + R )

    It counts one tail: about half of the two-sided value for a clear difference, and 1 / (1 + R)
    for two equal systems. Take it to compare with published numbers only.
    """
    sizes = np.abs(differences)
    num_larger = int((sizes - sizes.mean() > abs(difference)).sum())
    return (1 + num_larger) / (1 + len(differences))


def _examples(score: Score) -> Float64[np.ndarray, " examples"]:
    if score.per_example is None:
        reason = score.skipped or "its metric gives only a corpus value"
        raise DataError(f"{score.name} has no per-example values to compare: {reason}")
    return np.array(score.per_example, dtype=np.float64)
