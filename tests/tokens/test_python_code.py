import ast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from voi.tokens.python_code import DEDENT, INDENT, LINE_END, PythonCode

CODE = PythonCode()
PROGRAMS = [
    "x = f(a, *b)[1:-1] ** 2 if not c else {'k': lambda y: y @ z}",
    "def f(x: int = 3, /, *, y) -> str:\n    return f'{x!r:>{y}} and {\"q\"} {{}}'\n",
    "if a:\n  # first\n  b = 1\n\n  if c: pass\nelse:\n\td('''two\n  lines''')\n",
    "value = [1,  # one\n         2]\n",
    "total = a + \\\n    b\n",
    "class A(B):\n    '''Doc.'''\n    @property\n    def x(self): return 0x1F + 1e-3j\n\nA()\n",
    "match x:\n    case [1, *_] if x: y = 1; z = 2\n    case _:\n        pass",
    'g = rb"\\x00" + b"" ; h = f"""{\na}""" f"{b}"',
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_keep_their_meaning_and_their_tokens(program):
    tokens = CODE.target_tokens(program)
    text = CODE.text(tokens)
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(program))
    assert CODE.target_tokens(text) == tokens


def test_layout_is_part_of_the_tokens():
    tokens = CODE.target_tokens("if a:\n    b\nc\n")
    assert tokens == ["if", "a", ":", LINE_END, INDENT, "b", LINE_END, DEDENT, "c"]


def test_strings_are_one_token():
    assert CODE.target_tokens("f'{a + 1} b' + 'c  d'") == ["f'{a + 1} b'", "+", "'c  d'"]


@pytest.mark.parametrize("text", ["it's what", "a ? b", 'x = """(', "  a\n b", "$ echo  'a b'", ""])
def test_what_is_no_python_is_words(text):
    assert CODE.target_tokens(text) == text.split()


def test_brackets_may_stay_open():
    assert CODE.target_tokens("if a:\n  x.y = f(1,[b\n") == [
        *("if", "a", ":", LINE_END, INDENT, "x", ".", "y", "=", "f", "(", "1", ",", "[", "b")
    ]


PIECES = ["a", "( a )", "'x y'", "a = 1.5", "if a :", "  a", "# c", "(", "$"]


@given(st.lists(st.sampled_from(PIECES), max_size=4), st.sampled_from(["\n", " ", " + "]))
@settings(deadline=None)
def test_tokens_of_python_stay_the_same(parts, between):
    text = between.join(parts)
    tokens = CODE.target_tokens(text)
    assume(tokens != text.split())  # where they differ, Python made them
    assert CODE.target_tokens(CODE.text(tokens)) == tokens


@given(st.lists(st.sampled_from(["a", LINE_END, INDENT, DEDENT]), max_size=8))
@settings(deadline=None)
def test_any_tokens_can_be_written(tokens):
    assert CODE.text(tokens).split() == [token for token in tokens if token == "a"]
