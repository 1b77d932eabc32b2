import pytest

from voi.metrics import bleu, exact_match
from voi.tokens.python_code import PythonCode


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


CODE = """
if x:
    a()
    b()
"""
OTHERS = ["if x:\n    a()\nb()", "if x:\n    a(); b()", "if x:\n    a()\n    if b: ()"]


@pytest.mark.parametrize("other", [*OTHERS, CODE, CODE.replace("\n", "\n\n")])
def test_lines_of_code_are_right_where_their_tokens_are(other):
    code = PythonCode()
    tokens, own = code.target_tokens(other), code.target_tokens(CODE)
    found = exact_match([code.text(tokens)], [[code.text(own)]], has_lines=True)
    assert found.value == 100.0 * (tokens == own)


def test_single_lines_score_the_same_with_lines():
    texts = ["return x", " return  x ", "return y", "", "x = 1\n"]
    pairs = [([a], [[b]]) for a in texts for b in texts]
    assert [exact_match(*pair, has_lines=True).value for pair in pairs] == [
        exact_match(*pair).value for pair in pairs
    ]
    code = "if x :\n    a\nb", "if x :\n    a\n    b"
    assert exact_match([code[0]], [[code[1]]]).value == 100.0  # words, as in a sentence
