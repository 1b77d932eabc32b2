"""Text in figures: what is shown of it, which fonts have it, where its lines break."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.font_manager import fontManager, get_font

from voi.plots.canvas import drawing
from voi.plots.lettering import (
    BASE_FAMILY,
    Lettering,
    Ruler,
    is_right_to_left,
    lettering_for,
    visible,
)


@pytest.fixture(scope="module")
def ruler():
    with drawing():
        yield Ruler(lettering_for("plain"), 10.0)


@given(st.text(st.characters()))
@settings(max_examples=200, deadline=None)
def test_what_is_shown_is_one_line_of_valid_xml(token):
    shown = visible(token)
    assert shown.strip()
    assert len(shown.splitlines()) == 1
    shown.encode()  # no surrogates
    assert not any(c in "\ufffe\uffff\u202e" or ord(c) < 32 for c in shown)


@pytest.mark.parametrize("token", ["\u200b", " \u200d", "\u2060"])
def test_what_has_no_width_is_spelled_out(token):
    assert visible(token).isascii()


@pytest.mark.parametrize(
    ("text", "answer"), [("שלום world", False), ("שלום רב a", True), ("12", False), ("", False)]
)
def test_direction_is_that_of_most_letters(text, answer):
    assert is_right_to_left(text) is answer


def test_fallback_fonts_have_what_the_first_lacks():
    text = "aの∑"  # DejaVu Sans lacks の; STIX, which comes with matplotlib, has it
    lettering = lettering_for(text)
    assert not lettering.missing
    assert lettering.families[0] == BASE_FAMILY
    (other,) = lettering.families[1:-1]
    files = [entry.fname for entry in fontManager.ttflist if entry.name == other]
    assert any(ord("の") in get_font(file).get_charmap() for file in files)


def test_what_no_font_has_is_missing():
    lettering = lettering_for("a\U000ffffd")  # a private character of the last plane but one
    assert lettering.missing == {"\U000ffffd"}
    assert lettering.families == (BASE_FAMILY, "sans-serif")


words = st.lists(st.text("abcdefgh", min_size=1, max_size=40), min_size=1, max_size=20)


@given(words, st.floats(0.3, 5))
@settings(max_examples=100, deadline=None)
def test_lines_hold_all_words_and_fit(ruler, words, width):
    with drawing():
        lines = ruler.lines([(word, i % 2 == 0) for i, word in enumerate(words)], width)
        assert all(lines)
        assert "".join(part for line in lines for part, _ in line) == "".join(words)
        for line in lines:
            assert ruler.width_of_words([part for part, _ in line]) <= width + 1e-9


def test_a_line_ends_only_when_the_next_word_does_not_fit(ruler):
    with drawing():
        exact = ruler.width_of_words(["same", "same"])
        words = [("same", False)] * 3
        assert [len(line) for line in ruler.lines(words, exact)] == [2, 1]
        assert [len(line) for line in ruler.lines(words, exact - 0.01)] == [1, 1, 1]


def test_width_grows_with_the_size(ruler):
    with drawing():
        fresh = Ruler(lettering_for("plain"), 20.0).width("some words")
        assert ruler.width("some words") * 2 == pytest.approx(fresh, rel=0.01)
        assert ruler.resized(20.0).width("some words") == pytest.approx(fresh, rel=0.01)


@pytest.mark.parametrize("width", [0.05, 0.3, 1.0, 2.0])
def test_shortened_is_the_longest_beginning_that_fits(ruler, width):
    text = "WiMl" * 15
    with drawing():
        fitting = [text[:n] + "…" for n in range(60) if ruler.width(text[:n] + "…") <= width]
        assert ruler.shortened(text, width) == (fitting[-1] if fitting else "…")


def test_a_long_text_is_measured_a_few_times(monkeypatch):
    measured = []
    monkeypatch.setattr(Ruler, "_measured", lambda self, text: measured.append(text) or len(text))
    ruler = Ruler(lettering_for("x"), 10.0)
    assert ruler.shortened("x" * 1000, 50.5 * ruler.em) == "x" * 49 + "…"
    assert len(set(measured)) < 20


def test_shortened_text_fits(ruler):
    with drawing():
        assert ruler.shortened("short", 2.0) == "short"
        cut = ruler.shortened("a rather long name " * 5, 1.0)
        assert cut.endswith("…")
        assert 0.8 < ruler.width(cut) <= 1


def test_room_is_left_for_wide_characters_that_the_viewer_may_have(monkeypatch):
    monkeypatch.setattr(Ruler, "_measured", lambda self, text: 0.5 * len(text))
    ruler = Ruler(Lettering((BASE_FAMILY,), missing=frozenset("字\ue000")), 72.0)  # an inch an em
    assert ruler.width("字字ab") == 2 * 1.0 + 2 * 0.5
    assert ruler.width("\ue000a") == 2 * 0.5
