"""Statements of the library against Python's own parser, and descriptions written by hand."""

import ast
import io
import keyword
import re
import sysconfig
import tokenize

import pytest

from voi.data.pylines import PyLines, describe, library_files
from voi.errors import DataError

SPLITS = ("train", "valid", "test")
PLACEHOLDER = re.compile(r"_STR:(\d+)_")


@pytest.fixture(scope="module")
def examples():
    task = PyLines()
    return [example for split in SPLITS for example in task.split(split)]


def python(target):
    return PLACEHOLDER.sub("'text'", target) + (" pass" if target.endswith(":") else "")


def test_default_sizes_are_reached():
    """Libraries differ between versions of Python; `train` is an upper bound."""
    task = PyLines()
    assert [len(task.split(split)) for split in ("valid", "test")] == [500, 500]
    assert 8000 <= len(task.split("train")) <= 10000


def test_targets_are_single_statements(examples):
    for example in examples:
        [statement] = ast.parse(python(example.target)).body
        assert hasattr(statement, "body") == example.target.endswith(":"), example.target


def test_targets_are_their_own_tokens(examples):
    layout = (tokenize.NEWLINE, tokenize.ENDMARKER)
    for example in examples:
        text = PLACEHOLDER.sub("'text'", example.target)
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        assert " ".join(t.string for t in tokens if t.type not in layout) == text


def test_targets_are_different_and_of_allowed_length(examples):
    assert len({example.target for example in examples}) == len(examples)
    assert {len(e.target.split()) for e in examples} <= set(range(2, 31))
    short = PyLines(max_tokens=5, files=20, train=100, valid=10, test=10)
    assert max(len(e.target.split()) for e in short.split("train")) == 5


def test_strings_are_numbered_by_first_appearance(examples):
    several = 0
    for example in examples:
        numbers = list(dict.fromkeys(map(int, PLACEHOLDER.findall(example.target))))
        assert numbers == list(range(len(numbers)))
        assert not set("\"'") & set(example.target)
        several += len(numbers) > 1
    assert several > 100


def test_sources_mention_every_name_number_and_string(examples):
    for example in examples:
        words = set(example.source.split())
        for token in example.target.split():
            is_word = token[0].isalnum() or token[0] == "_"
            if is_word and not keyword.iskeyword(token):
                assert token in words, example


def test_sources_do_not_hold_the_code(examples):
    """Of all operators and delimiters only the comma and the dot of names are copied."""
    for example in examples:
        assert f" {example.target} " not in f" {example.source} "
        marks = {word for word in example.source.split() if not re.search(r"\w", word)}
        assert marks <= {",", "."}


def test_common_statements_all_occur(examples):
    kinds = {type(ast.parse(python(example.target)).body[0]).__name__ for example in examples}
    assert kinds >= {
        *("Assign", "AugAssign", "Return", "Raise", "Expr", "Delete", "Import"),
        *("ImportFrom", "If", "While", "For", "With", "FunctionDef", "ClassDef"),
    }


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("x = 1", "assign 1 to x"),
        ("x = y = 0x1F", "assign 0x1F to x and y"),
        ("a , b = pair", "assign pair to the tuple of a and b"),
        ("x += 1", "replace x by the sum of itself and 1"),
        ("x : int", "declare x of type int"),
        ("x : int = 3", "declare x of type int and assign 3 to it"),
        ("return", "give back nothing"),
        ("return ( )", "give back the tuple of nothing"),
        ("return not a or b", "give back either the negation of a or b"),
        ("return a <= b < - 2", "give back a is at most b which is less than minus 2"),
        ("return x if x is not None else [ ]",
         "give back x when x is not the same as None , otherwise the list of nothing"),
        ("return { _STR:0_ : 1 , ** more }",
         "give back the dictionary of _STR:0_ mapped to 1 and all entries of more"),
        ("raise E ( _STR:0_ ) from error",
         "raise exception the result of calling E with arguments _STR:0_ because of error"),
        ("assert x , _STR:0_", "make sure that x or complain with _STR:0_"),
        ("del a [ 1 : ] , b [ : ]", "delete element range from 1 of a and element range of b"),
        ("global a , b", "use a and b of the module"),
        ("import os . path as p , sys", "import module os . path under the name p and sys"),
        ("from . . a . b import *", "from the module 2 levels up a . b import everything"),
        ("from . import x", "from the module 1 levels up import x"),
        ("f ( )", "call f"),
        ("f ( * a , k = 1 , ** d )",
         "call f with arguments all items of a with keywords k as 1 and all entries of d"),
        ("f ( x ) . y . z ( ... )",
         "call attribute z of attribute y of the result of calling f with arguments x"
         " with arguments an ellipsis"),
        ("_STR:0_ . join ( x for x in y if x )",
         "call attribute join of _STR:0_ with arguments"
         " the series of x over each x of y where x"),
        ("yield x", "evaluate the answer to handing out x"),
        ("if ( n := f ( ) ) :", "check whether named expr of n and the result of calling f"),
        ("while True :", "repeat as long as True"),
        ("for i , x in enumerate ( y ) :",
         "go over each the tuple of i and x of the result of calling enumerate with arguments y"),
        ("async for x in y :", "asynchronously go over each x of y"),
        ("with open ( f ) as g , h :",
         "work within the result of calling open with arguments f named g and h"),
        ("def f ( ) :", "define function f without parameters"),
        ("def f ( a , / , b : int = 1 , * c , d , ** e ) -> str :",
         "define function f with parameters a by place only , b of type int by default 1 , "
         "any further values c , d by name only and any further keywords e that gives str"),
        ("class A ( B , metaclass = C ) :",
         "define class A derived from B with keywords metaclass as C"),
        ("key = lambda x : x . y",
         "assign a function with parameters x that gives x . y to key"),
    ],
)  # fmt: skip
def test_descriptions(target, source):
    assert describe(target) == source


@pytest.mark.parametrize(
    "target", ["else :", "try :", "@ cache", "if x : y ( )", "a = 1 ; b = 2", "_STR:0_", "a . b"]
)
def test_what_is_no_single_statement_is_not_described(target):
    assert describe(target) == ""


LIBRARY = '''\
"""A docstring."""
import os  # a comment
CALL = join(path, # another
            'a' "b", 'c',
            b'c', 'c')
@decorated
def f(x):
    """Another docstring."""
    if x: return 1
    value = f"{x}" + rF"{x}"
    a = 1; b = 2
    return (x)
    return x
'''


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", {"stdlib": str(tmp_path)}.__getitem__)
    return tmp_path


def test_statements_of_a_library_written_by_hand(library):
    for folder in ("a", "test", "b/tests", "site-packages"):
        (library / folder).mkdir(parents=True)
    (library / "a" / "m.py").write_text(LIBRARY)
    for folder in ("test", "b/tests", "site-packages"):
        (library / folder / "m.py").write_text("never = read\n")
    task = PyLines(train=100, valid=1, test=1)
    assert {example.target for split in SPLITS for example in task.split(split)} == {
        "import os",
        "CALL = join ( path , _STR:0_ , _STR:1_ , _STR:2_ , _STR:1_ )",
        "def f ( x ) :",
        "return ( x )",  # `return x` has the same description and comes later
    }


def test_files_are_evenly_spread_over_the_sorted_library(library):
    for name in "gbdafce":
        (library / f"{name}.py").write_text("")
    assert [path.stem for path in library_files(library, 3)] == ["a", "c", "e"]
    assert [path.stem for path in library_files(library, 50)] == list("abcdefg")


def test_library_without_sources_is_an_error(library):
    with pytest.raises(DataError, match="expected Python files in the standard library"):
        PyLines().split("train")


def test_too_few_statements_are_an_error(library):
    (library / "m.py").write_text("a = 1\nb = 2\n")
    with pytest.raises(DataError, match=r"must be less than 2, the statements found, got 2: set"):
        PyLines(valid=1, test=1).split("train")
