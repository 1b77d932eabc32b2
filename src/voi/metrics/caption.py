"""The metrics of image captioning by pycocoevalcap: BLEU-4, METEOR, ROUGE-L and CIDEr.

All four see the same words: Penn Treebank tokens in lower case without punctuation, made by a Java
program. Where Java is missing, broken or silent, a metric that needs it is a skipped row.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal

from voi.metrics.java import JavaError, meteor_values, ptb_tokenize
from voi.metrics.library import load, version
from voi.metrics.score import Score, check_inputs

CaptionKind = Literal["caption_bleu4", "meteor", "caption_rouge_l", "cider"]
ALL_KINDS: tuple[CaptionKind, ...] = ("caption_bleu4", "meteor", "caption_rouge_l", "cider")

_OPTIONS: dict[CaptionKind, str] = {
    "caption_bleu4": "order:4|reflen:closest|smooth:none",
    "meteor": "METEOR 1.5|lang:en|norm",
    "caption_rouge_l": "beta:1.2",
    "cider": "CIDEr-D|n:4|sigma:6|idf:references of this corpus",
}


def caption(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    kinds: tuple[CaptionKind, ...] = ALL_KINDS,
    timeout: float = 600.0,
) -> tuple[Score, ...]:
    """Return the metrics of COCO captioning in the order of `kinds`, tokenising once.

    All are 0-100 except CIDEr, for which a perfect match is 1000 (papers print 100 for 1.0). CIDEr
    weighs words by how rare they are among the references of this corpus, so it needs many
    examples: on a single one it is always 0. ROUGE-L takes the best precision and the best recall
    over the references. METEOR of the corpus is not the mean of its examples; CIDEr and ROUGE-L
    are. Tokenising and METEOR may each take `timeout` seconds, then they are skipped.
    """
    check_inputs(hypotheses, references)
    try:
        words, reference_words = _tokenize(hypotheses, references, timeout)
    except JavaError as error:
        return tuple(_skipped(kind, len(hypotheses), str(error)) for kind in kinds)
    return tuple(_score(kind, words, reference_words, timeout) for kind in kinds)


def _tokenize(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], timeout: float
) -> tuple[list[str], list[list[str]]]:
    """Return hypotheses and references tokenised by one run of the program."""
    flat = [reference for own_references in references for reference in own_references]
    tokenized = ptb_tokenize([*hypotheses, *flat], timeout)
    words, flat_words = tokenized[: len(hypotheses)], tokenized[len(hypotheses) :]
    bounds = accumulate((len(own_references) for own_references in references), initial=0)
    return words, [flat_words[start:end] for start, end in pairwise(bounds)]


def _score(
    kind: CaptionKind, words: list[str], reference_words: list[list[str]], timeout: float
) -> Score:
    try:
        value, per_example = _values(kind, words, reference_words, timeout)
    except JavaError as error:
        return _skipped(kind, len(words), str(error))
    return Score(
        name=kind,
        value=100.0 * value,
        signature=_signature(kind),
        num_examples=len(words),
        per_example=tuple(100.0 * v for v in per_example),
    )


def _values(
    kind: CaptionKind, words: list[str], reference_words: list[list[str]], timeout: float
) -> tuple[float, list[float]]:
    """Return the value of the corpus and of each example, on the library's scale."""
    if kind == "meteor":
        return meteor_values(words, reference_words, timeout)
    hypothesis_of = {i: [hypothesis] for i, hypothesis in enumerate(words)}
    references_of = dict(enumerate(reference_words))
    if kind == "caption_bleu4":
        scorer = load("pycocoevalcap.bleu.bleu").Bleu(4)
        corpora, examples = scorer.compute_score(references_of, hypothesis_of, verbose=0)
        return corpora[3], examples[3]  # orders 1, 2, 3, 4
    if kind == "caption_rouge_l":
        scorer = load("pycocoevalcap.rouge.rouge").Rouge()
    elif not any(reference for own in reference_words for reference in own):
        return 0.0, [0.0] * len(words)  # the library fails without a single reference word
    else:
        scorer = load("pycocoevalcap.cider.cider").Cider()
    corpus, per_example = scorer.compute_score(references_of, hypothesis_of)
    return float(corpus), per_example.tolist()


def _signature(kind: CaptionKind) -> str:
    return f"{kind}|pycocoevalcap|{_OPTIONS[kind]}|tok:ptb|version:{version('pycocoevalcap')}"


def _skipped(kind: CaptionKind, num_examples: int, reason: str) -> Score:
    return Score(kind, None, _signature(kind), num_examples, skipped=reason)


def meteor(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, timeout: float = 600.0
) -> Score:
    """Return METEOR 1.5, 0-100, or a skipped row where Java cannot run it."""
    return caption(hypotheses, references, kinds=("meteor",), timeout=timeout)[0]


def cider(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, timeout: float = 600.0
) -> Score:
    """Return CIDEr-D times 100, or a skipped row where Java cannot tokenise."""
    return caption(hypotheses, references, kinds=("cider",), timeout=timeout)[0]
