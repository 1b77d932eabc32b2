"""Outputs -> scores, each with the signature that is needed to repeat it."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from voi.errors import MissingExtraError
from voi.evaluation import identity
from voi.evaluation.conventions import METRICS_OF
from voi.evaluation.outputs import Outputs, References
from voi.metrics import METRICS, Label, Score, exact_match, score_all
from voi.metrics.corpus import CORPUS_METRICS
from voi.tables import unknown_name

LABELLED: dict[str, Callable[..., Score]] = {
    "bleu_tokenized": CORPUS_METRICS["bleu_tokenized"].score,
    "exact_match": partial(exact_match, has_lines=True),  # they are of code
}
"""Metrics that count unknown words both ways where references as published are at hand."""

_AS_PUBLISHED: Label = "as published"
_STRICT: Label = "strict"
_ACCEPTED = "right:what the task accepts"


def check_metrics(names: Sequence[str]) -> None:
    """Raise an error for a metric that does not exist, before any work is done."""
    for name in names:
        if name not in METRICS:
            raise unknown_name("metric", name, METRICS)


def default_metrics(outputs: Outputs) -> tuple[str, ...]:
    """Return the metrics stored with outputs, or those of plain text."""
    return tuple(outputs.about.get("metrics", METRICS_OF["text"]))


def score_outputs(outputs: Outputs, names: Sequence[str]) -> tuple[Score, ...]:
    """Return the scores of some metrics, in the order asked for.

    A metric whose library or Java is missing is a skipped row. Metrics in LABELLED come twice if
    there are references as published: `strict` against the true strings, where a word outside the
    vocabulary is always wrong, and `as published`, where unknown equals unknown.
    """
    check_metrics(names)
    return tuple(_signed(score, outputs) for name in names for score in _scores(name, outputs))


def _scores(name: str, outputs: Outputs) -> Sequence[Score]:
    try:
        if outputs.accepted is not None and name == "exact_match":
            has_lines = outputs.published is not None  # which code alone has
            score = exact_match(outputs.hypotheses, outputs.accepted, has_lines=has_lines)
            return [dataclasses.replace(score, signature=f"{score.signature}|{_ACCEPTED}")]
        if outputs.published is None or name not in LABELLED:
            return score_all([name], outputs.hypotheses, outputs.references)
        metric = LABELLED[name]
        return [
            metric(outputs.hypotheses, outputs.references, label=_STRICT),
            metric(outputs.hypotheses, outputs.published, label=_AS_PUBLISHED),
        ]
    except MissingExtraError as error:
        return [Score(name, None, name, len(outputs.hypotheses), skipped=str(error))]


def _signed(score: Score, outputs: Outputs) -> Score:
    texts = outputs.about.get("text", f"{outputs.name} as it is")
    parts = [score.signature, f"text:{texts}", identity.signature(outputs.about)]
    return dataclasses.replace(score, signature="|".join(part for part in parts if part))


def references_of(score: Score, outputs: Outputs) -> References:
    """Return the references that a score was computed with."""
    if score.name.endswith(f"({_AS_PUBLISHED})") and outputs.published is not None:
        return outputs.published
    return outputs.references
