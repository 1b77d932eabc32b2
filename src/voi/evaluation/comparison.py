"""Systems side by side: every score of each, and how far it lies from the first system's."""

from dataclasses import dataclass

import numpy as np

from voi.errors import DataError
from voi.evaluation.likelihoods import PerToken
from voi.evaluation.outputs import Outputs
from voi.evaluation.scores import references_of
from voi.metrics import Bootstrap, Comparison, Score, compare, compare_scores
from voi.metrics.compare import comparison_of
from voi.metrics.corpus import CORPUS_METRICS


@dataclass(frozen=True)
class System:
    """One system on one split, fully scored."""

    name: str
    outputs: Outputs | None  # None where only likelihoods were asked for
    scores: tuple[Score, ...] = ()
    likelihoods: tuple[PerToken, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One measure of one system."""

    system: str
    value: float | None
    num_examples: int
    signature: str
    standard_error: float | None = None  # by the orders drawn
    skipped: str | None = None  # why there is no value
    comparison: Comparison | None = None  # with the first system
    not_compared: str | None = None  # why not, where it could have been
    remark: str | None = None  # what a reader of the value should know


@dataclass(frozen=True)
class Row:
    """One measure of all systems; the first one is what the others are compared with."""

    name: str
    higher_is_better: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """All measures of some systems."""

    systems: tuple[str, ...]
    rows: tuple[Row, ...]


def side_by_side(systems: list[System], bootstrap: Bootstrap | None = None) -> Table:
    """Return the scores of all systems, each compared with those of the first."""
    bootstrap = bootstrap or Bootstrap()
    first, *others = systems
    rows = []
    for name, is_better in _names(systems).items():
        cells = [_cell(first, name)]
        cells += [_compared(first, other, name, bootstrap) for other in others]
        rows.append(Row(name, is_better, tuple(cells)))
    return Table(tuple(system.name for system in systems), tuple(rows))


def _names(systems: list[System]) -> dict[str, bool]:
    """Return the names of all measures in order, and whether higher is better."""
    names: dict[str, bool] = {}
    for system in systems:
        names |= {s.name: s.higher_is_better for s in system.scores if s.name not in names}
    for system in systems:
        names |= {found.name: True for found in system.likelihoods}
    return names


def _score(system: System, name: str) -> Score | None:
    return next((score for score in system.scores if score.name == name), None)


def _likelihood(system: System, name: str) -> PerToken | None:
    return next((found for found in system.likelihoods if found.name == name), None)


def _cell(
    system: System,
    name: str,
    comparison: Comparison | None = None,
    not_compared: str | None = None,
) -> Cell:
    score, found = _score(system, name), _likelihood(system, name)
    if score is not None:
        size, signature, skipped = score.num_examples, score.signature, score.skipped
        value, error, remark = score.value, None, score.remark
    elif found is not None:
        size, signature, skipped = len(found.values), found.signature, found.skipped
        value, error, remark = found.value, found.standard_error, None
    else:
        return Cell(system.name, None, 0, "", skipped="not computed for this system")
    return Cell(
        system.name, value, size, signature, error, skipped, comparison, not_compared, remark
    )


def _compared(first: System, other: System, name: str, bootstrap: Bootstrap) -> Cell:
    try:
        found = _likelihood(first, name), _likelihood(other, name)
        if found[0] is not None and found[1] is not None:
            return _cell(other, name, compare_likelihoods(found[0], found[1], bootstrap))
        return _cell(other, name, _compare_texts(first, other, name, bootstrap))
    except DataError as error:
        return _cell(other, name, not_compared=str(error))


def _compare_texts(
    first: System, other: System, name: str, bootstrap: Bootstrap
) -> Comparison | None:
    """Return the paired bootstrap of one score, by sacrebleu for the metrics that it has."""
    baseline, score = _score(first, name), _score(other, name)
    if baseline is None or score is None or first.outputs is None or other.outputs is None:
        return None
    references = references_of(baseline, first.outputs)
    if references != references_of(score, other.outputs):
        raise DataError("the references differ, by split, case or vocabulary")
    metric = name.partition(" (")[0]
    if metric in CORPUS_METRICS and score.skipped is None and baseline.skipped is None:
        written = first.outputs.hypotheses, other.outputs.hypotheses
        return compare(metric, *written, references, bootstrap)
    return compare_scores(baseline, score, bootstrap)


def compare_likelihoods(first: PerToken, other: PerToken, bootstrap: Bootstrap) -> Comparison:
    """Return the paired bootstrap over targets of a difference in nats per token."""
    if first.value is None or other.value is None:
        raise DataError(first.skipped or other.skipped or "there are no values")
    if first.num_tokens != other.num_tokens:
        raise DataError("the targets have other numbers of tokens, by split or vocabulary")
    gains = np.array(other.values) - np.array(first.values)
    total, tokens = bootstrap.sums(np.stack([gains, np.array(first.num_tokens, np.float64)]))
    differences = total / tokens  # [resamples]
    method = f"paired bootstrap of targets, nats per token|seed:{bootstrap.seed}"
    return comparison_of(first.name, (first.value, other.value), differences, bootstrap, method)
