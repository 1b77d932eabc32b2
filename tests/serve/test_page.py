"""The page in a real browser: it loads without faults, writes, steps, and keeps text as text."""

import json
from dataclasses import replace

import pytest

from browser import browser
from serve_models import HOSTILE, file_model, serving
from voi.serve import Playground

WATCH = """
const faults = [];
const blame = (...fault) => {
  faults.push(...fault);
  document.documentElement.dataset.faults = JSON.stringify(faults);
};
addEventListener("error", (event) => blame(String(event.message)), true);
addEventListener("unhandledrejection", (event) => blame(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => blame(event.violatedDirective));
blame();
"""

PLAN = """
const seen = {};
const until = async (isDone) => {
  while (!isDone()) await new Promise((done) => setTimeout(done, 50));
};
const working = () => find("generate").disabled;
const texts = (selector) => [...document.querySelectorAll(selector)].map((x) => x.textContent);
const look = () => ({
  texts: texts("#list .text"), given: texts("#list .given"), sentence: texts(".sentence"),
  rows: texts("#table .token"), current: texts("#table [aria-current=step] .token"),
  count: find("count").textContent, error: find("error").hidden ? "" : find("error").textContent,
  gaps: texts(".sentence .gap"),
});
const pick = (name, value) => document.querySelector(`[name=${name}][value=${value}]`).click();
const press = async (id) => {
  find(id).click();
  await until(() => !working());
};
await until(() => find("samples").children.length && !working());
seen.about = find("about").textContent;
seen.source = find("source").value;
await press("generate");
await until(() => find("play").textContent === "Play");
seen.free = look();
pick("mode", "gaps");
find("gaps").value = "B ___ A";
await press("generate");
goPaused(2);
seen.gaps = look();
goPaused(3);
seen.filled = look();
find("gaps").value = "<b>x</b> ___";
await press("generate");
seen.wrong = look();
find("tab-known").click();
find("target").value = "A B C";
pick("by", "beam");
await press("infer");
seen.order = look();
await press("bound");
seen.bound = texts("#bounds dt");
seen.knows = [find("unknown").hidden];
find("target").value = "A zebra";
await press("bound");
seen.knows.push(find("unknown").textContent);
document.body.dataset.seen = JSON.stringify(seen);
"""


def with_scripts(server, *scripts):
    """Let the page run more scripts: the first before its own, the others after them."""
    files = dict(server.files)
    page = files["/"].text
    for number, text in enumerate(scripts):
        files[f"/{number}.js"] = replace(files["/stepper.js"], text=text)
        tag = f'<script type="module" src="/{number}.js"></script>'
        if number:
            page = page.replace("</body>", f"{tag}</body>")
        else:
            page = page.replace("<body>", f'<body><script src="/{number}.js"></script>')
    files["/"] = replace(files["/"], text=page)
    server.files = files


def attributes(page, tag):
    return next(names for name, names in page.tags if name == tag)


@pytest.fixture
def browse(tmp_path):
    return browser(tmp_path)


def test_writing_stepping_and_scoring(model, browse):
    with serving(Playground(model, "runs/chain")) as server:
        with_scripts(server, WATCH, PLAN)
        page = browse(server.url)
        assert json.loads(attributes(page, "html")["data-faults"]) == []
        seen = json.loads(attributes(page, "body")["data-seen"])
        source = server.playground.about()["examples"][0]["source"]
    assert seen["about"].startswith("runs/chain · task chain · order voi")
    assert seen["source"] == source
    best = model.generate([source], beam=5, nbest=5)[0]
    free = seen["free"]
    assert free["texts"] == [hypothesis.text for hypothesis in best]
    steps = [best[0].tokens[i] for i in best[0].order]
    assert free["rows"] == [*steps, "end"]
    assert free["count"] == f"Step {len(steps)} of {len(steps)}"  # it played to its end
    assert free["current"] == steps[-1:]
    assert seen["gaps"]["given"][:2] == ["B", "A"]
    assert seen["gaps"]["sentence"] == ["B ___ A "]
    assert seen["gaps"]["gaps"] == ["___"]
    assert seen["filled"]["gaps"] == []
    assert seen["filled"]["sentence"][0].split()[::2] == ["B", "A"]
    assert seen["wrong"]["error"].startswith("'<b>x</b>' cannot stand")
    assert seen["order"]["error"] == ""
    assert sorted(seen["order"]["texts"][0].split(" → ")) == ["A", "B", "C"]
    assert seen["bound"][0] == "exact, over all orders"
    assert seen["knows"] == [True, "not in the vocabulary, scored as the unknown token: zebra"]


def test_text_stays_text(tmp_path, browse):
    model = file_model(tmp_path, f"{HOSTILE}\t{HOSTILE} {HOSTILE}\n" * 3)
    plan = PLAN.split('await press("generate");')[0]
    plan += """
pick("mode", "gaps");
await press("generate");
goPaused(9);
seen.gaps = look();
document.body.dataset.seen = JSON.stringify(seen);
"""
    with serving(Playground(model, HOSTILE)) as server:
        with_scripts(server, WATCH, plan)
        page = browse(server.url)
    body = attributes(page, "body")
    assert json.loads(attributes(page, "html")["data-faults"]) == []
    assert "data-broken" not in body
    seen = json.loads(body["data-seen"])
    assert seen["source"] == HOSTILE
    assert seen["about"].startswith(HOSTILE)
    assert HOSTILE in seen["gaps"]["rows"]
    assert seen["gaps"]["sentence"][0].startswith(HOSTILE)
    assert seen["gaps"]["texts"][0].startswith(HOSTILE)
    assert "img" not in {tag for tag, _ in page.tags}
