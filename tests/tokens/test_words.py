from hypothesis import given, settings
from hypothesis import strategies as st

from voi.tokens.words import Folded, Words, without_diacritics


@given(st.text())
@settings(deadline=None)
def test_round_trip_keeps_all_but_white_space(text):
    tokens = Words().target_tokens(text)
    assert Words().text(tokens) == " ".join(text.split())
    assert Words().target_tokens(Words().text(tokens)) == tokens
    assert all(tokens)


def test_folding_takes_diacritics_from_the_source_alone():
    folded = Folded(Words(), lowercase=True, strip_diacritics=True)
    assert folded.source_tokens("Țara Mea") == ["tara", "mea"]
    assert folded.target_tokens("Café  Noir") == ["café", "noir"]
    assert folded.text(["café"]) == "café"


def test_folding_does_what_is_asked_and_no_more():
    assert Folded(Words(), lowercase=True).source_tokens("Țara") == ["țara"]
    assert Folded(Words(), strip_diacritics=True).source_tokens("Țara") == ["Tara"]


def test_romanian_letters():
    # both encodings of s and t: cedilla (U+015F, U+0163) and comma below (U+0219, U+021B)
    assert without_diacritics("ăâîşșţțĂÂÎŞȘŢȚ") == "aaissttAAISSTT"
    assert without_diacritics("한국어 plain") == "한국어 plain"


def test_a_lone_mark_is_no_token():
    assert Folded(Words(), strip_diacritics=True).source_tokens("a \u0301 b") == ["a", "b"]
