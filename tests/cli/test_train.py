"""`voi train` as a user meets it: what it prints, and one line for what can be mended."""

import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import voi
from small_runs import TINY, call, settings_of
from voi import checkpoint, runs
from voi.learned import learned


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def _error(capsys):
    """Return the one line on standard error."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_trains_and_shows_what_was_learned(monkeypatch, capsys, tmp_path):
    assert call(monkeypatch, "train", "chain", *settings_of()) == 0
    out = capsys.readouterr().out
    for words in ("test accuracy", "learned order", "best order", "run folder: runs/chain"):
        assert words in out
    model = voi.load("runs/chain")
    assert isinstance(str(model.generate(["from-left a b c"])[0][0]), str)
    assert call(monkeypatch, "train", "chain", *settings_of("training.steps=1")) == 0
    assert (tmp_path / "runs" / "chain-2").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 6, 8])
def test_chain_finds_its_order(monkeypatch, seed):
    """Also with seeds that go wrong at twice the decoder's rate (docs/results/orders-ten-seeds)."""
    settings = ["--set", f"training.seed={seed}"]
    assert call(monkeypatch, "train", "chain", "--out", "run", *settings) == 0
    found = learned(voi.load("run")).validation
    assert found.accuracy >= 0.95
    assert found.distance is not None
    assert found.distance <= 0.05


def test_targets_without_sources_are_shown_alone(monkeypatch, capsys, tmp_path):
    (tmp_path / "targets.tsv").write_text("".join(f"a b {i % 5}\n" for i in range(30)))
    options = ['data.options.columns=["target"]', 'data.options.source_key=""', "training.steps=2"]
    small = [part for option in (*TINY[1:], *options) for part in ("--set", option)]
    assert call(monkeypatch, "train", "--data", "targets.tsv", "--out", "run", *small) == 0
    out = capsys.readouterr().out
    assert "learned order" in out
    assert "None" not in out


def test_a_signal_in_the_last_validation_ends_a_complete_run(monkeypatch, capsys):
    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return validate(*arguments, **options)

    validate = runs.validate
    monkeypatch.setattr(runs, "validate", interrupted)
    assert call(monkeypatch, "train", "--out", "run", *settings_of("training.steps=2")) == 130
    out = capsys.readouterr().out
    assert "SIGINT: saving" in out
    assert "the run is complete and saved in run" in out
    assert "learned order" not in out
    assert voi.load("run").experiment.order.kind == "voi"


def test_ctrl_c_while_showing_what_was_learned(monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("voi.cli.train.print_learned", interrupted)
    assert call(monkeypatch, "train", "--out", "run", *settings_of("training.steps=2")) == 130
    out, err = capsys.readouterr()
    assert "the run is complete and saved in run" in out
    assert err == "voi: interrupted\n"


def test_a_signal_while_a_line_is_printed_does_not_print_it_twice(monkeypatch, capsys):
    class Signalling(io.StringIO):
        def flush(self):
            if "step 2/" in self.getvalue() and not self.was_sent:
                self.was_sent = True
                os.kill(os.getpid(), signal.SIGINT)

        was_sent = False

    stream = Signalling()
    console = Console(file=stream, soft_wrap=True)
    monkeypatch.setattr("voi.cli.train.lasting_console", lambda: console)
    monkeypatch.setattr("voi.cli.watching.LINE_EVERY", -1)
    assert call(monkeypatch, "train", "--out", "a run", *settings_of()) == 130
    assert stream.getvalue().count("step 2/12") == 1
    assert "SIGINT: saving" in stream.getvalue()
    assert "stopped at step 2: voi train --resume 'a run'\n" in stream.getvalue()


def test_a_step_is_told_before_its_validation(monkeypatch, capsys):
    assert call(monkeypatch, "train", "--out", "run", *settings_of()) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step ")]
    starts = [" ".join(line.split()[:2]) for line in told]
    assert starts == ["step 6/12", "step 6:", "step 12/12", "step 12:"]


def test_a_finished_run_is_told(briefly_trained, monkeypatch, capsys, tmp_path):
    shutil.copytree(briefly_trained, tmp_path / "run")
    assert call(monkeypatch, "train", "--resume", "run") == 0
    assert "run is finished" in capsys.readouterr().out


def test_the_device_of_a_run_is_known_without_its_weights(briefly_trained, monkeypatch):
    monkeypatch.setattr(checkpoint, "load", lambda *_: pytest.fail("reads the weights"))
    assert runs.device_of(briefly_trained) == "cpu"


def test_a_run_without_its_last_checkpoint_goes_on_from_the_best(monkeypatch, capsys, tmp_path):
    """As after a kill, where validation comes more often than checkpoints."""
    settings = settings_of("training.steps=4", "training.keep_every=2")
    for name in ("whole", "run"):
        assert call(monkeypatch, "train", "--out", name, *settings) == 0
    (tmp_path / "run" / "last.json").unlink()
    (tmp_path / "run" / "best.json").write_text('{"checkpoint": "checkpoints/step-00000002"}')
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000004")
    capsys.readouterr()
    assert call(monkeypatch, "train", "--resume", "run") == 0
    assert "resuming run at step 2" in capsys.readouterr().out
    place = Path("checkpoints", "step-00000004", "networks.safetensors")
    assert ("run" / place).read_bytes() == ("whole" / place).read_bytes()
    (tmp_path / "run" / "best.json").unlink()
    (tmp_path / "run" / "last.json").unlink()
    assert call(monkeypatch, "train", "--resume", "run") == 2
    assert "stopped before its first checkpoint; start anew with another --out" in _error(capsys)
    weights = "run/checkpoints/step-00000004"
    assert call(monkeypatch, "train", "--resume", weights) == 2
    assert "give the run that it comes from" in _error(capsys)


def test_training_outlives_the_reader_of_its_output(tmp_path):
    command = [sys.executable, "-m", "voi", "train", "--out", "run"]
    with subprocess.Popen(
        [*command, *settings_of("training.steps=4")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        program.stdout.close()
        error = program.stderr.read().decode()
        assert program.wait(300) == 0
    assert error.count("\n") == 1
    assert "nobody reads the output any more; training goes on" in error
    assert (tmp_path / "run" / "checkpoints" / "step-00000004").is_dir()


def test_presets_are_listed(monkeypatch, capsys, tmp_path):
    assert call(monkeypatch, "train", "--presets") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("django-small ") and "two cores" in line for line in lines)
    assert not (tmp_path / "runs").exists()


def test_dry_run_trains_nothing(monkeypatch, capsys, tmp_path):
    assert call(monkeypatch, "train", "chain", "--dry-run", *settings_of()) == 0
    out = capsys.readouterr().out
    for words in (
        '"batch_size": 8',
        "parameters of the decoder",
        "steps: main 12",
        "memory: about",
    ):
        assert words in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("order", ["l2r", "r2l", "common", "rare", "random", "tree"])
def test_every_order_trains(monkeypatch, order, tmp_path):
    settings = settings_of("training.steps=2")
    assert call(monkeypatch, "train", "chain", "--order", order, *settings) == 0
    stored = json.loads((tmp_path / "runs" / f"chain-{order}" / "experiment.json").read_text())
    assert stored["order"]["kind"] == order
    expected = 4 if order == "random" else 1
    assert stored["training"]["phases"][0]["num_orders"] == expected


def test_a_users_order_is_found_in_the_working_folder(monkeypatch, tmp_path):
    text = "import torch\ndef backwards(batch):\n    n = batch.target.shape[1]\n"
    text += "    return torch.arange(n).flip(0).expand(len(batch), n)\n"
    (tmp_path / "my_orders.py").write_text(text)
    settings = settings_of("training.steps=2")
    assert call(monkeypatch, "train", "--order", "my_orders:backwards", *settings) == 0
    run = tmp_path / "runs" / "chain-my_orders.backwards"
    stored = json.loads((run / "experiment.json").read_text())
    assert stored["training"]["phases"][0]["num_orders"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "chian"], 'unknown task "chian": did you mean "chain"?'),
        (["train", "no.toml"], "no experiment file no.toml"),
        (
            ["train", "--data", "x.tsv", "--set", "training.steps", "60"],
            "--set wants KEY=VALUE without spaces around the =, as in --set training.steps=60, got",
        ),
        (["train", "--set", "training.steps"], "--set training.steps=60, got 'training.steps'"),
        (["data", "check", "--set", "data.cache", "x", "y"], "--set wants KEY=VALUE"),
        (
            ["train", "--set", "training.steps=60", "--set", "training.epochs=2"],
            "--set training.steps=60 and --set training.epochs=2 say",
        ),
        (["train", "--set", "traning.steps=3"], 'unknown section "traning": did you mean'),
        (["train", "--set", "decoder.widht=3"], 'did you mean "decoder.width"?'),
        (["train", "--set", "training.num_orders=1"], "must be at least 2 for a learned order"),
        (["train", "--order", "rnadom"], 'unknown order "rnadom": did you mean "random"?'),
        (
            ["train", "--set", "data.max_target_length=2", "--set", "data.options.train=9"],
            "are longer than data.max_target_length=2",
        ),
        (["train", "--resume", "nowhere"], "nothing to resume in nowhere"),
        (["train", "--resume", "nowhere", "--dry-run"], "give it alone"),
        (["train", "--resume", "nowhere", "--valid", "dev.tsv"], "give it alone"),
        (["train", "--out", "/proc/voi"], "cannot write the run folder /proc/voi"),
        (["train", "--data", "missing.tsv"], "missing.tsv"),
        (["train", "--data", "empty.tsv"], "empty.tsv"),
        (["train", "--data", "blank.tsv"], "blank.tsv"),
        (["train", "--data", "https://example.org/a.tsv"], "addresses are not read, download it"),
        (
            ["train", "--data", "a.tsv", "--valid", "s3://b/dev.tsv"],
            "expected a file, got the address s3://b/dev.tsv",
        ),
        (["train", "--source", "a.ro"], "--source together with --target"),
        (["generate", "nowhere"], "no model in nowhere"),
        (["show", "nowhere", "x"], "no model in nowhere"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_code_2(monkeypatch, capsys, tmp_path, arguments, message):
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "blank.tsv").write_text("a source\tits target\nno target\t\n")
    before = sorted(tmp_path.iterdir())
    assert call(monkeypatch, *arguments) == 2
    assert message in _error(capsys)
    assert sorted(tmp_path.iterdir()) == before, "something was half-written"


def test_debug_shows_the_traceback(monkeypatch):
    with pytest.raises(voi.VoiError, match="did you mean"):
        _call_debug(monkeypatch)


def _call_debug(monkeypatch):
    import sys

    from voi.cli import main

    monkeypatch.setattr(sys, "argv", ["voi", "train", "chian", "--debug"])
    main()


def test_a_truncated_checkpoint_is_named(briefly_trained, monkeypatch, capsys, tmp_path):
    run = shutil.copytree(briefly_trained, tmp_path / "run")
    (path,) = run.rglob("networks.safetensors")
    path.write_bytes(path.read_bytes()[:-100])
    for arguments in (["train", "--resume", "run"], ["generate", "run"]):
        assert call(monkeypatch, *arguments) == 2
        error = _error(capsys)
        assert "networks.safetensors is missing, truncated or changed: restore it, or" in error
        assert "train again, as the run has no other checkpoint" in error


def test_your_own_pairs(monkeypatch, capsys, tmp_path):
    lines = [f"number {i}\tvalue {i % 3} of {i % 5}\n" for i in range(40)]
    (tmp_path / "train.tsv").write_text("".join(lines[:30]))
    (tmp_path / "dev.tsv").write_text("".join(lines[30:]))
    (tmp_path / "a.ro").write_text("".join(line.split("\t")[0] + "\n" for line in lines))
    (tmp_path / "a.en").write_text("".join(line.split("\t")[1] for line in lines))
    small = [*settings_of()[2:], "--set", "training.steps=2"]  # the first are options of chain
    files = ["--data", "train.tsv", "--valid", "dev.tsv"]
    assert call(monkeypatch, "data", "check", *files) == 0
    assert "30" in capsys.readouterr().out
    assert call(monkeypatch, "train", *files, *small) == 0
    assert "valid accuracy" in capsys.readouterr().out
    parallel = ["--source", "a.ro", "--target", "a.en", "--out", "parallel"]
    assert call(monkeypatch, "train", *parallel, *small) == 0


@pytest.mark.parametrize("ends", [(".gz", ".gz"), ("", ".gz")])
def test_parallel_files_may_be_packed(monkeypatch, capsys, tmp_path, ends):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))
    names = [f"a.b.{side}{end}" for side, end in zip(("ro", "en"), ends, strict=True)]
    for name in names:
        text = "".join(f"word {i}\n" for i in range(40)).encode()
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert call(monkeypatch, "data", "check", "--source", names[0], "--target", names[1]) == 0
    assert "of 40 training examples are held out" in capsys.readouterr().out
    assert call(monkeypatch, "data", "check", "--source", "a.ro.gz", "--target", "b.en.gz") == 2
    assert "must differ in their suffix alone" in capsys.readouterr().err


def test_a_run_knows_its_data_from_any_folder(tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder, word in ((here, "a"), (elsewhere, "b")):
        folder.mkdir()
        lines = [f"{word} {i}\t{word}" for i in range(30)]
        for name in ("train.tsv", "test.tsv"):
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(here)
    files = "--data", "train.tsv", "--test", "test.tsv", "--out", "run"
    assert call(monkeypatch, "train", *files, *settings_of()[2:], "--set", "training.steps=2") == 0
    monkeypatch.chdir(elsewhere)
    task = voi.load(here / "run").task()
    assert {e.target for name in ("train", "valid", "test") for e in task.split(name)} == {"a"}
