"""Metrics as thin wrappers of the field's libraries: strings in, Score out.

Every metric takes hypotheses and, for each of them, a list of references. The libraries are the
extra `voi[metrics]` and are loaded on first use.
"""

from voi.metrics.caption import caption, cider, meteor
from voi.metrics.compare import Bootstrap, Comparison, compare, compare_scores
from voi.metrics.corpus import bleu, chrf, ter
from voi.metrics.exact_match import exact_match
from voi.metrics.registry import METRICS, score_all
from voi.metrics.rouge import rouge
from voi.metrics.score import Label, Score

__all__ = [
    "METRICS",
    "Bootstrap",
    "Comparison",
    "Label",
    "Score",
    "bleu",
    "caption",
    "chrf",
    "cider",
    "compare",
    "compare_scores",
    "exact_match",
    "meteor",
    "rouge",
    "score_all",
    "ter",
]
