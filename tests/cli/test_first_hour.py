"""The first hour of a user: messy files, wrong names, full disks, Ctrl-C, and help."""

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from small_runs import call, settings_of
from voi.cli import main

SMALL = [*settings_of()[2:], "--set", "training.steps=2"]  # the first are options of chain


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def messy():
    """Return a file as spreadsheets and scripts leave them; 7 of its 68 lines are no pairs."""
    lines = [f"say {i} “now”\tword {i % 7} und {i % 5} ñ 猫 .".encode() for i in range(55)]
    lines += [b"", b"no tab", b"three\tcolumns\there", b"caf\xe9\tcaf\xe9", b"no target\t", b"\tx"]
    lines += [lines[0], lines[0], b"   ", "🦊 e\u0301\té 🦊".encode(), b'"a ""b"""\t"c"']
    lines += [b"word " * 500 + b"\tlong", b"last\tline"]
    return b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n\r\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "messy.tsv"
    path.write_bytes(messy())
    return path.name


def said(capsys):
    """Return what was printed, and the one line on standard error."""
    out, err = capsys.readouterr()
    lines = err.strip().splitlines()
    assert len(lines) == 1, lines
    return out, lines[0]


def test_check_shows_what_is_wrong_and_what_is_left(monkeypatch, capsys, file):
    assert call(monkeypatch, "data", "check", "--data", file) == 2
    out, error = said(capsys)
    assert "7 of 68 lines cannot be used: line 56 is blank; line 57 has 1 column" in out
    assert "1 of 49 examples is longer" in out
    assert "messy.tsv, line 67 (500)" in out
    assert "12 of 61 training examples are held out" in out
    assert "training would stop at the lines above" in error
    assert "for those that are too long, give one of the settings named there; " in error
    assert error.endswith("--set data.options.bad_lines=skip")
    skip = ["--set", "data.options.bad_lines=skip", "--set", "data.long_examples=skip"]
    assert call(monkeypatch, "data", "check", "--data", file, *skip) == 0
    assert "7 of 68 lines cannot be used" in capsys.readouterr().out


def test_a_messy_file_is_trained_on_when_asked_for(monkeypatch, capsys, file):
    assert call(monkeypatch, "train", "--data", file, *SMALL) == 2
    assert "7 of 68 lines cannot be used" in said(capsys)[1]
    skip = [*SMALL, "--set", "data.options.bad_lines=skip"]
    assert call(monkeypatch, "train", "--data", file, *skip) == 2
    assert "allow them with --set data.max_source_length=500" in said(capsys)[1]
    skip += ["--set", "data.long_examples=skip"]
    assert call(monkeypatch, "train", "--data", file, *skip, "--out", "run") == 0
    out = capsys.readouterr().out
    for words in (
        "valid: 12 of 61 training examples are held out",
        "7 of 68 lines cannot be used",
        "train: 48 of 49 examples used",
        "messy.tsv, line 67 (500)",
    ):
        assert words in out
    assert call(monkeypatch, "evaluate", "run", "--likelihood-samples", "0") == 2
    assert "there is no test split" in said(capsys)[1]
    assert call(monkeypatch, "show", "run") == 2
    assert "this run has sources: give one, such as" in said(capsys)[1]
    for command in (["orders", "run"], ["distill", "run", "--out", "new", "--split", "test"]):
        assert call(monkeypatch, *command) == 2
        error = said(capsys)[1]
        assert error == "voi: run: there is no test split: choose one of train, valid with --split"


def test_long_test_examples_do_not_spoil_the_end_of_training(monkeypatch, capsys, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"a {i}\tb {i % 3}\n" for i in range(40)))
    (tmp_path / "long.tsv").write_text("word " * 300 + "\ta b\n")
    assert call(monkeypatch, "train", "--data", "a.tsv", "--test", "long.tsv", *SMALL) == 0
    assert "test accuracy" in capsys.readouterr().out


def test_a_dry_run_counts_the_steps_of_epochs(monkeypatch, capsys, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"a {i}\tb {i % 3}\n" for i in range(40)))
    phases = "training.phases=[{name='one', epochs=2}, {name='two', steps=1500, accumulate=2}]"
    sizes = ["--set", "training.batch_size=8", "--set", "training.max_tokens=0"]
    assert call(monkeypatch, "train", "--data", "a.tsv", "--dry-run", "--set", phases, *sizes) == 0
    out = capsys.readouterr().out
    assert "steps: one 8 (2 epochs), two 1,500; 1,508 in all" in out  # 32 of 40 pairs, 4 batches
    for words in ("parameters of the decoder", "train: 32 of 32 examples", "memory: about"):
        assert words in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tsv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian'. Did you mean 'train'?: see voi --help"),
        (["train", "--dta", "x"], "No such option: --dta"),
        (["data", "check", "--data"], "requires an argument: see voi data check --help"),
        (["generate"], "see voi generate --help"),
        (["generate", "nowhere", "--beam", "many"], "Invalid value for '--beam'"),
        (["train", "a.tsv"], "give pairs of your own as --data a.tsv"),
        (["train", "--data", "a.tsv", "--data=b.tsv"], "give --data once, got it 2 times"),
        (["generate", "empty", "--keywords", "a", "--keywords", "b"], "give --keywords once"),
        (["train", "--data", "nowhere.tsv"], "no file nowhere.tsv"),
        (["train", "--data", "a.tsv", "--test", "nowhere.tsv"], "no file nowhere.tsv"),
        (["train", "--data", "empty"], "there is no train split in empty"),
        (["train", "--data", "a.tsv", "--out", "empty/.."], "is not empty"),
        (["train", "--data", "a.tsv", "--out", "a.tsv/run"], "cannot write the run folder"),
        (["train", "--set", "training.device=cpuu"], "device 'cpuu' cannot be used here"),
        (["generate", "empty"], "no model in empty"),
        (["generate", "empty/run"], "no model in empty/run"),
        (["serve", "empty", "--port", "0"], "no model in empty"),
        (["orders", "empty"], "no model in empty"),
        (["evaluate", "empty"], "no model in empty"),
        (["distill", "empty", "--out", "new"], "no model in empty"),
        (["data", "prepare", "django", "--from", "empty", "--out", "new"], "expected all.anno"),
        (["data", "download", "coco", "--out", "a.tsv/x"], "cannot read or write a.tsv/x"),
    ],
    ids=" ".join,
)
def test_one_line_and_exit_code_2(monkeypatch, capsys, tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.tsv").write_text("".join(f"a {i}\tb\n" for i in range(40)))
    before = sorted(tmp_path.rglob("*"))
    assert call(monkeypatch, *arguments) == 2
    assert message in said(capsys)[1]
    assert sorted(tmp_path.rglob("*")) == before, "something was half-written"


def test_no_network(monkeypatch, capsys):
    def fail(name):
        raise OSError("[Errno -2] Name or service not known")

    monkeypatch.setattr("voi.model.snapshot_download", fail)
    assert call(monkeypatch, "generate", "some/model") == 2
    assert "no model of that name could be fetched from the hub" in said(capsys)[1]


def test_a_missing_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert call(monkeypatch, "train", "files", "--set", "data.options.hub=some/set") == 2
    assert "pip install 'voi[hub]'" in said(capsys)[1]


@pytest.fixture
def run(briefly_trained, tmp_path):
    return shutil.copytree(briefly_trained, tmp_path / "run")


def test_checkpoints_of_another_version_and_runs_of_similar_names(monkeypatch, capsys, run):
    assert call(monkeypatch, "show", "rum", "x") == 2
    assert said(capsys)[1].endswith("did you mean run?")
    (manifest,) = run.rglob("manifest.json")
    manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 0'))
    for command in (["generate", "run"], ["train", "--resume", "run"]):
        assert call(monkeypatch, *command) == 2
        assert "has format 0, this version of voi reads 1: train again" in said(capsys)[1]


def test_a_full_disk(monkeypatch, capsys, run):
    def full(*arguments):
        raise OSError(28, "No space left on device", "run/evaluation")

    monkeypatch.setattr("voi.cli.evaluate.evaluate", full)
    assert call(monkeypatch, "evaluate", "run") == 2
    assert "run/evaluation: No space left on device; check the path" in said(capsys)[1]


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("voi.cli.generate.load", ["generate", "run"]),
        ("voi.cli.evaluate.evaluate", ["evaluate", "run"]),
        ("voi.cli.orders.run_series", ["orders", "run"]),
        ("voi.cli.show._written", ["show", "run", "from-left a b c"]),
        ("voi.cli.data.check_data", ["data", "check"]),
        ("voi.cli.train.prepare", ["train"]),
        ("voi.cli.train.print_learned", ["train", *settings_of("training.steps=1")]),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_ctrl_c_is_one_line(monkeypatch, capsys, run, place, arguments):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    assert call(monkeypatch, *arguments) == 130
    assert said(capsys)[1] == "voi: interrupted"


def test_ctrl_c_while_libraries_are_loaded(monkeypatch, capsys):
    """They are loaded inside `main`, which hears it."""
    code = "import voi.cli, sys; print(*{'typer', 'rich', 'torch', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("voi.cli._call", interrupted)
    assert call(monkeypatch, "train") == 130
    assert said(capsys)[1] == "voi: interrupted"


def test_debug_shows_the_traceback_of_every_kind(monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("voi.cli.data.check_data", full)
    for arguments in (["--debug", "data", "check"], ["data", "check", "--debug"]):
        monkeypatch.setattr(sys, "argv", ["voi", *arguments])
        with pytest.raises(OSError, match="No space left"):
            main()


def test_faults_of_the_program_are_not_hidden(monkeypatch):
    def wrong(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("voi.cli.data.check_data", wrong)
    with pytest.raises(ZeroDivisionError):
        call(monkeypatch, "data", "check")


def test_a_check_says_which_task_it_is_of(monkeypatch, capsys):
    few = ["--set", "data.options.train=9", "--set", "data.options.valid=9"]
    few += ["--set", "data.options.test=9"]
    assert call(monkeypatch, "data", "check", *few) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "task chain, as nothing is given; your own pairs with --data pairs.tsv"
    assert call(monkeypatch, "data", "check", "sorting", *few) == 0
    assert capsys.readouterr().out.startswith("task sorting\n")


def test_the_version_is_printed(monkeypatch, capsys):
    assert call(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.strip() == version("voi")


def test_files_of_the_working_folder_do_not_stand_for_modules_of_python(tmp_path):
    for name in ("queue", "inspect", "calendar", "token", "select"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    command = [sys.executable, "-P", "-c", "from voi.cli import main; main()", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (version("voi"), "")


def test_steps_that_are_spent_on_warming_up_are_told(monkeypatch, capsys):
    settings = settings_of("training.steps=12", "training.warmup=10")
    assert call(monkeypatch, "train", "chain", *settings, "--dry-run") == 0
    assert "12 steps and warms up for 10 of them" in capsys.readouterr().out
    settings = settings_of("training.steps=12", "training.warmup=20")
    assert call(monkeypatch, "train", "chain", *settings, "--dry-run") == 0
    assert "12 steps and warms up for all of them" in capsys.readouterr().out


@pytest.mark.parametrize(("least", "is_told"), [(1, True), (2, False)])
def test_copying_that_cannot_be_learned_is_told(tmp_path, monkeypatch, capsys, least, is_told):
    lines = "".join(f"set word{i} now\tword{i} = 1\n" for i in range(30))
    (tmp_path / "pairs.tsv").write_text(lines)
    setting = f"data.tokens={{copy=true, min_count={least}}}"
    command = ["train", "--data", tmp_path / "pairs.tsv", "--set", setting, "--dry-run"]
    assert call(monkeypatch, *command) == 0
    assert ("copying is not learned" in capsys.readouterr().out) == is_told


def _copy_advice(monkeypatch, capsys, lines, *settings):
    """Return what training advises about copying on these pairs; empty: nothing."""
    Path("pairs.tsv").write_text("".join(lines))
    files = ["--data", "pairs.tsv", "--valid", "pairs.tsv"]
    assert call(monkeypatch, "train", *files, "--dry-run", *settings) == 0
    out = capsys.readouterr().out
    return out.partition("copying is not learned: give ")[2].partition("\n")[0]


def test_the_count_that_is_advised_gives_copies(monkeypatch, capsys):
    lines = [f"set w{i // 5} {i}\tw{i // 5} = 1 ; a b c d\n" for i in range(100)]
    advice = "--set data.tokens.min_count=6, or --set data.tokens.copy=false"
    assert _copy_advice(monkeypatch, capsys, lines) == advice
    four, six = (["--set", f"data.tokens.min_count={count}"] for count in (4, 6))
    assert _copy_advice(monkeypatch, capsys, lines, *four) == advice
    assert _copy_advice(monkeypatch, capsys, lines, *six) == ""


@pytest.mark.parametrize(
    "line",
    [
        "set {i} {k}\tput x{k} =",  # no word on both sides
        "set w{k} {i}\tw{k} =",  # of twenty pairs each
        "set y{j} {i}\ty{j} x{j} z{j} k{k}",  # half of the target tokens would be unknown
    ],
)
def test_no_count_is_advised_where_none_is_reasonable(monkeypatch, capsys, line):
    lines = [line.format(i=i, j=i // 4, k=i % 10) + "\n" for i in range(200)]
    assert _copy_advice(monkeypatch, capsys, lines) == "--set data.tokens.copy=false"


def test_many_unknown_words_are_told_with_what_to_set(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.tsv").write_text("".join(f"a {i}\tb w{i} {i % 3}\n" for i in range(9)))
    for command in (["train", "--dry-run"], ["data", "check"]):
        assert call(monkeypatch, *command, "--data", "a.tsv") == 0
        out = capsys.readouterr().out
        assert "of the training target tokens are unknown: know all words with --set " in out
        assert "--set data.tokens.min_count=1 --set data.tokens.copy=false, or cut them " in out
        assert "with either, no word is copied from its source any more\n" in out
        assert "copying is not learned" not in out


def test_short_runs_on_own_files_are_not_all_warm_up(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.tsv").write_text("".join(f"a {i}\tb {i % 3}\n" for i in range(200)))
    assert call(monkeypatch, "train", "--data", "a.tsv", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "steps: main 120 (20 epochs)" in out
    assert '"warmup": 12,' in out
    assert "warms up" not in out
    own = ["--set", "training.warmup=100"]
    assert call(monkeypatch, "train", "--data", "a.tsv", "--dry-run", *own) == 0
    out = capsys.readouterr().out
    assert '"warmup": 100,' in out
    assert "warms up for 100 of them: it learns little; give --set training.warmup=12, or" in out


def test_square_brackets_in_texts_and_folders_are_printed_as_they_are(
    tmp_path, monkeypatch, capsys
):
    lines = "".join(f"[/b] say {i}\tx [/c] {i % 3}\n" for i in range(30))
    (tmp_path / "pairs.tsv").write_text(lines)
    settings = ["training.steps=1", "decoder.width=16", "order.width=16"]
    options = [part for setting in settings for part in ("--set", setting)]
    out = tmp_path / "[x]"
    command = ["train", "--data", tmp_path / "pairs.tsv", *options, "--out", out]
    assert call(monkeypatch, *command) == 0
    told = capsys.readouterr().out
    assert "[/b] say" in told
    assert "[x]" in told


@pytest.mark.parametrize("name", ["\U0001f600", "a\x7fb", 'a "b" = 1', "true"])
def test_a_file_of_any_name_is_read(tmp_path, monkeypatch, name):
    lines = "".join(f"say {i}\tx {i}\n" for i in range(30))
    (tmp_path / f"{name}.tsv").write_text(lines)
    assert call(monkeypatch, "train", "--data", tmp_path / f"{name}.tsv", "--dry-run") == 0


def test_a_reader_that_goes_is_no_error(file):
    """As with `voi data check ... | head -1`."""
    skip = ["--set", "data.options.bad_lines=skip", "--set", "data.long_examples=skip"]
    command = [sys.executable, "-m", "voi", "data", "check", "--data", file, *skip]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(60) == 0
