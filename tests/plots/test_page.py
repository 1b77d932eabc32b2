"""The page of generations: one file, safe text, and, in a real browser, steps that work."""

import json
import re

import pytest

from browser import Page, browser
from drawn import HOSTILE, SCRIPTS, WORDS, partial_sentences, trace_of
from voi.plots import generation_page

ATTACK = "</script><script>document.body.dataset.broken = 1</script>"
TRACE = trace_of(["A", "F", "B", "C", "A"], order=[2, 1, 0, 4, 3], source="from-left a b c d e")
SCORED = trace_of(
    WORDS[:3], score=-1.25, token_scores=(-0.5, -0.25, 0.0, -0.1), slot_scores=(0.0, -1.0, -2.0)
)


def page_of(path):
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "page.html"


def test_the_data_comes_back_whatever_the_tokens_say(path):
    trace = trace_of([ATTACK, "<!--", "{{DATA}}", "\u2028", "\ud800", *HOSTILE, *SCRIPTS])
    generation_page({"a": [trace], "<i>": [SCORED]}, path)
    data = json.loads("".join(page_of(path).inside["data"]))
    assert data["runs"] == ["a", "<i>"]
    assert tuple(data["examples"][0][0]["tokens"]) == trace.tokens
    assert tuple(data["examples"][0][0]["order"]) == trace.order
    assert data["examples"][0][1]["score"] == SCORED.score


def test_no_text_becomes_a_tag(path):
    generation_page({ATTACK: [trace_of([ATTACK], source=ATTACK)]}, path, title=ATTACK)
    page = page_of(path)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert page.words("h1") == page.words("title") == ATTACK


def test_the_page_needs_nothing_else(path):
    generation_page([TRACE], path)
    assert not {"link", "img", "iframe"} & {tag for tag, _ in page_of(path).tags}
    assert not any({"src", "href"} & set(names) for _, names in page_of(path).tags)
    assert not re.search(r"https?:|@import|url\(", path.read_text())
    assert len(path.read_bytes()) < 20_000


def test_controls_have_names_and_the_page_has_a_language(path):
    generation_page([TRACE], path)
    page = page_of(path)
    assert ("html", {"lang": "en"}) in page.tags
    assert {"header", "main", "h1"} <= {tag for tag, _ in page.tags}
    assert all(page.words(name) for name in ("previous", "play", "next"))
    (slider,) = (names for tag, names in page.tags if tag == "input")
    assert slider["aria-label"] == "Step"


@pytest.mark.parametrize(
    ("theme", "scheme"), [("auto", "light dark"), ("dark", "dark"), ("light", "light")]
)
def test_the_theme_is_the_readers_unless_one_is_given(path, theme, scheme):
    generation_page([TRACE], path, theme=theme)
    assert f"color-scheme: {scheme};" in path.read_text()


@pytest.mark.parametrize(
    ("traces", "message"),
    [
        ([], "at least one trace"),
        ({}, "at least one trace"),
        ({"a": [TRACE], "b": []}, "at least one trace"),
        ({"a": [TRACE], "b": [TRACE, TRACE]}, "side by side"),
    ],
)
def test_runs_must_pair_up(path, traces, message):
    with pytest.raises(ValueError, match=message):
        generation_page(traces, path)
    assert not path.exists()


# ---- in a browser


@pytest.fixture
def browse(tmp_path):
    return browser(tmp_path)


def test_the_address_says_the_step(path, browse):
    generation_page({"left": [SCORED, TRACE], "right": [TRACE, SCORED]}, path)
    page = browse(path, "#example=2&step=4")
    assert page.words("count") == "Step 4 of 5"
    assert page.words("sentence") == f"{partial_sentences(TRACE)[3]} {' '.join(WORDS[:3])}"
    left, right = SCORED.order[-1], TRACE.order[3]
    assert page.words("mark") == f"{TRACE.tokens[right]} {SCORED.tokens[left]}"
    assert (
        page.words("note") == "Step 4 of 5 Step 3 of 3 · p(token) 1.0 · p(slot) 0.14 · log p -1.25"
    )
    assert page.words("h2") == "left right"


def test_text_stays_text_in_the_browser(path, browse):
    tokens = [ATTACK, "<img src=x onerror=document.body.dataset.broken=1>", "\n", ""]
    generation_page({ATTACK: [trace_of(tokens, source=ATTACK)]}, path, title=ATTACK)
    page = browse(path, "#step=4")
    assert page.words("sentence") == f'{tokens[0]} {tokens[1]} \\n ""'
    assert page.words("source") == page.words("h2") == ATTACK
    assert not {"img"} & {tag for tag, _ in page.tags}
    (body,) = (names for tag, names in page.tags if tag == "body")
    assert "data-broken" not in body


PLAN = """
<script>
const seen = [];
const look = (name) => seen.push([
  name, document.getElementById("count").textContent,
  document.querySelector(".sentence").textContent.trim(), location.hash,
  document.getElementById("play").textContent,
]);
const press = (key) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const click = (id) => document.getElementById(id).click();
const set = (id, value, kind) => {
  document.getElementById(id).value = value;
  document.getElementById(id).dispatchEvent(new Event(kind, { bubbles: true }));
};
look("start");
click("previous"); look("before the first");
click("next"); look("next");
press("ArrowRight"); look("right");
press("ArrowLeft"); look("left");
press("End"); look("end");
press("ArrowRight"); look("beyond");
press("Home"); look("home");
set("slider", 3, "input"); look("slider");
set("example", 1, "change"); look("second");
set("example", 0, "change");
click("next"); click("play"); look("playing");
setTimeout(() => { press(" "); look("paused"); press(" "); }, 1600);
setTimeout(() => {
  look("played");
  click("play");
  look("again");
  location.hash = "#example=2&step=1";
  setTimeout(() => {
    look("address");
    document.body.dataset.seen = JSON.stringify(seen);
  }, 1000);
}, 9000);
</script>
"""


def test_buttons_keys_slider_and_playback(path, browse):
    generation_page([TRACE, SCORED], path)
    path.write_text(path.read_text().replace("</body>", PLAN + "</body>"))
    (body,) = (names for tag, names in browse(path).tags if tag == "body")
    seen = {name: rest for name, *rest in json.loads(body["data-seen"])}
    steps = ["", *partial_sentences(TRACE)]

    def at(step, button="Play"):
        return [f"Step {step} of 5", steps[step], f"#example=1&step={step}", button]

    assert seen["start"] == ["Step 0 of 5", "", "", "Play"]
    assert seen["before the first"] == ["Step 0 of 5", "", "", "Play"]
    assert seen["next"] == at(1)
    assert seen["right"] == at(2)
    assert seen["left"] == at(1)
    assert seen["end"] == seen["beyond"] == at(5)
    assert seen["home"] == at(0)
    assert seen["slider"] == at(3)
    assert seen["second"] == ["Step 0 of 3", "", "#example=2&step=0", "Play"]
    assert seen["playing"] == at(1, "Pause")
    assert seen["paused"] == at(3)  # two ticks of 700 ms within 1600 ms
    assert seen["played"] == at(5)  # playback ends by itself
    assert seen["again"] == at(0, "Pause")  # and begins anew
    first = partial_sentences(SCORED)[0]
    assert seen["address"] == ["Step 1 of 3", first, "#example=2&step=1", "Play"]
