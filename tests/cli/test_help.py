"""Every command's --help says what it does and shows an example that it takes."""

import re
import shlex

import pytest
import typer

from small_runs import call
from voi.cli import _call
from voi.cli.app import app


def commands():
    """Return the words of every command, `voi` itself and groups aside, with its docstring."""
    _call(["--help"])  # registers them
    found = []

    def visit(command, words):
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                visit(inner, (*words, name))
        else:
            found.append((words, command))

    visit(typer.main.get_command(app), ())
    return found


COMMANDS = commands()


def test_all_commands_are_found():
    names = {" ".join(words) for words, _ in COMMANDS}
    assert {"train", "generate", "data check", "data regions", "bench orders", "serve"} <= names


def test_the_option_for_tracebacks_is_listed(monkeypatch, capsys):
    assert call(monkeypatch, "--help") == 0
    assert "--debug" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=lambda part: str(part))
def test_help_shows_an_example(monkeypatch, capsys, words, command):
    assert call(monkeypatch, *words, "--help") == 0
    assert "Example: " in capsys.readouterr().out
    (line,) = re.findall(r"^Example: (.+)$", command.help, re.MULTILINE)
    assert f"voi {' '.join(words)}" in line
    options = {name for parameter in command.params for name in parameter.opts}
    given = shlex.split(line[line.index("voi ") :])[1 + len(words) :]
    assert {word for word in given if word.startswith("--")} <= options


def test_runs_stand_in_one_pair_of_brackets(monkeypatch, capsys):
    assert call(monkeypatch, "orders", "--help") == 0
    assert "voi orders [OPTIONS] [RUN]... " in capsys.readouterr().out


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=lambda part: str(part))
def test_no_option_only_says_its_default(words, command):
    """A flag that is off has no --no-flag."""
    assert [p.secondary_opts for p in command.params if p.secondary_opts] == []


@pytest.mark.parametrize("words", [(), ("data",), ("bench",)], ids=str)
def test_groups_list_their_commands_and_show_an_example(monkeypatch, capsys, words):
    assert call(monkeypatch, *words, "--help") == 0
    assert "Example: voi " in capsys.readouterr().out
    assert call(monkeypatch, *words) == 2  # no command: the help, and nothing else
    assert capsys.readouterr().err == ""
