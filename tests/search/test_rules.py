"""Gaps, prefixes and keywords as a user writes them."""

import pytest

from voi.data import Example
from voi.errors import DataError
from voi.search import rules_with_gaps, rules_with_keywords, rules_with_prefix
from voi.tokens import build_codec

CODEC = build_codec({}, [Example("x y", "def f ( x ) : return x")])


def _ids(text):
    return tuple(CODEC.encode_target(text, None))


def test_gaps_open_only_where_they_stand():
    rule = rules_with_gaps("def ___ ( x ) : return ___", CODEC, None)
    assert rule.given == _ids("def ( x ) : return")
    assert rule.gaps == rule.open_slots
    assert [i for i, gap in enumerate(rule.gaps) if gap] == [1, 6]


def test_gaps_and_prefixes_of_code_are_cut_as_code():
    codec = build_codec(
        {"pretokenizer": "code"}, [Example("x", "if x:\n    a = foo(x) + y\nself.x = foo(y)")]
    )

    def ids(*words):
        return tuple(codec.target_ids(words, None))

    assert rules_with_gaps("x = ___ + y", codec, None).given == ids("x", "=", "+", "y")
    nested = rules_with_gaps("if x:\n    ___ = foo(___)", codec, None)
    assert nested.given == ids("if", "x", ":", "⏎", "⇥", "=", "foo", "(", ")")
    assert [i for i, gap in enumerate(nested.gaps) if gap] == [5, 8]
    assert rules_with_prefix("self.x = foo (", codec, None).given == ids(
        "self", ".", "x", "=", "foo", "("
    )
    assert rules_with_prefix("if x:\n    ", codec, None).given == ids("if", "x", ":", "⏎", "⇥")


def test_a_gap_may_come_first_and_two_together_are_one():
    rule = rules_with_gaps("___ ___ x", CODEC, None)
    assert rule.given == _ids("x")
    assert rule.gaps == (True, False)


def test_nothing_but_a_gap():
    assert rules_with_gaps("___", CODEC, None).gaps == (True,)


def test_prefix_is_continued_at_its_end():
    rule = rules_with_prefix("def f", CODEC, None)
    assert (rule.given, rule.open_slots, rule.gaps) == (
        _ids("def f"),
        (False, False, True),
        (False, False, False),
    )


@pytest.mark.parametrize("in_order", [False, True])
def test_a_keyword_without_a_token(in_order):
    with pytest.raises(DataError, match=r"one in \['x', ' '\] has no token: leave it out"):
        rules_with_keywords(["x", " "], CODEC, None, in_order=in_order)


def test_keywords():
    words = ["x", "return"]
    free = rules_with_keywords(words, CODEC, None, in_order=False)
    assert (free.given, free.required) == ((), tuple((i,) for i in _ids("x return")))
    whole = rules_with_keywords(["x return", "x"], CODEC, None, in_order=False)
    assert whole.required == (_ids("x return"), _ids("x"))
    fixed = rules_with_keywords(words, CODEC, None, in_order=True)
    assert (fixed.given, fixed.open_slots) == (_ids("x return"), (True, True, True))


def test_letters_that_no_piece_has_are_named():
    codec = build_codec({"kind": "bpe", "size": 40}, [Example("house", "house")] * 2)
    with pytest.raises(DataError, match=r"^'z', 'é' cannot stand in a text of this model"):
        rules_with_keywords(["house", "zé"], codec, None, in_order=False)


def test_what_cannot_be_written_is_named():
    with pytest.raises(DataError, match=r"'zebra' cannot stand .* vocabulary"):
        rules_with_gaps("def ___ zebra", CODEC, None)
    with pytest.raises(DataError, match="expected a text with ___"):
        rules_with_gaps("def f", CODEC, None)
