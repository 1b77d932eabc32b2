"""Commands that read a run's data say where it has changed since training, and go on."""

import shutil

import pytest

from small_runs import call, settings_of

LINES = [f"a {i}\tb {i % 3}\n" for i in range(60)]
SMALL = [*settings_of("training.steps=1", "search.beam=1")[2:]]  # the first are options of chain
VALID = ["--split", "valid"]
COMMANDS = [
    ["evaluate", "RUN", *VALID, "--likelihood-samples", 0, "--limit", 2],
    ["orders", "RUN", *VALID, "--tagger", "none", "--limit", 2],
    ["orders", "RUN", *VALID, "--perturb", 0],
    ["distill", "RUN", *VALID, "--out", "distilled"],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run whose validation pairs are held out from the training pairs."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "pairs.tsv").write_text("".join(LINES))
    (folder / "test.tsv").write_text("".join(LINES[:4]))
    arguments = ["--data", folder / "pairs.tsv", "--test", folder / "test.tsv", *SMALL]
    with pytest.MonkeyPatch.context() as patch:
        assert call(patch, "train", *arguments, "--out", folder / "run") == 0
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    """The same run, its pairs back as they were."""
    monkeypatch.chdir(tmp_path)
    (made / "pairs.tsv").write_text("".join(LINES))
    return shutil.copytree(made / "run", tmp_path / "run")


def _errors(monkeypatch, capsys, run, command):
    capsys.readouterr()
    assert call(monkeypatch, *(run if part == "RUN" else part for part in command)) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command[:5])))
def test_changed_data_is_told_in_one_line(monkeypatch, capsys, made, run, command):
    assert _errors(monkeypatch, capsys, run, command) == ""
    shutil.rmtree("distilled", ignore_errors=True)
    shutil.rmtree(run / "evaluation", ignore_errors=True)
    more = [f"c {i}\td {i % 3}\n" for i in range(40)]
    (made / "pairs.tsv").write_text("".join([*LINES, *more]))
    (line,) = _errors(monkeypatch, capsys, run, command).splitlines()
    assert line == (
        f"voi: the data of {run} has changed since it was trained: pairs that are held out now may "
        f"have been trained on; restore the files, or start a new run"
    )


def test_nothing_is_said_of_test_nor_of_a_model_alone(monkeypatch, capsys, made, run):
    (made / "pairs.tsv").write_text("".join(LINES[:-1]))
    evaluate, *_ = COMMANDS
    test = [part if part != "valid" else "test" for part in evaluate]
    assert _errors(monkeypatch, capsys, run, test) == ""
    (run / "data.json").unlink()
    assert _errors(monkeypatch, capsys, run, evaluate) == ""
