"""`voi evaluate`: one table per run, comparisons, stored outputs, and going on after a kill."""

import csv
import json
import os
import shutil
import signal
import time
from functools import partial

import pytest
import sacrebleu
import torch

from small_models import roughen
from small_runs import TINY, call, tiny_experiment
from voi import config, experiments
from voi.analysis import read_traces
from voi.checkpoint import Checkpoint
from voi.errors import CheckpointError
from voi.evaluation import run as evaluation_run
from voi.model import Model, load
from voi.prepared import prepare

QUICK = ("--likelihood-samples", 2, "--likelihood-limit", 2)
NONE = ("--likelihood-samples", 0)


def _save(folder, *settings, seed=2):
    """Write a model folder with random weights."""
    prepared = prepare(tiny_experiment(*settings))
    networks = prepared.networks()
    torch.manual_seed(seed)
    model = Model(Checkpoint(prepared.experiment, prepared.codec, roughen(networks, 0.5)))
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return _save(tmp_path_factory.mktemp("models") / "one")


@pytest.fixture
def run(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "one")


def test_one_run(run, monkeypatch, capsys):
    assert call(monkeypatch, "evaluate", run, "--beam", 2, *QUICK) == 0
    printed = capsys.readouterr().out
    folder = run / "evaluation" / "test-beam2"
    part = "scores-likelihood-samples2-likelihood-limit2"
    scores = json.loads((folder / f"{part}.json").read_text())
    rows = {row["name"]: row["cells"][0] for row in scores["rows"]}
    assert list(rows) == ["exact_match", "elbo", "log_p_bound", "log_p_exact"]
    traces = read_traces(folder / "hypotheses.jsonl")
    right = [trace.target.split() == trace.reference.split() for trace in traces]
    assert rows["exact_match"]["value"] == pytest.approx(100 * sum(right) / 8)
    assert rows["elbo"]["num_examples"] == 2
    manifest = json.loads((run / "manifest.json").read_text())
    digest = manifest["files"]["networks.safetensors"]["sha256"]
    for text in ("split:test|beam:2", f"checkpoint:{digest[:12]}", "voi:", str(folder / "scores")):
        assert text in printed
    assert (folder / f"{part}.md").read_text().startswith("| metric | one |")


def test_a_part_leaves_the_full_table_as_it_is(run, monkeypatch, capsys):
    folder = run / "evaluation" / "test-beam1"
    parts = [
        ((), "scores"),
        (NONE, "scores-likelihood-samples0"),
        (QUICK, "scores-likelihood-samples2-likelihood-limit2"),
        (("--likelihood-limit", 3), "scores-likelihood-limit3"),
        (("--limit", 3, *NONE), "scores-limit3-likelihood-samples0"),
        (("--limit", 3, "--metrics", "bleu,ter"), "scores-limit3-bleu-ter"),
    ]
    seen = {}
    for options, name in parts:
        assert call(monkeypatch, "evaluate", run, *options) == 0
        assert f"wrote {folder}/{name}.json" in capsys.readouterr().out
        assert {path: path.read_bytes() for path in seen} == seen
        seen |= {folder / f"{name}.{kind}": b"" for kind in ("json", "csv", "md")}
        seen = {path: path.read_bytes() for path in seen}
    part = json.loads((folder / "scores-limit3-bleu-ter.json").read_text())
    assert {row["cells"][0]["num_examples"] for row in part["rows"]} == {3}


def test_runs_side_by_side(run, tmp_path, monkeypatch, capsys):
    other = _save(tmp_path / "two", "order.kind=l2r", "training.num_orders=1", seed=5)
    out = tmp_path / "out"
    options = ("--metrics", "bleu,exact_match", "--limit", 5, "--out", out, *QUICK)
    part = "limit5-likelihood-samples2-likelihood-limit2-bleu-exact_match"
    assert call(monkeypatch, "evaluate", run, other, *options) == 0
    assert "difference, 95 % interval, p" in capsys.readouterr().out
    with (out / f"comparison-{part}.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["system"] for line in lines} == {"one", "two"}
    assert all(line["num_resamples"] == "1000" for line in lines if line["system"] == "two")
    assert len(read_traces(out / "two" / "hypotheses.jsonl")) == 5
    assert (out / "one" / f"scores-{part}.json").is_file()
    assert not (run / "evaluation").exists()


def test_stored_outputs_need_no_model(run, tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, "evaluate", run, "--metrics", "bleu,ter", *NONE) == 0
    written = run / "evaluation" / "test-beam1" / "hypotheses.jsonl"
    first = json.loads((written.parent / "scores-likelihood-samples0-bleu-ter.json").read_text())
    monkeypatch.setattr("voi.cli.evaluate.load", None)
    out = tmp_path / "again"
    options = ("--metrics", "bleu,ter", "--out", out)
    assert call(monkeypatch, "evaluate", "--hypotheses", written, *options) == 0
    again = json.loads((out / "scores.json").read_text())
    for old, new in zip(first["rows"], again["rows"], strict=True):
        old, new = old["cells"][0], new["cells"][0]
        assert (old["value"], old["signature"]) == (new["value"], new["signature"])


def test_bleu_of_short_outputs_is_explained(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("a red bus\n")
    file = tmp_path / "a.txt"
    options = ("--hypotheses", file, "--references", file, "--metrics", "bleu", "--out", tmp_path)
    assert call(monkeypatch, "evaluate", *options) == 0
    remark = "no output has 4 tokens: BLEU is 0 by definition"
    assert f"bleu, a.txt: {remark}\n" in capsys.readouterr().out
    assert f"- bleu, a.txt: {remark}\n" in (tmp_path / "scores.md").read_text()
    with (tmp_path / "scores.csv").open() as lines:
        assert [line["remark"] for line in csv.DictReader(lines)] == [remark]


def test_several_references_are_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("a red bus\na dog\n")
    (tmp_path / "r.tsv").write_text("a red bus\ta bus\na dog\n")
    files = ("--hypotheses", tmp_path / "a.txt", "--references", tmp_path / "r.tsv")
    assert call(monkeypatch, "evaluate", *files, "--metrics", "exact_match") == 0
    told = (
        "r.tsv: up to 2 references for each output: columns 1 to 2 are all taken as references; if "
        "column 1 is a source, cut it off (cut -f2)\n"
    )
    assert told in capsys.readouterr().out


def test_texts_of_any_program(tmp_path, monkeypatch, capsys):
    texts = {
        "a.txt": ["The cat sat on the mat.", "", "We learn the order of the words."],
        "b.txt": ["A cat sat on a mat.", "Nothing.", "We learn an order of the words."],
        "r.txt": ["The cat sat on the mat.", "Nothing was said.", "We learn the order of words."],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    options = [part for name in ("a.txt", "b.txt") for part in ("--hypotheses", tmp_path / name)]
    options += ["--references", tmp_path / "r.txt", "--out", tmp_path]
    assert call(monkeypatch, "evaluate", *options) == 0
    rows = json.loads((tmp_path / "scores.json").read_text())["rows"]
    assert [row["name"] for row in rows] == ["bleu", "chrf", "ter", "exact_match"]
    for cell, name in zip(rows[0]["cells"], ("a.txt", "b.txt"), strict=True):
        expected = sacrebleu.corpus_bleu(texts[name], [texts["r.txt"]]).score
        assert cell["value"] == pytest.approx(expected)
    assert "a.txt" in capsys.readouterr().out


def _evaluate_slowly(run, out):
    """Evaluate with two sources at a time and a pause before each pair; never returns."""
    write = evaluation_run.write_outputs
    evaluation_run.write_outputs = partial(write, batch_size=2)
    generate = Model.generate
    Model.generate = lambda *args, **options: (time.sleep(0.3), generate(*args, **options))[1]
    evaluation_run.evaluate(load(run), "one", out, evaluation_run.Settings(likelihood_samples=0))
    os._exit(0)


def test_a_killed_evaluation_goes_on(run, tmp_path, monkeypatch):
    """Another process is killed while it decodes; the same command then finishes the file."""
    path = tmp_path / "killed" / "hypotheses.jsonl"
    child = os.fork()
    if not child:
        _evaluate_slowly(run, path.parent)
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert 0 < len(path.read_bytes().splitlines()) < 8
    for folder in ("killed", "whole"):
        assert call(monkeypatch, "evaluate", run, "--out", tmp_path / folder, *NONE) == 0
    traces = [read_traces(tmp_path / folder / path.name) for folder in ("killed", "whole")]
    assert len(traces[0]) == 8
    assert [t.target for t in traces[0]] == [t.target for t in traces[1]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either run folders or --hypotheses"),
        (["RUN", "--hypotheses", "x.jsonl"], "give either run folders or --hypotheses"),
        (["RUN", "--references", "x.txt"], "--references goes with --hypotheses"),
        (["RUN", "--metrics", "blue"], 'unknown metric "blue": did you mean "bleu"?'),
        (["RUN", "--split", "dev"], "there is no dev split: choose one of train, valid, test"),
        (["--hypotheses", "no.jsonl"], "expected a trace file at no.jsonl"),
        (["no/such/run"], "no model in no/such/run"),
        (["RUN", "--length-penalty", "nan"], "search.length_penalty must be from -10 to 10"),
    ],
)
def test_bad_input(run, monkeypatch, capsys, options, message):
    arguments = [run if option == "RUN" else option for option in options]
    assert call(monkeypatch, "evaluate", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (run / "evaluation").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--split", "test"], "--split"),
        (["--beam", 1], "--beam"),
        (["--length-penalty", 0], "--length-penalty"),
        (["--likelihood-samples", 64], "--likelihood-samples"),
        (["--likelihood-limit", 0], "--likelihood-limit"),
        (["--device", "cpu"], "--device"),
        (["--beam", 2, "--metrics", "bleu", "--split", "valid"], "--split, --beam"),
    ],
    ids=str,
)
def test_options_of_runs_do_not_go_with_stored_outputs(
    tmp_path, monkeypatch, capsys, options, named
):
    (tmp_path / "a.txt").write_text("a\nb\n")
    stored = ("--hypotheses", tmp_path / "a.txt", "--references", tmp_path / "a.txt")
    assert call(monkeypatch, "evaluate", *stored, "--limit", 1, "--out", tmp_path) == 0
    capsys.readouterr()
    assert call(monkeypatch, "evaluate", *stored, *options) == 2
    assert f"voi: give --hypotheses without {named}: stored" in capsys.readouterr().err


def test_settings_that_do_not_fit_what_is_there(run, monkeypatch, capsys):
    out = ("--out", run / "results")
    assert call(monkeypatch, "evaluate", run, "--beam", 2, *NONE, *out) == 0
    assert call(monkeypatch, "evaluate", run, "--beam", 3, *NONE, *out) == 2
    assert "holds results for beam 2, this command has 3" in capsys.readouterr().err
    assert call(monkeypatch, "evaluate", run, "--length-penalty", 1, *NONE) == 0
    folder = run / "evaluation" / "test-beam1-penalty1"
    assert (folder / "scores-likelihood-samples0.md").is_file()


def test_a_wrong_run_is_told_before_any_is_evaluated(run, tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, "evaluate", run, tmp_path / "nowhere", *QUICK) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (run / "evaluation").exists()


def test_a_limit_of_no_likelihoods_is_refused(run, monkeypatch, capsys):
    assert call(monkeypatch, "evaluate", run, *NONE, "--likelihood-limit", 5) == 2
    error = capsys.readouterr().err
    assert error == "voi: give --likelihood-limit without --likelihood-samples 0\n"


def test_a_run_without_the_split_is_named_before_the_work(run, tmp_path, monkeypatch, capsys):
    lines = "".join(f"a {i}\tb {i % 3}\n" for i in range(40))
    (tmp_path / "pairs.tsv").write_text(lines)
    own = config.experiment(
        experiments.override(
            experiments.load_table("files"),
            [*TINY[1:], f"data.options.train={tmp_path / 'pairs.tsv'}"],
        )
    )
    prepared = prepare(own)
    model = Model(Checkpoint(prepared.experiment, prepared.codec, prepared.networks()))
    model.save_pretrained(tmp_path / "two")
    assert call(monkeypatch, "evaluate", run, tmp_path / "two", *QUICK) == 2
    error = f"voi: {tmp_path / 'two'}: there is no test split: choose one of train, valid with"
    assert capsys.readouterr().err == f"{error} --split\n"
    assert not (run / "evaluation").exists()


def test_a_model_is_not_saved_over_results(run, monkeypatch):
    assert call(monkeypatch, "evaluate", run, *NONE) == 0
    model = load(run)
    with pytest.raises(CheckpointError, match="holds results of voi evaluate"):
        model.save_pretrained(run)
    assert (run / "evaluation" / "test-beam1" / "hypotheses.jsonl").is_file()
    shutil.rmtree(run / "evaluation")
    model.save_pretrained(run)
