"""The canonical form of Django, on lines of our own; the rules are those of the published files."""

import pytest

from shared_data import shared_data
from voi.data.django_canonical import (
    canonical_code,
    canonical_description,
    canonical_pair,
    numbered_strings,
)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("import module os.", "import module os ."),
        (
            "call a.b, which is a.b.c of it.",
            "call a.b [ a . b ] , which is a.b.c [ a . b . c ] of it .",
        ),
        ("append 'x' and 'y' and 'x' to z,", "append _STR:0_ and _STR:1_ and _STR:0_ to z ,"),
        ("replace the '%s' with 'a b c'.", "replace the ' % s ' with _STR:0_ ."),
        ("do this.   then do that,", "do this . then do that ,"),
        ("as e. then raise it", "as e. then raise it"),
        ('where "it\'s" is said', "where _STR:0_ is said"),
        ("split at 'a\\'b'.", "split at _STR:0_ ."),
    ],
)
def test_descriptions(description, words):
    assert canonical_description(description, numbered_strings(description)) == words


@pytest.mark.parametrize(
    ("code", "tokens"),
    [
        ("x.y = f(a, **b)", "x . y = f ( a , ** b )"),
        ("  if not x:", "if not x :pass"),
        ("else:", "if True: pass _newline_ else :pass"),
        ("elif x:", "if True: pass _newline_ elif x :pass"),
        ("try:", "try :pass _newline_ except: pass"),
        ("except A as e:", "try: pass _newline_ except A as e :pass"),
        ("finally:", "try: pass _newline_ finally :pass"),
        ("@cached(1)", "@ cached ( 1 ) _newline_ def dummy(): pass"),
        ("def f(self): return 1", "def f ( self ) : return 1"),
        ("x = 'not closed", "x = 'not closed"),
    ],
)
def test_lines_of_code(code, tokens):
    assert canonical_code(code, {}) == tokens


def test_strings_are_numbered_alike_on_both_sides():
    source, target = canonical_pair(
        """join "a" and 'b', raw string 'c'.""", """join('b', "a", r'c', 'd', b"b")"""
    )
    assert source == "join _STR:0_ and _STR:1_ , raw string _STR:2_ ."
    assert target == "join ( '_STR:1_' , '_STR:0_' , r'_STR:2_' , 'd' , b'_STR:1_' )"


def test_published_code_is_canonical_already():
    """Every header of the published targets is completed as `canonical_code` completes it."""
    endings = {"else": 0, "try": 0, "finally": 0}
    whole = {canonical_code(f"{word}:", {}): word for word in endings}
    for line in shared_data("django", "train.tgt").read_text("utf-8").splitlines():
        if line in whole:
            endings[whole[line]] += 1
        else:
            assert not line.startswith(tuple(f"{word} :" for word in endings))
    assert all(endings.values())
