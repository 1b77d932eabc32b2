import math

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

from shared_data import shared_data
from voi.errors import ConfigError
from voi.metrics import bleu, chrf, score_all, ter
from voi.metrics.corpus import CORPUS_METRICS

HYPOTHESES = ["The cat sat on the mat.", "A dog", "", "We learn the order of words, slowly."]
REFERENCES = [
    ["The cat sat on the mat.", "A cat was sitting on the mat."],
    ["One big dog barked."],
    ["Nothing was said."],
    ["We learn the order of the words slowly.", "The order of words is learned.", "Slowly, we do."],
]
STREAMS = [  # the same references as sacrebleu takes them: one list per reference number
    [own[k] if k < len(own) else None for own in REFERENCES] for k in range(3)
]
LIBRARY = {
    "bleu": (BLEU(), BLEU(effective_order=True)),
    "bleu_lowercase": (BLEU(lowercase=True), BLEU(lowercase=True, effective_order=True)),
    "bleu_tokenized": (
        BLEU(tokenize="none", force=True),
        BLEU(tokenize="none", force=True, effective_order=True),
    ),
    "chrf": (CHRF(), CHRF()),
    "ter": (TER(), TER()),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_equals_sacrebleu_on_our_sentences(name):
    corpus, sentence = LIBRARY[name]
    [score] = score_all([name], HYPOTHESES, REFERENCES)
    assert score.value == pytest.approx(corpus.corpus_score(HYPOTHESES, STREAMS).score)
    assert score.per_example == pytest.approx(
        [
            sentence.sentence_score(hypothesis, own).score
            for hypothesis, own in zip(HYPOTHESES, REFERENCES, strict=True)
        ]
    )
    assert str(corpus.get_signature()) in score.signature
    assert f"version:{sacrebleu.__version__}" in score.signature
    assert score.higher_is_better == (name != "ter")


@pytest.mark.parametrize("name", LIBRARY)
def test_equals_sacrebleu_on_real_files(name):
    """RO-STS dev: each English line scored against its neighbour, which often paraphrases it."""
    lines = shared_data("ro_en", "rosts", "dev.en").read_text(encoding="utf-8").splitlines()[:400]
    hypotheses, references = lines[0::2], lines[1::2]
    [score] = score_all([name], hypotheses, [[reference] for reference in references])
    expected = LIBRARY[name][0].corpus_score(hypotheses, [references]).score
    assert score.value == pytest.approx(expected)
    assert 5.0 < expected < 120.0  # a comparison of numbers that mean something


@pytest.mark.parametrize(("metric", "perfect"), [(bleu, 100.0), (chrf, 100.0), (ter, 0.0)])
def test_perfect_match(metric, perfect):
    score = metric(["four words are enough", "and more"], [["four words are enough"], ["and more"]])
    assert score.value == pytest.approx(perfect)
    assert score.per_example == pytest.approx((perfect, perfect))


def test_empty_hypothesis():
    assert bleu([""], [["a b c d"]]).value == 0.0
    assert chrf([""], [["a b c d"]]).value == 0.0
    assert ter([""], [["a b c d"]]).value == pytest.approx(100.0)  # four words to insert


def test_single_word_has_no_corpus_bleu():
    score = bleu(["yes"], [["yes"]])
    assert score.value == 0.0
    assert score.per_example == pytest.approx((100.0,))


def test_hand_computed_bleu():
    """a b c d e against a b c d x y: precisions 4/5, 3/4, 2/3, 1/2, brevity exp(1 - 6/5)."""
    expected = 100 * math.exp(1 - 6 / 5) * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert bleu(["a b c d e"], [["a b c d x y"]]).value == pytest.approx(expected)
    # a second reference of five words removes the penalty and adds no match
    assert bleu(["a b c d e"], [["a b c d x y", "p q r s t"]]).value == pytest.approx(
        expected / math.exp(1 - 6 / 5)
    )


def test_hand_computed_ter():
    """One substitution against the first reference; the mean reference length is five."""
    assert ter(["a b c x"], [["a b c d", "p q r s t u"]]).value == pytest.approx(100 * 1 / 5)
    assert ter(["B A"], [["a b"]]).value == pytest.approx(100 * 1 / 2)  # one shift, case ignored


def test_hand_computed_chrf():
    """ab against ac: one of two letters matches, no pair does; two orders, F2 of 1/4 is 1/4."""
    assert chrf(["ab"], [["ac"]]).value == pytest.approx(100 * (1 / 2 + 0) / 2)


def test_options():
    assert bleu(["A B C D"], [["a b c d"]]).value == 0.0
    assert bleu(["A B C D"], [["a b c d"]], lowercase=True).value == pytest.approx(100.0)
    assert "tok:none" in bleu(["a"], [["a"]], tokenize="none").signature
    with pytest.raises(ConfigError, match='"13b": did you mean "13a"'):
        bleu(["a"], [["a"]], tokenize="13b")


def test_tokenized_text_raises_no_warning(caplog):
    bleu(["a tokenised period ."] * 150, [["a tokenised period ."]] * 150)
    assert not caplog.records


@pytest.mark.parametrize("name", ["bleu", "bleu_lowercase", "bleu_tokenized"])
def test_bleu_of_outputs_without_four_tokens_has_a_remark(name):
    texts = ["a red bus", ""]
    score = CORPUS_METRICS[name].score(texts, [["a red bus"], ["no"]])
    assert (score.value, score.remark) == (0, "no output has 4 tokens: BLEU is 0 by definition")
    for other in (["a red bus", "a red bus stops"], ["x y z w", ""]):
        assert CORPUS_METRICS[name].score(other, [[text] for text in texts]).remark is None
    assert CORPUS_METRICS["chrf"].score(texts, [["a"], ["b"]]).remark is None
