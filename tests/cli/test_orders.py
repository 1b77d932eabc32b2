"""`voi orders`: tables in the terminal, files, perturbation, and errors in one line."""

import csv
import json
import sys

import pytest
from typer.testing import CliRunner

import voi.cli.orders
from small_runs import call, saved_model
from voi import load
from voi.analysis import Trace, read_traces, write_traces
from voi.cli.app import app
from voi.data import Example
from voi.errors import ConfigError, DataError, MissingExtraError, VoiError

SCENES = "data.options={train=6, valid=2, test=4}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return saved_model(tmp_path_factory.mktemp("orders") / "mine")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    settings = ["data.task=scenes", SCENES]
    return saved_model(tmp_path_factory.mktemp("orders") / "images", *settings)


@pytest.fixture(scope="module")
def studied(run, tmp_path_factory):
    """What the command prints of a run, and the folder it writes."""
    out = tmp_path_factory.mktemp("orders") / "out"
    return orders(run, "--samples", 3, "--format", "png", "--out", out), out


def orders(*arguments):
    """Return what the command prints; its errors come through."""
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["orders", *map(str, arguments)])
    if isinstance(result.exception, VoiError):
        assert "\n" not in str(result.exception)
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def rows_of(out, name):
    with open(out / "tables" / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_run_is_studied_on_its_own_split(run, studied):
    output, out = studied
    assert max(map(len, output.splitlines()[:-1])) <= 80
    for part in ("mine, learned", "mine, sampled", "mine, generated", "known", "NLD of L2R"):
        assert part in output
    assert f"wrote {out / 'report.html'}" in output
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png"}
    assert "targets are no sentences" in output
    rows = rows_of(out, "comparisons")
    for name in ("comparisons", "overall", "by_length"):
        assert {row["compared"] for row in rows_of(out, name)} == {"orders"}
    assert {row["reference"] for row in rows} == {"l2r", "r2l", "tree", "common", "rare", "known"}
    assert {row["example"] for row in rows} == set(map(str, range(8)))  # of the tiny test split
    learned, generated = (read_traces(path) for path in sorted((out / "traces").iterdir()))
    model = load(run)
    for trace in learned:
        if len(set(trace.tokens)) > 1:  # between equal tokens alone nothing decides
            assert trace.order == model.infer_order(trace.source, trace.target)
    assert {len(trace.samples) for trace in learned} == {3}
    assert [trace.kind for trace in generated] == ["generated"] * 8


def test_runs_and_files_stand_side_by_side(run, studied, tmp_path):
    file = studied[1] / "traces" / "1-mine-learned.jsonl"
    (tmp_path / "counts.json").write_text('{"A": 3}')
    output = orders(run, run, "--traces", file, "--counts", tmp_path / "counts.json", "--ranks")
    for part in ("mine, learned", "mine (2), learned", "1-mine-learned, learned"):
        assert part in output
    assert "normalised Levenshtein distance 0.000" in output  # of a run and its own traces
    assert "Compared are ranks" in " ".join(output.split())
    with pytest.raises(DataError, match="side by side"):
        orders(run, "--traces", file, "--limit", 2)


def test_traces_need_no_run(studied):
    file = studied[1] / "traces" / "2-mine-generated.jsonl"
    output = orders("--traces", file, "--tagger", "none")
    assert "--counts" in output
    assert "left out by --tagger none" in output


def test_equal_traces_are_drawn_with_their_intervals(tmp_path):
    """All resamples have one mean: a bar's interval must not miss it by rounding."""
    tokens = ("the", "man", "in", "the", "red", "hat", "and", "the", "dog")
    order = tuple(range(len(tokens)))
    trace = Trace(
        target=" ".join(tokens), tokens=tokens, order=order, slots=order, kind="generated"
    )
    write_traces(tmp_path / "same.jsonl", [trace] * 20)
    options = ["--tagger", "none", "--out", tmp_path / "out"]
    orders("--traces", tmp_path / "same.jsonl", *options)
    assert (tmp_path / "out" / "report.html").exists()


def test_the_tagger_and_its_language_are_told(images, tmp_path, monkeypatch):
    monkeypatch.setattr(voi.cli.orders, "make_tagger", lambda name: by_letter)
    for options in ((), ("--tagger", "hanta")):
        output = orders(images, *options, "--out", tmp_path)
        assert "(by HanTa, English)" in " ".join(output.split())
        assert "Parts of speech by HanTa, English." in (tmp_path / "report.html").read_text()
    assert "(by my:tagger)" in " ".join(orders(images, "--tagger", "my:tagger").split())


def test_another_language_is_not_tagged_by_default(tmp_path, monkeypatch):
    monkeypatch.setattr(voi.cli.orders, "make_tagger", lambda name: by_letter)
    settings = ["data.task=scenes", SCENES, "data.tokens.target_language=de"]
    german = saved_model(tmp_path / "german", *settings)
    output = " ".join(orders(german).split())
    assert "parts of speech" not in output
    assert "the targets are 'de'" in output
    assert "Of the parts of speech" in " ".join(orders(german, "--tagger", "hanta").split())


def by_letter(tokens):
    return ["NOUN" if token < "m" else "DET" for token in tokens]


def test_parts_of_a_source_are_removed(run, tmp_path):
    output = orders(run, "--perturb", 2, "--reference", "--out", tmp_path)
    example = load(run).infer_order  # the model's own answer
    stored = json.loads((tmp_path / "perturbation.json").read_text())
    with open(tmp_path / "perturbation.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    source = output.splitlines()[0]
    assert tuple(stored["order"]) == example(source, " ".join(stored["tokens"]))
    assert sorted(row["name"] for row in rows) == sorted(source.split())
    assert (tmp_path / "perturbation.svg").exists()
    assert (tmp_path / "generation.svg").exists()
    law = (tmp_path / "order-law.svg").read_text()
    assert "share of 200 sampled orders" in law
    assert all(f">{token}</text>" in law for token in stored["tokens"])
    assert {row["compared"] for row in rows} == {stored["compared"]} == {"orders"}
    with pytest.raises(ConfigError, match="below 8"):
        orders(run, "--perturb", 8)


@pytest.mark.parametrize("command", [("orders",), ("bench", "runtime")])
def test_a_limit_of_no_examples_is_refused(monkeypatch, capsys, command):
    assert call(monkeypatch, *command, "nowhere", "--limit", 0) == 2
    assert "Invalid value for '--limit'" in capsys.readouterr().err


def test_a_perturbation_says_that_it_compares_ranks(run, tmp_path):
    output = orders(run, "--perturb", 2, "--reference", "--ranks", "--out", tmp_path)
    assert "Compared are ranks" in output
    with open(tmp_path / "perturbation.csv", newline="") as file:
        assert {row["compared"] for row in csv.DictReader(file)} == {"ranks"}
    assert json.loads((tmp_path / "perturbation.json").read_text())["compared"] == "ranks"


def test_repeated_words_of_a_perturbed_target_are_told_apart(run, monkeypatch):
    repeated = Example("from-left a b c d e", "A A B C D")
    monkeypatch.setattr("voi.cli.orders.examples_of", lambda *_: [repeated])
    output = orders(run, "--perturb", 0, "--reference")
    assert output.splitlines()[1] == "A₁ A₂ B C D"
    written = [line.split()[-5:] for line in output.splitlines()[2:] if "₁" in line]
    assert len(written) == 7  # the inferred order, and without each of six parts
    assert all(sorted(words) == ["A₁", "A₂", "B", "C", "D"] for words in written)


def test_images_are_drawn_with_their_regions(images, tmp_path):
    output = orders(images, "--perturb", 1, "--reference", "--out", tmp_path, "--format", "png")
    assert output.startswith("test-1\n")
    assert (tmp_path / "generation.png").read_bytes().startswith(b"\x89PNG")
    orders(images, "--out", tmp_path / "all", "--tagger", "none")
    page = (tmp_path / "all" / "report.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    first = data["examples"][0][0]
    assert first["regions"]["image"].startswith("data:image/png;base64,")
    assert len(first["regions"]["opacities"]) == len(first["order"])
    assert len(data["examples"]) == 4  # images, not captions


def test_a_missing_extra_leaves_out_its_part(run, tmp_path, monkeypatch):
    def missing(name):
        raise MissingExtraError("tagging needs x: pip install 'voi[pos]'")

    monkeypatch.setattr(voi.cli.orders, "make_tagger", missing)
    for name in [name for name in sys.modules if name.startswith(("voi.plots.", "matplotlib"))]:
        if name not in ("voi.plots.stepper", "voi.plots.output", "voi.plots.inputs"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    output = orders(run, "--limit", 2, "--out", tmp_path)
    assert "pip install 'voi[pos]'" in " ".join(output.split())
    assert "no figures: " in output
    assert "pip install 'voi[plots]'" in (tmp_path / "report.html").read_text()
    assert not (tmp_path / "figures").exists()
    monkeypatch.setattr(voi.cli.orders, "load", lambda *path: pytest.fail("the work was begun"))
    with pytest.raises(MissingExtraError, match="tagging needs x"):
        orders(run, "--tagger", "hanta")
    with pytest.raises(MissingExtraError, match=r"voi\[plots\]"):
        orders(run, "--format", "png", "--out", tmp_path)


def test_a_beam_is_at_least_one(run, monkeypatch, capsys):
    assert call(monkeypatch, "orders", run, "--beam", 0) == 2
    assert "Invalid value for '--beam'" in capsys.readouterr().err


def test_a_seed_is_no_negative_number(run, monkeypatch, capsys):
    assert call(monkeypatch, "orders", run, "--seed", -5) == 2
    assert "Invalid value for '--seed'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["RUN", "--reference"], "give --perturb with --reference: an"),
        (["RUN", "--searched", 0], "give --perturb with --searched: an"),
        (["RUN", "--searched", 8, "--reference"], "with --reference, --searched: an"),
        (["RUN", "--counts", "x.json"], "give --traces with --counts"),
        (["RUN", "--format", "png"], "give --out with --format: a folder"),
        (["RUN", "--images", "."], "without --images: its sources are no images"),
        (["RUN", "--perturb", 0, "--images", "."], "without --images: its sources are no images"),
        *(
            (["RUN", "--perturb", 0, f"--{name}", value], f"give --perturb without --{name}: it")
            for name, value in (
                ("samples", 4), ("limit", 1), ("tagger", "none"), ("seed", 0), ("counts", "x.json")
            )
        ),
        (["RUN", "--perturb", 0, "--seed", 1, "--limit", 2], "without --limit, --seed: it looks"),
        (["RUN", "--perturb", 0, "--reference", "--beam", 2], "give --reference without --beam"),
        *(
            (["--traces", "FILE", f"--{name}", value], f"give a run with --{name}: trace")
            for name, value in (
                ("split", "test"), ("limit", 1), ("samples", 4), ("beam", 2), ("images", "."),
                ("device", "cpu"),
            )
        ),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_would_be_ignored_are_refused(run, tmp_path, options, message):
    file = tmp_path / "traces.jsonl"
    trace = Trace(target="a", tokens=("a",), order=(0,), slots=(0,), kind="inferred")
    write_traces(file, [trace])
    given = {"RUN": run, "FILE": file}
    with pytest.raises(ConfigError, match=message):
        orders(*(given.get(option, option) for option in options))


def test_what_cannot_be_done_is_said(run, tmp_path):
    with pytest.raises(DataError, match="at least one run"):
        orders()
    with pytest.raises(ConfigError, match="svg, png or pdf"):
        orders(run, "--format", "gif")
    with pytest.raises(ConfigError, match="one run"):
        orders(run, run, "--perturb", 1)
    with pytest.raises(DataError, match="split"):
        orders(run, "--split", "tests")
    with pytest.raises(DataError, match="trace file"):
        orders("--traces", tmp_path / "absent.jsonl")


def test_a_folder_that_cannot_be_made_is_told_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr("voi.cli.orders.load", lambda *_: pytest.fail("the work has begun"))
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["orders", str(run), "--out", str(tmp_path / "file")])
    assert isinstance(result.exception, FileExistsError)
