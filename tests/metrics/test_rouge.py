import gzip

import pytest
from rouge_score import rouge_scorer

from shared_data import shared_data
from voi.metrics import rouge

KINDS = ["rouge1", "rouge2", "rougeL"]
HYPOTHESES = ["police arrested the gunman", "", "markets rise"]
REFERENCES = [
    ["the gunman was arrested by police", "police arrest gunman"],
    ["nothing to report"],
    ["stock markets rise sharply"],
]


@pytest.mark.parametrize("stem", [True, False])
def test_equals_library(stem):
    scorer = rouge_scorer.RougeScorer(KINDS, use_stemmer=stem)
    for score in rouge(HYPOTHESES, REFERENCES, stem=stem):
        expected = [
            max(100 * scorer.score(reference, hypothesis)[score.name].fmeasure for reference in own)
            for hypothesis, own in zip(HYPOTHESES, REFERENCES, strict=True)
        ]
        assert score.per_example == pytest.approx(expected)
        assert score.value == pytest.approx(sum(expected) / 3)
        assert f"stem:{'porter' if stem else 'none'}" in score.signature


def test_equals_library_on_real_files():
    """Debian synopses: the opening words of a description against its short form."""
    path = shared_data("debian_synopsis", "dev.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][:200]
    hypotheses = [" ".join(row[1].split()[:8]) for row in rows]
    scorer = rouge_scorer.RougeScorer(KINDS, use_stemmer=True)
    expected = [scorer.score(row[2], h) for row, h in zip(rows, hypotheses, strict=True)]
    for score in rouge(hypotheses, [[row[2]] for row in rows]):
        mean = 100 * sum(e[score.name].fmeasure for e in expected) / len(expected)
        assert score.value == pytest.approx(mean)
        assert mean > 1.0


def test_hand_computed():
    """a b c d against a c b e: three common words of four, no common pair, "a b" or "a c" in order.

    F1 equals precision and recall as both have four words: 3/4, 0/3 and 2/4.
    """
    values = [score.value for score in rouge(["a b c d"], [["a c b e"]])]
    assert values == pytest.approx([75.0, 0.0, 50.0])


def test_best_reference_is_chosen_for_each_kind():
    """The first reference has the better words, the second the only common pair."""
    first, second = "d c b a", "a b x y"
    unigrams, bigrams, longest = rouge(["a b c d"], [[first, second]])
    assert unigrams.value == pytest.approx(100.0)  # from the first
    assert bigrams.value == pytest.approx(100 / 3)  # from the second: "a b" of three pairs
    assert longest.value == pytest.approx(50.0)  # from the second


def test_perfect_empty_and_single_word():
    assert [s.value for s in rouge(["one two"], [["one two"]])] == pytest.approx([100.0] * 3)
    assert [s.value for s in rouge([""], [["one two"]])] == [0.0] * 3
    assert [s.value for s in rouge(["one"], [["one"]])] == pytest.approx([100.0, 0.0, 100.0])


def test_kinds_choose():
    assert [score.name for score in rouge(["a"], [["a"]], kinds=("rougeL",))] == ["rougeL"]
