"""`voi distill`: a folder of pairs that trains the next model."""

import json
import re
import shlex
from contextlib import nullcontext
from dataclasses import replace

import pytest

from small_runs import call, saved_model, settings_of
from voi import Model, checkpoint, load
from voi.distillation import distill
from voi.errors import DataWarning
from voi.experiments import load_table, override
from voi.search import Hypothesis
from voi.tables import from_table
from voi.tokens import TokensConfig


@pytest.fixture(scope="module")
def run(trained):
    return trained


def _pairs(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def _suggested(out):
    """Return the training commands that were printed, without the name of the program."""
    return re.findall(r"^next: voi (.+)$", out, re.MULTILINE)


def _writing(texts):
    """Return what stands in for the search: it writes these texts, one after the other."""
    left = iter(texts)

    def generate(self, sources, **_):
        written = [next(left) for _ in sources]
        return [
            [Hypothesis(t, (t,) * bool(t), (0,) * bool(t), (0,) * bool(t), -1.0)] for t in written
        ]

    return generate


@pytest.mark.parametrize("num_empty", [8, 7, 0])
def test_empty_targets_are_told_before_the_next_command(
    run, tmp_path, monkeypatch, capsys, num_empty
):
    monkeypatch.setattr(Model, "generate", _writing([""] * num_empty + ["A"] * (8 - num_empty)))
    assert call(monkeypatch, "distill", run, "--split", "valid", "--out", tmp_path) == 0
    out = capsys.readouterr().out
    told = f"{num_empty} of 8 targets came out empty and keep their references"
    assert (told in out) == (num_empty > 0)
    assert (f"{told}: nothing is distilled" in out) == (num_empty == 8)
    assert len(_suggested(out)) == (num_empty < 8)
    if 0 < num_empty < 8:
        assert out.index(told) < out.index("next: voi train")


@pytest.mark.parametrize(
    ("own", "is_said"),
    [
        ("data.tokens={min_count=2, copy=true}", False),
        ("data.tokens={min_count=2, copy=true, num_copies=16}", False),
        ("data.tokens={lowercase=true}", True),
        ("data.tokens={}", True),
    ],
)
def test_the_printed_command_has_the_tokens_of_the_run(tmp_path, monkeypatch, capsys, own, is_said):
    model = Model(checkpoint.load(saved_model(tmp_path / "run", own), "cpu"))
    monkeypatch.setattr(Model, "generate", _writing(["A"] * 8))
    assert (
        call(monkeypatch, "distill", tmp_path / "run", "--split", "valid", "--out", tmp_path / "d")
        == 0
    )
    (command,) = _suggested(capsys.readouterr().out)
    assert ("data.tokens=" in command) == is_said
    settings = [part for part in shlex.split(command) if part.startswith("data.")]
    table = override(load_table("files"), settings)
    assert from_table(TokensConfig, table["data"]["tokens"]) == model.codec.config


def test_outputs_become_pairs_that_train(run, tmp_path, monkeypatch, capsys):
    out = tmp_path / "distilled"
    assert call(monkeypatch, "distill", run, "--split", "valid", "--beam", 2, "--out", out) == 0
    assert capsys.readouterr().out.startswith(f"8 pairs in {out}\n")  # a file has no bar
    model = load(run)
    task = model.task()
    valid, train = task.split("valid"), task.split("train")
    written = [best.text for best, *_ in model.generate([e.source for e in valid], beam=2)]
    assert [pair["source"] for pair in _pairs(out / "valid.jsonl")] == [e.source for e in valid]
    assert [pair["target"] for pair in _pairs(out / "valid.jsonl")] == [
        text or example.target for text, example in zip(written, valid, strict=True)
    ]
    assert _pairs(out / "train.jsonl") == [
        {"source": example.source, "target": example.target} for example in train
    ]
    small = [
        *("--set", "training.steps=1"),
        *("--set", "decoder.width=16"),
        *("--set", "order.width=16"),
    ]
    assert call(monkeypatch, "train", "--data", out, *small, "--out", tmp_path / "next") == 0


def test_a_stopped_one_goes_on(run, tmp_path, monkeypatch):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for out in (whole, cut):
        assert call(monkeypatch, "distill", run, "--split", "valid", "--out", out) == 0
    lines = (cut / "outputs.jsonl").read_bytes().splitlines(keepends=True)
    marked = lines[0].replace(b'"target": "', b'"target": "KEPT ')
    (cut / "outputs.jsonl").write_bytes(marked + lines[1] + lines[2][:10])
    (cut / "valid.jsonl").unlink()
    assert call(monkeypatch, "distill", run, "--split", "valid", "--out", cut) == 0
    first, *rest = _pairs(cut / "valid.jsonl")
    assert first["target"].startswith("KEPT")  # what was there was not written again
    assert rest == _pairs(whole / "valid.jsonl")[1:]


def test_a_split_that_lost_its_last_pairs(run, tmp_path):
    """What was written for the others is kept, as `voi evaluate` keeps it."""
    model = load(run)
    whole = model.task()
    less = replace(whole, valid=whole.valid - 1)
    for task, told in ((whole, nullcontext()), (less, pytest.warns(DataWarning, match="changed"))):
        with told:
            found = distill(model, task, "valid", tmp_path, model.experiment.search)
        assert found.num_pairs == len(_pairs(tmp_path / "valid.jsonl")) == task.valid


def test_the_beam_is_the_runs_own(tmp_path, monkeypatch):
    run, out = tmp_path / "run", tmp_path / "out"
    options = settings_of("training.steps=1", "search.beam=3")
    assert call(monkeypatch, "train", "chain", *options, "--out", run) == 0
    assert call(monkeypatch, "distill", run, "--split", "valid", "--out", out) == 0
    assert json.loads((out / "outputs.about.json").read_text())["beam"] == 3


def test_another_beam_needs_another_folder(run, tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, "distill", run, "--split", "valid", "--out", tmp_path) == 0
    options = ("--split", "valid", "--out", tmp_path, "--beam", 3)
    assert call(monkeypatch, "distill", run, *options) == 2
    assert "beam" in capsys.readouterr().err


def test_a_folder_of_something_else_is_left_alone(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.txt").write_text("keep")
    assert call(monkeypatch, "distill", run, "--split", "valid", "--out", tmp_path) == 2
    assert "choose another with --out" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_run_without_sources_writes_what_trains_without_sources(tmp_path, monkeypatch, capsys):
    lines = "".join(json.dumps({"target": f"a b {i}"}) + "\n" for i in range(30))
    (tmp_path / "pairs.jsonl").write_text(lines)
    small = [
        *("--set", "training.steps=1"),
        *("--set", "decoder.width=16"),
        *("--set", "order.width=16"),
        *("--set", 'data.options.source_key=""'),
    ]
    data = tmp_path / "pairs.jsonl"
    assert call(monkeypatch, "train", "--data", data, *small, "--out", tmp_path / "run") == 0
    out = tmp_path / "distilled"
    arguments = ["--split", "valid", "--beam", 1, "--out", out]
    assert call(monkeypatch, "distill", tmp_path / "run", *arguments) == 0
    assert """--set 'data.options.source_key=""'""" in capsys.readouterr().out
    assert all(pair.keys() == {"target"} for pair in _pairs(out / "valid.jsonl"))
    assert call(monkeypatch, "train", "--data", out, *small, "--out", tmp_path / "next") == 0


@pytest.mark.parametrize(
    ("own", "printed"),
    [
        (["data.long_examples=skip"], ["data.long_examples=skip"]),
        (
            ["data.max_source_length=300", "data.max_target_length=150"],
            ["data.max_source_length=202", "data.max_target_length=101"],
        ),
    ],
)
def test_the_printed_command_trains_on_long_pairs(tmp_path, monkeypatch, capsys, own, printed):
    monkeypatch.chdir(tmp_path)
    lines = [f"a b {i}\tb {i % 3}\n" for i in range(30)]
    long = f"{'a ' * 202}\t{'b ' * 101}\n"
    (tmp_path / "train.tsv").write_text("".join(lines) + long)
    (tmp_path / "valid.tsv").write_text("".join(lines[:4]))
    small = ["training.steps=1", "decoder.width=16", "order.width=16"]
    options = [part for setting in (*small, *own) for part in ("--set", setting)]
    assert call(monkeypatch, "train", "--data", ".", *options, "--out", "run") == 0
    arguments = ["--split", "valid", "--beam", 1, "--out", "distilled"]
    capsys.readouterr()
    assert call(monkeypatch, "distill", "run", *arguments) == 0
    (command,) = _suggested(capsys.readouterr().out)
    settings = [part for setting in printed for part in ("--set", setting)]
    assert command.split() == ["train", "--data", "distilled", *settings]
    assert call(monkeypatch, *command.split(), "--dry-run") == 0
