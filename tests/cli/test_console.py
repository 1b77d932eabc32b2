"""What commands print of a user's names: all of it, brackets too."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import voi.cli
import voi.cli.serve
from serve_models import chain_model
from small_runs import call
from voi.bench import runtime
from voi.cli.app import app
from voi.cli.bench import print_table
from voi.cli.console import plain_console
from voi.cli.drawing import say
from voi.cli.watching import EvaluationBar
from voi.serve.server import Server


@pytest.mark.parametrize(
    "text", ["[old]", "a[/b]c", "[bold]x[/bold]", "[link=http://x]", ":smile:"]
)
def test_names_are_printed_as_they_are(capsys, text):
    say(f"written to {text}", plain_console(), "bold")
    assert capsys.readouterr().out == f"written to {text}\n"


def test_names_in_tables_are_whole_where_the_terminal_is_narrow(capsys):
    rows = [["task", "method", "seeds"], ["chain-5", "voi-gumbel-matching", "0, 1, 2"]]
    console = plain_console()
    console.width = 24
    print_table("title", rows, console)
    letters = "".join(capsys.readouterr().out.split())
    assert sorted(letters) == sorted(("title" + "".join(map("".join, rows))).replace(" ", ""))


def test_every_console_is_a_plain_one():
    folder = Path(voi.cli.__file__).parent
    made = {p.name for p in folder.glob("*.py") if re.search(r"\bConsole\(", p.read_text("utf-8"))}
    assert made == {"console.py"}


def test_an_address_with_brackets_is_shown(monkeypatch):
    model = chain_model()
    monkeypatch.setattr(voi.cli.serve, "load", lambda *_: model)
    monkeypatch.setattr(Server, "url", "http://[fd00::5]:8765")
    monkeypatch.setattr(Server, "run", lambda *_: None)
    result = CliRunner().invoke(app, ["serve", "runs/[a]", "--port", "0"])
    assert "runs/[a] is at http://[fd00::5]:8765; Ctrl-C ends it\n" in result.output


def test_a_benchmark_says_where_it_has_written(monkeypatch, capsys):
    found = SimpleNamespace(exponents=dict)
    monkeypatch.setattr(runtime, "measure", lambda *_: found)
    monkeypatch.setattr(runtime, "rows", lambda _: [["n"]])
    monkeypatch.setattr(runtime, "write", lambda *_: None)
    assert call(monkeypatch, "bench", "runtime", "--threads", 1, "--out", "[old]/[/a]") == 0
    assert capsys.readouterr().out.endswith("written to [old]/[/a]\n")


def test_the_progress_of_a_run_is_named(monkeypatch, capsys):
    monkeypatch.setattr("voi.cli.watching.LINE_EVERY", -1)
    with EvaluationBar("[old]") as bar:
        bar.told("decoding", 1, 2)
    assert capsys.readouterr().err == "[old]: decoding 1 of 2\n"
