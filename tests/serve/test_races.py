"""The page's scripts in node, on a page of stand-ins: what is chosen while a request is under way.

A browser would answer when it likes; here each request waits until the plan answers it.
"""

import json
import shutil
import subprocess

import pytest

from voi.plots.stepper import template

PAGE = """
class Element {
  children = []; dataset = {}; style = {}; value = ""; textContent = ""; listeners = {};
  classList = { add() {}, toggle() {} };
  append(...parts) { this.children.push(...parts); }
  replaceChildren(...parts) { this.children = parts; }
  addEventListener(name, act) { this.listeners[name] = act; }
  querySelector() { return new Element(); }
  querySelectorAll() { return []; }
  dispatchEvent() {}
  setAttribute() {}
}
const elements = {}, waiting = {};
const byId = (id) => (elements[id] ??= new Element());
const buttons = ["generate", "infer", "bound"].map(byId);
const CHOSEN = { mode: "free", method: "beam", by: "mode" };
globalThis.document = {
  getElementById: (id) => (id === "data" ? null : byId(id)),
  createElement: () => new Element(),
  querySelector: (text) => ({ value: CHOSEN[text.match(/name=(\\w+)/)[1]] }),
  querySelectorAll: (text) => (text === "#inputs button" ? buttons : []),
};
globalThis.addEventListener = () => {};
globalThis.history = { replaceState() {} };
globalThis.location = { hash: "" };
globalThis.matchMedia = () => ({ matches: true });
globalThis.fetch = (path) => new Promise((done) => {
  waiting[path] = (answer) => done({ ok: true, json: async () => answer });
});
const settled = () => new Promise((done) => setTimeout(done, 5));
const answer = async (path, table) => { waiting[path](table); await settled(); };
byId("stepper").dataset.keys = "inside";
byId("generate").textContent = "Write";
byId("infer").textContent = "Infer";
setTimeout(() => waiting["/api/about"]({
  source: "image", images: ["A", "B"], examples: [], note: "", inserts: true, gap: "___",
  run: "", task: "", order: "", num_weights: 1, vocabulary_size: 1, limits: {},
  defaults: { beam: 1, length_penalty: 0, max_length: 9 },
}), 5);
"""

PLAN = """
const seen = [];
const look = () => seen.push([byId("generate").textContent, byId("generate").disabled]);
const image = (name) => ({ name, image: "", boxes: [[0, 0, 1, 1]], labels: [""] });
const choose_image = (name) => {
  byId("image").value = name;
  byId("image").listeners.change();
};
const shown = (name) => answer(`/api/image?name=${name}`, image(name));
const submit = (form) => byId(form).listeners.submit({ preventDefault() {} });
const written = {
  target: "a", tokens: ["a"], order: [0], slots: [0], score: 0, kind: "generated",
  token_scores: [0, 0], slot_scores: [0], given: { positions: [], gaps: [], num_first: 0 },
  opacities: [[0.5]],
};
"""


@pytest.fixture
def seen(tmp_path):
    """Return a function that runs a plan on the page and returns what the plan has seen."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: what is chosen during a request is not tried")

    def run(plan):
        scripts = template("voi.plots", "stepper.js"), template("voi.serve", "playground.js")
        path = tmp_path / "page.mjs"
        path.write_text("\n".join([PAGE, *scripts, "{", PLAN, plan, "}"]), encoding="utf-8")
        done = subprocess.run([node, path], capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr == ""
        return json.loads(done.stdout)

    return run


START = 'choose_image("A"); await shown("A"); look();'
END = "look(); console.log(JSON.stringify(seen));"
WORKING, IDLE = ["Working …", True], ["Write", False]


@pytest.mark.parametrize("is_preview_first", [True, False])
def test_buttons_wait_for_a_request_and_a_preview(seen, is_preview_first):
    answers = ['await shown("B");', 'await answer("/api/generate", { hypotheses: [written] });']
    first, second = answers if is_preview_first else answers[::-1]
    found = seen(f'{START} submit("write"); choose_image("B"); {first} look(); {second} {END}')
    assert found == [IDLE, WORKING, IDLE]


@pytest.mark.parametrize(
    ("form", "path", "key"),
    [("write", "/api/generate", "hypotheses"), ("known", "/api/order", "orders")],
)
def test_an_answer_is_drawn_on_the_image_it_describes(seen, form, path, key):
    found = seen(
        f'{START} submit("{form}"); choose_image("B"); await shown("B");'
        f'await answer("{path}", {{ {key}: [written], unknown: [] }});'
        f"seen.push(examples[0][0].regions.name); {END}"
    )
    assert found[1] == "A"


def test_a_form_that_is_sent_by_a_key_waits_as_the_button_does(seen):
    found = seen(
        f'{START} submit("write"); delete waiting["/api/order"]; submit("known");'
        f'seen.push("/api/order" in waiting);'
        f'await answer("/api/generate", {{ hypotheses: [written] }}); {END}'
    )
    assert found == [IDLE, False, IDLE]
