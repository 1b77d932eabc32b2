"""Metrics by name, as experiments and commands ask for them."""

from collections.abc import Callable, Sequence
from functools import partial

from voi.metrics.caption import caption
from voi.metrics.corpus import CORPUS_METRICS
from voi.metrics.exact_match import exact_match
from voi.metrics.rouge import rouge
from voi.metrics.score import Score
from voi.tables import unknown_name

Metric = Callable[[Sequence[str], Sequence[Sequence[str]]], Score | tuple[Score, ...]]

METRICS: dict[str, Metric] = {
    **{name: metric.score for name, metric in CORPUS_METRICS.items()},
    "rouge": rouge,
    "rouge1": partial(rouge, kinds=("rouge1",)),
    "rouge2": partial(rouge, kinds=("rouge2",)),
    "rougeL": partial(rouge, kinds=("rougeL",)),
    "caption": caption,
    "caption_bleu4": partial(caption, kinds=("caption_bleu4",)),
    "meteor": partial(caption, kinds=("meteor",)),
    "caption_rouge_l": partial(caption, kinds=("caption_rouge_l",)),
    "cider": partial(caption, kinds=("cider",)),
    "exact_match": exact_match,
}
"""Every metric with its default options; `rouge` and `caption` give all of their kinds at once."""


def scores_of(
    name: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[Score, ...]:
    """Return the scores of one metric by name."""
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    result = METRICS[name](hypotheses, references)
    return (result,) if isinstance(result, Score) else result


def score_all(
    names: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[Score]:
    """Return the scores of several metrics, in the order asked for.

    >>> [score.value for score in score_all(["exact_match"], ["a b", "c"], [["a b"], ["d", "c"]])]
    [100.0]
    """
    return [score for name in names for score in scores_of(name, hypotheses, references)]
