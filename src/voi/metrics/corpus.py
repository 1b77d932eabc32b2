"""BLEU, chrF and TER by sacrebleu: corpus values from summed statistics of the sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from voi.metrics.library import load
from voi.metrics.score import Label, Score, check_inputs, labelled
from voi.tables import unknown_name


@dataclass(frozen=True)
class CorpusMetric:
    """A metric of sacrebleu and its options.

    The corpus value is a function of the sum of per-sentence statistics (n-gram counts, edits),
    not the mean of sentence values; a bootstrap resamples the statistics.
    """

    name: str
    kind: Literal["BLEU", "CHRF", "TER"]
    options: tuple[tuple[str, str | bool], ...] = ()
    higher_is_better: bool = True

    def build(self, *, for_sentences: bool = False) -> Any:
        """Return the library's metric; for sentences BLEU skips orders longer than the sentence."""
        options = dict(self.options)
        if for_sentences and self.kind == "BLEU":
            options["effective_order"] = True
        return getattr(load("sacrebleu.metrics"), self.kind)(**options)

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str]],
        label: Label | None = None,
    ) -> Score:
        """Return the corpus value, with sentence values beside it."""
        check_inputs(hypotheses, references)
        corpus, sentence = self.build(), self.build(for_sentences=True)
        statistics = segment_statistics(corpus, hypotheses, references)
        signature = f"{self.name}|sacrebleu|{corpus.get_signature()}"
        return Score(
            name=labelled(self.name, label),
            value=value_of(corpus, statistics.sum(axis=0)),
            signature=signature + (f"|unknown words:{label}" if label else ""),
            num_examples=len(hypotheses),
            per_example=tuple(value_of(sentence, row) for row in statistics),
            higher_is_better=self.higher_is_better,
            remark=_TOO_SHORT if self.kind == "BLEU" and not _has_4_grams(statistics) else None,
        )


_TOO_SHORT = "no output has 4 tokens: BLEU is 0 by definition"


def _has_4_grams(bleu_statistics: Float64[np.ndarray, "examples counts"]) -> bool:
    """Return whether any output has one; the last count of BLEU is that of its 4-grams."""
    return bool(bleu_statistics[:, -1].any())


def segment_statistics(
    metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> Float64[np.ndarray, "examples counts"]:
    """Return what the library counts in each sentence: match counts and lengths, or edits."""
    # The library takes one stream per reference number, with None where an example has fewer.
    streams = [list(stream) for stream in zip_longest(*references)]
    statistics = metric._extract_corpus_statistics(list(hypotheses), streams)
    return np.array(statistics, dtype=np.float64)


def value_of(metric: Any, summed_statistics: Float64[np.ndarray, " counts"]) -> float:
    """Return the value of a corpus (or one sentence) from its statistics."""
    return float(metric._compute_score_from_stats(summed_statistics.tolist()).score)


def bleu_metric(name: str, *, tokenize: str = "13a", lowercase: bool = False) -> CorpusMetric:
    """Return corpus BLEU-4 with this tokenisation; `tokenize="none"` is for tokenised text."""
    # force: text that is tokenised already is no mistake here, so no warning about it
    options = (("tokenize", tokenize), ("lowercase", lowercase), ("force", True))
    return CorpusMetric(name, "BLEU", options)


CORPUS_METRICS = {
    metric.name: metric
    for metric in (
        bleu_metric("bleu"),
        bleu_metric("bleu_lowercase", lowercase=True),
        bleu_metric("bleu_tokenized", tokenize="none"),
        CorpusMetric("chrf", "CHRF"),
        CorpusMetric("ter", "TER", higher_is_better=False),
    )
}
"""The metrics of sacrebleu by name; `bleu_tokenized` splits by white space only."""


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    label: Label | None = None,
) -> Score:
    """Return corpus BLEU-4, 0-100, with sacrebleu's exponential smoothing.

    A corpus in which no hypothesis has four words has BLEU 0, even if all are right; the sentence
    values leave out orders longer than the sentence, so there a short perfect match is 100. For
    Django take `tokenize="none"` and a `label`.
    """
    known = load("sacrebleu.metrics.bleu").BLEU.TOKENIZERS
    if tokenize not in known:
        raise unknown_name("BLEU tokenisation", tokenize, known)
    metric = bleu_metric("bleu", tokenize=tokenize, lowercase=lowercase)
    return metric.score(hypotheses, references, label)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Return corpus chrF2 (character 6-grams), 0-100; the best reference of each example counts."""
    return CORPUS_METRICS["chrf"].score(hypotheses, references)


def ter(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Return corpus TER in percent, lower is better; case is ignored, as tercom does.

    Edits to the nearest reference, divided by the mean length of the references.
    """
    return CORPUS_METRICS["ter"].score(hypotheses, references)
