import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from scipy import stats

from chance import errors
from voi.errors import ConfigError, DataError
from voi.metrics import Bootstrap, Score, compare, compare_scores, exact_match
from voi.metrics.compare import p_value

WORDS = ["the", "a", "dog", "cat", "man", "bus", "runs", "sits", "on", "red", "big", "of", "house"]


def corrupted(lines: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Return the lines with a share of their words replaced."""
    return [
        " ".join(str(rng.choice(WORDS)) if rng.random() < rate else word for word in line.split())
        for line in lines
    ]


@pytest.fixture(scope="module")
def systems() -> tuple[list[str], list[str], list[list[str]]]:
    """A baseline, a slightly better system and two references each, of 60 examples."""
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(WORDS, size=rng.integers(4, 12))) for _ in range(60)]
    references = [[line, other] for line, other in zip(lines, lines[1:] + lines[:1], strict=True)]
    return corrupted(lines, 0.35, rng), corrupted(lines, 0.30, rng), references


def example_scores(values: list[float]) -> Score:
    return Score("m", sum(values) / len(values), "s", len(values), tuple(values))


@pytest.mark.parametrize(("name", "metric"), [("bleu", BLEU), ("chrf", CHRF), ("ter", TER)])
def test_equals_sacrebleu(monkeypatch, systems, name, metric):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    baseline, system, references = systems
    streams = [list(stream) for stream in zip(*references, strict=True)]
    paired = PairedTest(
        [("baseline", baseline), ("system", system)],
        {"metric": metric()},
        references=streams,
        test_type="bs",
        n_samples=300,
    )
    [results] = [rows for key, rows in paired()[1].items() if key != "System"]
    first, second = results
    result = compare(name, baseline, system, references, Bootstrap(num_resamples=300))
    assert (result.baseline, result.system) == pytest.approx((first.score, second.score))
    assert result.difference == pytest.approx(second.score - first.score)
    assert result.sacrebleu_p_value == pytest.approx(second.p_value)
    assert 0.01 < second.p_value < 0.5  # neither certain nor hopeless, so the count is tested
    assert result.low < result.difference < result.high
    assert result.num_resamples == 300
    assert "seed:12345" in result.method


@pytest.mark.parametrize("name", ["bleu", "ter", "rougeL", "exact_match"])
def test_equal_systems(systems, name):
    baseline, _, references = systems
    result = compare(name, baseline, list(baseline), references, Bootstrap(num_resamples=50))
    assert (result.difference, result.low, result.high, result.p_value) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.statistical
def test_mean_against_enumeration():
    """Three examples, one of them better by 100: the number of its copies is binomial(3, 1/3).

    d = 100/3, and |d_r - d| >= d unless it is drawn exactly once (12 of 27 resamples).
    """
    num_resamples = 20_000
    result = compare_scores(
        example_scores([0.0, 0.0, 0.0]),
        example_scores([0.0, 100.0, 0.0]),
        Bootstrap(num_resamples, seed=1),
    )
    standard_error = np.sqrt(15 / 27 * 12 / 27 / num_resamples)
    assert result.difference == pytest.approx(100 / 3)
    assert result.p_value == pytest.approx(15 / 27, abs=errors() * standard_error)
    assert (result.low, result.high) == pytest.approx((0.0, 100.0))  # masses 8/27 and 1/27


def test_tie_counts_despite_rounding():
    """0.6 lies as far from 0.3 as 0.3 from 0, but not in floating point."""
    difference = 0.1 + 0.2
    assert 0.6 - difference < difference
    assert p_value(difference, np.array([0.6])) == 1.0


@pytest.mark.statistical
def test_interval_against_scipy():
    rng = np.random.default_rng(3)
    first, second = rng.normal(50, 10, size=(2, 80))
    result = compare_scores(
        example_scores(first.tolist()), example_scores(second.tolist()), Bootstrap(20_000)
    )
    differences = (second - first,)
    expected = stats.bootstrap(
        differences, np.mean, n_resamples=20_000, method="percentile", rng=rng
    )
    interval = expected.confidence_interval
    # a 2.5 % quantile of a normal law has standard error 2.67 sigma / sqrt(R), twice here
    tolerance = errors(2) * np.sqrt(2) * 2.67 * expected.standard_error / np.sqrt(20_000)
    assert (result.low, result.high) == pytest.approx((interval.low, interval.high), abs=tolerance)


@pytest.mark.statistical
def test_level_of_the_test():
    """Without a true difference, p <= 0.05 happens in 5 % of 2000 trials, within 4 std. errors."""
    trials = np.random.default_rng(0).normal(size=(2000, 200))
    resampled = Bootstrap(500).sums(trials) / 200  # [trials, resamples]
    values = [p_value(float(d.mean()), r) for d, r in zip(trials, resampled, strict=True)]
    standard_error = np.sqrt(0.05 * 0.95 / 2000)
    assert np.mean(np.array(values) <= 0.05) == pytest.approx(0.05, abs=errors() * standard_error)


def test_swapping_systems_changes_the_sign(systems):
    baseline, system, references = systems
    there = compare("bleu", baseline, system, references, Bootstrap(100))
    back = compare("bleu", system, baseline, references, Bootstrap(100))
    assert there.difference == -back.difference
    assert there.p_value == back.p_value
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_by_name_equals_by_scores(systems):
    baseline, system, references = systems
    by_name = compare("exact_match", baseline, system, references)
    by_scores = compare_scores(exact_match(baseline, references), exact_match(system, references))
    assert by_name == by_scores
    assert by_name.sacrebleu_p_value is None


def test_seed_decides():
    values = np.random.default_rng(0).normal(size=(1, 9))
    assert (Bootstrap(5, seed=1).sums(values) == Bootstrap(5, seed=1).sums(values)).all()
    assert (Bootstrap(5, seed=1).sums(values) != Bootstrap(5, seed=2).sums(values)).any()
    assert (Bootstrap(5).sums(np.ones((1, 9))) == 9).all()


def test_errors():
    hypotheses, references = ["a", "b"], [["a"], ["b"]]
    with pytest.raises(ValueError, match="1 hypotheses and 2 lists"):
        compare("bleu", hypotheses, ["a"], references)
    with pytest.raises(ConfigError, match="compare one of rouge1, rouge2, rougeL"):
        compare("rouge", hypotheses, hypotheses, references)
    with pytest.raises(ConfigError, match='did you mean "exact_match"'):
        compare("exactmatch", hypotheses, hypotheses, references)
    with pytest.raises(ValueError, match="m on 2 and m on 1 examples"):
        compare_scores(example_scores([1.0, 2.0]), example_scores([1.0]))
    skipped = Score("meteor", None, "s", 1, skipped="no Java")
    with pytest.raises(DataError, match="no Java"):
        compare_scores(skipped, skipped)
    with pytest.raises(ConfigError, match="at least one resample"):
        Bootstrap(num_resamples=0)
