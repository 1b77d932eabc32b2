"""The documents agree with the code: labels, settings, links and examples."""

import dataclasses
import doctest
import inspect
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from small_runs import call
from talks import iwslt14, write_files
from voi import config, experiments
from voi.data import Example
from voi.data.files import FileTask
from voi.data.tasks import make_task
from voi.tokens import TokensConfig

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "voi").rglob("*.py"))
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*DOCS, *sorted(ROOT.glob("*.md"))]

# The heading of training.md under which the fields of a dataclass are listed.
SETTINGS = {
    config.DataConfig: "data",
    TokensConfig: "data.tokens",
    config.DecoderConfig: "decoder",
    config.OrderConfig: "order",
    config.ObjectiveConfig: "objective",
    config.TrainingConfig: "training",
    config.Phase: "training.phases",
    config.SearchConfig: "search",
}
PAIRS = ("chain", "addition", "stargraph", "sudoku4", "sorting", "pylines")
EMBEDDED = (*PAIRS, "scenes")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _page(task: str) -> Path:
    return ROOT / "docs" / "tasks" / f"{task}.md"


def _without_code(text: str) -> str:
    """Return a page without its fenced blocks and its code spans."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def _headings(path: Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+?) *$", text, flags=re.MULTILINE)


def _anchors(path: Path) -> set[str]:
    """Return what a link to a heading may say after #, as GitHub makes it."""
    anchors: set[str] = set()
    for heading in _headings(path):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        copies = (f"{plain}-{i}" for i in range(1, 100))
        anchors.add(plain if plain not in anchors else next(c for c in copies if c not in anchors))
    return anchors


def _section(path: Path, heading: str) -> str:
    """Return what stands between a heading and the next one."""
    parts = re.split(rf"^#+ {re.escape(heading)} *$", path.read_text(), flags=re.MULTILINE)
    assert len(parts) == 2, f"{_name(path)} has {len(parts) - 1} headings {heading!r}"
    return re.split(r"^#+ ", parts[1], flags=re.MULTILINE)[0]


def _table(path: Path, heading: str) -> dict[str, str]:
    """Return the rows `name | default | meaning` of a section: the default by the name."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| .+ \|$", _section(path, heading), re.MULTILINE)
    assert len(dict(rows)) == len(rows), f"{heading} lists a field twice"
    return dict(rows)


def _default(field: dataclasses.Field) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return list(field.default) if isinstance(field.default, tuple) else field.default


def _check_table(documented: dict[str, str], cls: type) -> None:
    fields = {field.name: field for field in dataclasses.fields(cls)}
    assert documented.keys() == fields.keys()
    for name, field in fields.items():
        if field.default is field.default_factory is dataclasses.MISSING:
            continue  # must be given
        said = tomllib.loads(f"value = {documented[name].strip('`')}")["value"]
        assert said == _default(field), f"{cls.__name__}.{name}"


def _labels() -> list[tuple[str, str]]:
    found = set()
    for path in SOURCES:
        found |= set(re.findall(r'(docs/[\w/-]+\.md),\s+"([^"]+)"', path.read_text()))
    return sorted(found)


@pytest.mark.parametrize(("page", "label"), _labels())
def test_labels_in_docstrings_are_headings(page, label):
    assert label in _headings(ROOT / page)


def test_some_labels_are_found():
    assert ("docs/math.md", "joint") in _labels()
    assert ("docs/orders.md", "Trace files") in _labels()


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_pages_named_in_the_code_exist(path):
    for page in re.findall(r"docs/[\w/-]+\.md", path.read_text()):
        assert (ROOT / page).is_file(), page


def test_every_dataclass_of_the_configuration_is_documented():
    classes = {
        value
        for _, value in inspect.getmembers(config, dataclasses.is_dataclass)
        if value.__module__ == "voi.config"
    }
    assert classes - SETTINGS.keys() == {config.Experiment}
    sections = {field.name for field in dataclasses.fields(config.Experiment)}
    assert sections <= set(SETTINGS.values())


@pytest.mark.parametrize(("cls", "heading"), SETTINGS.items(), ids=SETTINGS.values())
def test_fields_and_defaults_are_documented(cls, heading):
    _check_table(_table(ROOT / "docs" / "training.md", heading), cls)


@pytest.mark.parametrize("name", EMBEDDED)
def test_options_of_tasks_are_documented(name):
    default = make_task(name, {})
    _check_table(_table(_page(name), "Options"), type(default))


def test_every_embedded_task_and_every_task_of_the_paper_has_a_page():
    """Every preset is named on the page of its task."""
    pages = {path.stem for path in (ROOT / "docs" / "tasks").glob("*.md")} - {"index"}
    assert pages == {*EMBEDDED, "coco", "django", "gigaword", "wmt16-ro-en"}
    named = (ROOT / "docs" / "tasks" / "index.md").read_text()
    assert all(f"]({page}.md)" in named for page in pages)
    assert experiments.presets().keys() - {"files"} <= {
        f"{page}{kind}"
        for page in pages
        for kind in ("", "-small", "-baseline", "-distilled", "-distilled-small")
    }


def test_options_of_files_are_documented():
    _check_table(_table(ROOT / "docs" / "data.md", "files"), FileTask)


@pytest.mark.parametrize("name", PAIRS)
def test_example_pairs_have_the_form_of_the_task(name):
    """A pair in the text and a drawn one have the same words but for names, symbols, numbers."""
    pair = re.search(r"source +(.+)\ntarget +(.+)\n", _section(_page(name), name))
    assert pair is not None
    example = Example(*pair.groups())
    if name == "chain":
        flag, *symbols = example.source.split()
        assert flag in ("from-left", "from-right")
        assert set(symbols) <= set("abcdef")
        assert len(symbols) == len(example.target.split())
        assert set(example.target.split()) <= set("ABCDEF")
    elif name == "addition":
        left, right = example.source.replace(" ", "").split("+")
        assert int(left) + int(right) == int(example.target.replace(" ", ""))
        assert len(left) == len(right) == len(example.target.split()) - 1
    elif name == "stargraph":
        edges, goal = example.source.split(" | ")
        path = example.target.split()
        steps = {f"{a}>{b}" for a, b in pairwise(path)}
        assert steps < set(edges.split())
        assert goal.split() == [path[0], path[-1]]
    elif name == "sudoku4":
        assert make_task(name, {}).is_right(example, example.target)
    elif name == "sorting":
        assert sorted(example.source.split(), key=int) == example.target.split()
    else:
        from voi.data.pylines import describe

        assert describe(example.target) == example.source


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_resolve(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", _without_code(path.read_text())):
        if re.match(r"[a-z]+:", target):  # another site
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.exists(), target
        if anchor:
            assert anchor in _anchors(page), target


def test_every_feature_of_the_authors_program_has_a_row():
    """36 rows; the settings, commands and presets they name are there."""
    text = (ROOT / "docs" / "features.md").read_text()
    rows = re.findall(r"^\| (\d+) \| .+? \| (.+) \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 37))
    fields = {
        f"{heading.removesuffix('.phases')}.{field.name}"
        for cls, heading in SETTINGS.items()
        for field in dataclasses.fields(cls)
    }
    named = set(re.findall(r"\b(?:data\.tokens|decoder|order|objective|training)\.\w+", text))
    assert len(named) > 15
    assert named - {"training.md"} <= fields
    modules = {path.stem for path in (ROOT / "src" / "voi" / "cli").glob("*.py")}
    assert set(re.findall(r"`voi (\w+)", text)) <= modules
    (presets,) = [row for number, row in rows if number == "19"]
    for name in re.findall(r"`([\w-]+)`", presets):
        assert name.startswith("-") or experiments.load_table(name)


def test_the_commands_of_iwslt_can_be_run(monkeypatch, capsys, tmp_path):
    """On invented files, one line over the limits of the preset; the second is what is advised."""
    pytest.importorskip("sacremoses")
    pytest.importorskip("tokenizers")
    section = _section(ROOT / "docs" / "features.md", "IWSLT")
    block = re.search(r"```bash\nvoi (.+)\nvoi (.+)\n```", section)
    assert block is not None
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, iwslt14(long_line="sehr " * 300))
    assert call(monkeypatch, *shlex.split(block[1])) == 0
    assert capsys.readouterr().out.endswith(f"next: voi {block[2]}\n")
    assert call(monkeypatch, *shlex.split(block[2]), "--dry-run") == 0
    assert "train: 47 of 48 examples used" in capsys.readouterr().out


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_experiments_in_the_text_can_be_run(path):
    for block in re.findall(r"^```toml\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL):
        config.experiment(tomllib.loads(block))


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_examples_give_what_they_show(path):
    """Blocks with prompts run one after the other, as one session per page."""
    blocks = re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    session = "\n".join(block for block in blocks if ">>>" in block)
    examples = doctest.DocTestParser().get_doctest(session, {}, _name(path), str(path), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(examples, out=said.append).failed == 0, "".join(said)
