"""ROUGE-1, ROUGE-2 and ROUGE-L by rouge-score."""

from collections.abc import Sequence
from typing import Literal

from voi.metrics.library import load, version
from voi.metrics.score import Score, check_inputs

RougeKind = Literal["rouge1", "rouge2", "rougeL"]
ALL_KINDS: tuple[RougeKind, ...] = ("rouge1", "rouge2", "rougeL")


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    kinds: tuple[RougeKind, ...] = ALL_KINDS,
    stem: bool = True,
) -> tuple[Score, ...]:
    """Return the mean F1 of each kind, 0-100, in the order of `kinds`.

    With several references the one with the best F1 counts, separately for each kind. The library
    lower-cases, keeps only a-z and 0-9 (other letters end a word) and, with `stem`, stems words of
    more than three letters (Porter), which is how summarisation is usually reported.
    """
    check_inputs(hypotheses, references)
    scorer = load("rouge_score.rouge_scorer").RougeScorer(list(kinds), use_stemmer=stem)
    results = [
        scorer.score_multi(own_references, hypothesis)
        for hypothesis, own_references in zip(hypotheses, references, strict=True)
    ]
    return tuple(_score(kind, [100.0 * r[kind].fmeasure for r in results], stem) for kind in kinds)


def _score(kind: RougeKind, values: list[float], stem: bool) -> Score:
    stemmer = "porter" if stem else "none"
    return Score(
        name=kind,
        value=sum(values) / len(values),
        signature=f"{kind}|rouge-score|F1|refs:best|case:lower|tok:a-z0-9|stem:{stemmer}"
        f"|version:{version('rouge-score')}",
        num_examples=len(values),
        per_example=tuple(values),
    )
