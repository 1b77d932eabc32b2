"""Texts with gaps are cut as whole texts are: a word that is taken out leaves the others alone."""

import pytest

from voi.data import Example
from voi.tokens import build_codec
from voi.tokens.gaps import tokens_around_gaps
from voi.tokens.moses import Moses
from voi.tokens.python_code import PythonCode
from voi.tokens.words import Folded, Words

CODE = [
    "x = name + y",
    "if x:\n    name = a",
    "x = foo(name)",
    "name",
    "self.x = foo (name",
    "f('a b', name)  # a note",
    "x = name.y",
]
PROSE = ["A man, name, is here. He, too.", "name's dog", "it is name.", 'He said "name".']


@pytest.mark.parametrize(
    ("tokenizer", "texts"),
    [
        (PythonCode(), CODE),
        (Moses(), PROSE),
        (Folded(Moses(), lowercase=True), PROSE),
        (Words(), ["a name b", "name", "a name"]),
    ],
    ids=["code", "moses", "lowered", "words"],
)
def test_the_tokens_are_those_of_the_whole_text(tokenizer, texts):
    for text in texts:
        before, after = tokens_around_gaps(text.split("name"), tokenizer)
        assert [*before, "name", *after] == tokenizer.target_tokens(text)


def test_a_gap_beside_letters_is_a_word_of_its_own():
    assert tokens_around_gaps(["re", "ing (", ")"], Words()) == [["re"], ["ing", "("], [")"]]
    assert tokens_around_gaps(["gap", " Gapp", "x"], Moses()) == [["gap"], ["Gapp"], ["x"]]


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        (PythonCode(), "x = foo('a b', "),
        (PythonCode(), "x = 1  # a note"),
        (PythonCode(), "self."),
        (Moses(), "He said."),
        (Moses(), "He said. "),
        (Moses(), "Is it?"),
        (Moses(), "A man, "),
        (Words(), "He said."),
    ],
)
def test_a_prefix_has_the_tokens_of_the_text(tokenizer, text):
    assert tokens_around_gaps([text, ""], tokenizer) == [tokenizer.target_tokens(text), []]


def test_what_a_tokenizer_removes_makes_no_second_gap():
    assert tokens_around_gaps(["g\x01ap ", ""], Moses()) == [["gap"], []]


def test_pieces_of_words():
    codec = build_codec({"kind": "bpe", "size": 40}, [Example("house", "a house")] * 2)
    around = tokens_around_gaps(["a ", " house"], codec.tokenizer)
    assert around == [codec.tokenizer.target_tokens(text) for text in ("a", "house")]
