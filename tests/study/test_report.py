"""The page of a study: one file, safe text, and, in a real browser, a gallery that works."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from browser import Page, browser
from drawn import HEBREW, HOSTILE, SCRIPTS, SIXTY, partial_sentences, trace_of
from voi.analysis import read_traces
from voi.errors import DataError
from voi.plots.stepper import RegionView
from voi.study import Series, report_page, study, study_figures, write_study
from voi.study.files import to_json

ATTACK = "</script><script>document.documentElement.dataset.broken = 1</script>"
IMAGE = "<img src=x onerror=document.documentElement.dataset.broken=1>"
TRACES = [
    trace_of(["A", "F", "B", "C"], order=[2, 1, 0, 3], source="from-left a b c d"),
    trace_of([ATTACK, IMAGE, "</svg>", "&lt;"], source=ATTACK),
    trace_of(SIXTY),
    trace_of([*SCRIPTS, *HEBREW]),
    trace_of(HOSTILE),
    *[trace_of(["a", "<i>", "c"])] * 5,
    *[trace_of(["a", IMAGE], order=[0, 1])] * 6,
]
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


@pytest.fixture(scope="module")
def made():
    """A study of two runs, the second one of images."""
    views = [RegionView(PIXEL, [[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]], [[0.25, 1.0]] * 4)]
    counts = {"A": 3, IMAGE: 20}
    samples = [replace(trace, samples=(trace.order, trace.order)) for trace in TRACES]
    first = Series(f"mine {IMAGE}", "learned", samples, counts)
    return study(
        [first, Series("other", "generated", TRACES, counts, views=views)], num_resamples=20
    )


@pytest.fixture(scope="module")
def figures(made):
    return study_figures(made)


@pytest.fixture(scope="module")
def page(made, figures):
    return report_page(made, figures, title=f"Orders {ATTACK}")


def test_no_text_becomes_a_tag(page):
    read = Page(page)
    names = [tag for tag, _ in read.tags]
    assert names.count("script") == 2
    assert not {"img", "b"} & set(names)
    assert read.words("h1") == f"Orders {ATTACK}"
    assert IMAGE in read.words("td")
    assert "<i>" in read.words("text")  # of a figure
    assert read.words("h3").startswith(f"mine {IMAGE}, learned")
    data = json.loads("".join(read.inside["data"]))
    assert tuple(data["examples"][1][0]["tokens"]) == TRACES[1].tokens


def test_the_page_needs_nothing_else(page):
    assert not re.search(r"https?:|@import", page)
    read = Page(page)
    assert not {"link", "iframe"} & {tag for tag, _ in read.tags}
    links = [names["href"] for tag, names in read.tags if tag == "a"]
    assert all(link.startswith("#") for link in links)
    parts = {names.get("id") for _, names in read.tags}
    assert {link[1:] for link in links} <= parts
    assert page.count("default-src 'none'") == 1


def test_names_inside_figures_are_unique(page, figures):
    read = Page(page)
    found = [names["id"] for _, names in read.tags if names.get("id")]
    assert len(found) == len(set(found))
    assert [tag for tag, _ in read.tags].count("svg") == len(figures) == 10
    used = set(re.findall(r'(?:url\(#|href="#)([\w.-]+)', page))
    assert used <= set(found)


def test_words_tables_and_omissions_are_there(page):
    read = Page(page)
    assert "The closest fixed order is" in read.words("words")
    assert "no tagger was given" in read.words("li")
    assert "NLD by length" in read.words("summary")
    assert len([1 for tag, _ in read.tags if tag == "table"]) == 10


def test_figures_are_for_both_themes(page):
    assert "light-dark(#1a1a1a, #ecedee)" in page  # text
    assert "light-dark(#0072b2, #56b4e9)" in page  # the first series
    assert not re.search(r"(?<!light-dark\()#1a1a1a\b(?!, #ecedee)", page.split("<svg", 1)[1])


def test_a_long_study_shows_the_first_examples(made):
    many = replace(made.series[1], traces=TRACES[-1:] * 330, views=())
    text = report_page(study([many], num_resamples=2))
    assert "The first 200 of 330 examples." in text
    data = json.loads("".join(Page(text).inside["data"]))
    assert len(data["examples"]) == 200
    assert "pip install" in text  # there are no figures


def test_files_hold_what_the_tables_do(made, figures, tmp_path):
    write_study(made, tmp_path / "new" / "out", figures=figures[:1], suffix=".png")
    out = tmp_path / "new" / "out"
    stored = json.loads((out / "statistics.json").read_text())
    files = [*out.glob("traces/*"), *out.glob("figures/*")]
    assert {out / name for name in stored.pop("files")} == set(files)
    assert stored == json.loads(json.dumps(to_json(made)))
    tables = {path.stem for path in (out / "tables").iterdir()}
    assert {*stored["tables"], "tokens"} == tables  # of tokens there are the traces
    for name, rows in stored["tables"].items():
        with open(out / "tables" / f"{name}.csv", newline="", encoding="utf-8") as file:
            read = list(csv.DictReader(file))
        assert len(read) == len(rows)
        for line, row in zip(read, rows, strict=True):
            assert list(line) == list(row)
            numbers = {key: value for key, value in row.items() if isinstance(value, float)}
            assert {key: float(line[key]) for key in numbers} == numbers
    learned, generated = sorted((out / "traces").iterdir())
    assert [trace.order for trace in read_traces(generated)] == [t.order for t in TRACES]
    assert learned.name.startswith("1-mine-img-src")
    assert (out / "figures" / f"{figures[0].name}.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_only_files_of_an_earlier_study_go(made, figures, tmp_path):
    mine = [tmp_path / name for name in ("figures/1-mine.pdf", "traces/2024-mine.jsonl", "mine")]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    write_study(made, tmp_path, figures=figures[:2])
    assert all(path.exists() for path in mine)
    stored = json.loads((tmp_path / "statistics.json").read_text())
    earlier = [tmp_path / name for name in stored["files"]]
    assert len(earlier) == 4
    assert all(path.is_file() for path in earlier)
    (tmp_path / "statistics.json").write_text(
        json.dumps({"files": [*stored["files"], "mine", "figures", "figures/../mine"]})
    )
    write_study(study([made.series[1]], num_resamples=2), tmp_path)
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert not any(path.exists() for path in earlier)


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"files": 3}', '{"files": [3]}'])
def test_statistics_of_something_else_name_no_files(made, tmp_path, text):
    (tmp_path / "statistics.json").write_text(text)
    write_study(study([made.series[1]], num_resamples=2), tmp_path)
    assert "files" in json.loads((tmp_path / "statistics.json").read_text())


def test_a_folder_that_cannot_be_written(made, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="--out"):
        write_study(made, tmp_path / "file")


# ---- in a browser

WATCH = """<script>
const faults = [];
const blame = (...fault) => {
  faults.push(...fault);
  document.documentElement.dataset.faults = JSON.stringify(faults);
};
addEventListener("error", (event) => blame(String(event.message)), true);
addEventListener("securitypolicyviolation", (event) => blame(event.violatedDirective));
blame();
</script>"""

PLAN = """<script>
const seen = [];
const look = (name) => seen.push([
  name, document.getElementById("count").textContent,
  document.querySelector(".sentence").textContent.trim(), location.hash,
]);
const press = (target, key) => target.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
look("start");
document.getElementById("next").click(); look("next");
press(document.body, "End"); look("a key elsewhere");
press(document.getElementById("stepper"), "End"); look("a key inside");
seen.push(["boxes", ...[...document.querySelectorAll(".box")].map((box) => box.style.opacity)]);
location.hash = "#tables";
setTimeout(() => {
  look("another part");
  location.hash = "#example=16&step=1";
  setTimeout(() => {
    look("address");
    document.getElementById("play").click();
    setTimeout(() => {
      look("played");
      document.body.dataset.seen = JSON.stringify(seen);
    }, 2500);
  }, 500);
}, 500);
</script>"""


def test_the_gallery_steps_and_plays_without_faults(page, tmp_path):
    browse = browser(tmp_path)
    path = tmp_path / "report.html"
    path.write_text(
        page.replace("<title>", WATCH + "<title>").replace("</body>", PLAN + "</body>"),
        encoding="utf-8",
    )
    read = browse(path)
    (root,) = (names for tag, names in read.tags if tag == "html")
    assert json.loads(root["data-faults"]) == []
    (body,) = (names for tag, names in read.tags if tag == "body")
    seen = {name: rest for name, *rest in json.loads(body["data-seen"])}
    steps = partial_sentences(TRACES[0])
    assert seen["start"] == ["Step 0 of 4", "", ""]
    assert seen["next"] == ["Step 1 of 4", steps[0], "#example=1&step=1"]
    assert seen["a key elsewhere"] == seen["next"]
    assert seen["a key inside"] == ["Step 4 of 4", steps[3], "#example=1&step=4"]
    assert seen["boxes"] == ["0.25", "1"]
    assert seen["another part"] == ["Step 4 of 4", steps[3], "#tables"]
    assert seen["address"] == ["Step 1 of 2", "a", "#example=16&step=1"]
    assert seen["played"] == ["Step 2 of 2", f"a {IMAGE}", "#example=16&step=2"]


def test_text_stays_text_in_the_browser(page, tmp_path):
    browse = browser(tmp_path)
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    read = browse(path, "#example=2&step=4")
    assert read.words("sentence").split("  ")[0].startswith(" ".join(TRACES[1].tokens))
    assert read.words("source").startswith(ATTACK)
    assert read.words("h1") == f"Orders {ATTACK}"
    assert "<i>" in read.words("text")
    (root,) = (names for tag, names in read.tags if tag == "html")
    assert "data-broken" not in root


def test_numbers_of_a_figure_are_those_of_the_table(made, figures):
    figure = next(f for f in figures if f.name == "1-references").draw("light")
    bars = sorted(patch.get_width() for patch in figure.axes[0].patches)
    rows = made.rows("overall", series=made.series[0].name, metric="nld")
    np.testing.assert_allclose(bars, sorted(row.values["mean"] for row in rows))
