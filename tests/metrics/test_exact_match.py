import pytest

from voi.metrics import bleu, exact_match


def test_hand_counted():
    score = exact_match(
        ["return x", "", "b", "x = 1"],
        [["return x"], ["y"], ["a", "b"], ["x = 1 "]],
    )
    assert score.per_example == (100.0, 0.0, 100.0, 100.0)
    assert score.value == 75.0
    assert score.num_examples == 4


def test_empty_equals_empty_and_case_counts():
    assert exact_match([""], [[""]]).value == 100.0
    assert exact_match(["If"], [["if"]]).value == 0.0


def test_unknown_words_two_ways():
    """The same output is wrong against the true line and right against the line with <unk>."""
    hypotheses = ["return self . <unk> ( x )"]
    true, published = [["return self . _iter ( x )"]], [["return self . <unk> ( x )"]]
    strict = exact_match(hypotheses, true, label="strict")
    lenient = exact_match(hypotheses, published, label="as published")
    assert (strict.name, strict.value) == ("exact_match (strict)", 0.0)
    assert (lenient.name, lenient.value) == ("exact_match (as published)", 100.0)
    assert strict.signature != lenient.signature

    strict = bleu(hypotheses, true, tokenize="none", label="strict")
    lenient = bleu(hypotheses, published, tokenize="none", label="as published")
    assert strict.name == "bleu (strict)"
    assert "unknown words:strict" in strict.signature
    # 7 words, one wrong in fourth place: 6/7, 4/6, 2/5 and 0/4, the last smoothed to 1/(2 * 4)
    assert strict.value == pytest.approx(100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 8) ** 0.25)
    assert lenient.value == pytest.approx(100.0)
