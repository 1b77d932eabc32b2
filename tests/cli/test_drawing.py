"""What is drawn in a terminal: texts that would steer it are escaped, figures are whole."""

import io
import json
import re

import pytest
from rich.console import Console

from small_runs import call, settings_of
from voi.cli.drawing import draw_steps, visible
from voi.cli.watching import TrainingBar
from voi.search import Hypothesis
from voi.training import Progress

STEERS = "\x1b[31m"  # would turn all that follows red
SMALL = [*settings_of()[2:], "--set", "training.steps=2"]


def test_steps_do_not_steer():
    hypothesis = Hypothesis(
        text=f"a {STEERS} \x07",
        tokens=("a", STEERS, "\x07"),
        order=(0, 1, 2),
        slots=(0, 1, 2),
        score=0.0,
        token_scores=(0.0,) * 4,
        slot_scores=(0.0,) * 3,
    )
    out = io.StringIO()
    draw_steps(hypothesis, Console(file=out, width=80))
    assert out.getvalue().splitlines()[-1].rstrip() == r"  3  a \x1b[31m \x07"
    assert visible("a\rb é 🦊 \u200d") == "a\\rb é 🦊 \u200d"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Every text of this run has an escape sequence."""
    monkeypatch.chdir(tmp_path)
    lines = (f"a {STEERS} {i}\t{STEERS} b {i % 3}\n" for i in range(40))
    (tmp_path / "a.tsv").write_text("".join(lines))
    assert call(monkeypatch, "train", "--data", "a.tsv", "--out", "run", *SMALL) == 0
    return capsys.readouterr().out


def test_trained_and_shown_texts_do_not_steer(run, tmp_path, monkeypatch, capsys):
    assert "\x1b" not in run
    assert r"a \x1b[31m" in run
    given = ["--gaps", f"{STEERS} ___"]
    assert call(monkeypatch, "show", "run", f"a {STEERS} 1", *given) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"1  \x1b[31m" in out


def test_what_is_piped_stays_as_it_is(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "sources").write_text(f"a {STEERS} 1\t{STEERS}\n")
    assert call(monkeypatch, "generate", "run", "sources", "--prefix") == 0
    assert capsys.readouterr().out.startswith(STEERS)
    assert call(monkeypatch, "generate", "run", "sources", "--prefix", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tokens"][0] == STEERS
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert call(monkeypatch, "generate", "run", "sources", "--prefix") == 0
    assert r"\x1b[31m" in capsys.readouterr().out


def plain(text):
    """Return what a terminal shows, without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


VALUES = {"loss": 2.0991, "reward": -8.4, "entropy": 10.86, "distance": 0.5}


@pytest.mark.parametrize(
    ("width", "last"), [(40, "loss"), (60, "reward"), (80, "entropy"), (100, "12,650 tok/s")]
)
def test_the_bar_shows_whole_figures(width, last):
    out = io.StringIO()
    with TrainingBar(Console(file=out, force_terminal=True, width=width)) as watch:
        progress = Progress(step=2480, phase=1)
        watch.trained(progress, 25000, {**VALUES, "tokens_per_second": 12650})
    line = plain(out.getvalue()).strip().splitlines()[-1]
    assert "loss 2.099 " in line
    assert re.search(rf"phase 2 2480/25000 .*{last}[- .0-9]* -:--:--$", line.strip())
    assert "…" not in line


def test_a_file_has_whole_lines_and_no_bar():
    out = io.StringIO()
    values = {**VALUES, "tokens_per_second": 12650}
    with TrainingBar(Console(file=out, soft_wrap=True)) as watch:
        for step in (1, 2):
            watch.trained(Progress(step=step, phase=0), 25000, values)
        watch.validated(Progress(step=2, phase=0), {"score": -1.0, "elbo": -1.0, "entropy": 0.5})
    figures = "loss 2.099  reward -8.40  entropy 10.86  distance 0.500  12,650 tok/s"
    validated = "step 2: validation elbo -1.000  entropy per token 0.500"  # above: per target
    assert out.getvalue() == f"step 2/25,000  {figures}\n{validated}\n"


def test_a_target_without_tokens_is_said():
    out = io.StringIO()
    draw_steps(Hypothesis("", (), (), (), -1.0), Console(file=out))
    assert out.getvalue() == "  (nothing is written)\n"


def test_tables_that_are_too_wide_are_stacked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "a.tsv").write_text("".join(f"a {i}\tb {i % 3}\n" for i in range(40)))
    rows = {80: r" source length, longest +2 \(line \d\) ", 30: r"  train: 2 \(line \d\)\n"}
    for width, row in rows.items():
        monkeypatch.setenv("COLUMNS", str(width))
        assert call(monkeypatch, "data", "check", "--data", tmp_path / "a.tsv") == 0
        assert re.search(row, plain(capsys.readouterr().out))
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text("a b\na c\n")
    files = [part for name in ("one", "two") for part in ("--hypotheses", tmp_path / f"{name}.txt")]
    command = ["evaluate", *files, "--references", tmp_path / "one.txt", "--metrics", "exact_match"]
    assert call(monkeypatch, *command) == 0
    assert "exact_match\n  one.txt: 100.00\n  two.txt: 100.00\n" in plain(capsys.readouterr().out)
