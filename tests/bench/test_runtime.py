"""The runtime comparison: its arithmetic, its files, and that real steps are timed."""

import csv
import json

import pytest

from small_runs import call
from voi.bench.runtime import Runtime, rows
from voi.bench.timing import growth, interleaved

MADE_UP = Runtime(
    (2, 4, 8),
    training={"l2r": [1.0, 2.0, 4.0], "voi": [3.0, 6.0, 12.0], "sao": [1.0, 8.0, 64.0]},
    search={"voi": [1.0, 1.0, 1.0], "sao": [5.0, 10.0, 20.0]},
)


def test_ratios_and_exponents_of_known_curves():
    assert MADE_UP.ratio("voi") == [3.0, 3.0, 3.0]
    assert MADE_UP.speedup == [5.0, 10.0, 20.0]
    expected = {"training l2r": 1, "training voi": 1, "training sao": 3, "search voi": 0}
    expected |= {"search sao": 1, "search sao / voi": 1}
    assert MADE_UP.exponents() == pytest.approx(expected, abs=1e-9)
    first = "2 1000.0 3000.0 1000.0 3.00 1.00 1000.0 5000.0 5.0"
    assert rows(MADE_UP)[1] == first.split()


def test_growth_ignores_the_constant():
    assert growth([3, 5, 9], [7 * n**1.5 for n in (3, 5, 9)]) == pytest.approx(1.5)


def test_functions_take_turns_and_the_first_round_is_not_counted():
    calls = []
    timed = interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert "".join(calls) == "ababab"
    assert {name: len(seconds) for name, seconds in timed.items()} == {"a": 2, "b": 2}


def test_the_command_writes_table_and_plots(tmp_path, monkeypatch, capsys):
    size = ["--width", 16, "--layers", 1, "--beam", 2, "--repetitions", 1, "--threads", 1]
    assert call(monkeypatch, "bench", "runtime", "--lengths", "2,4", *size, "--out", tmp_path) == 0
    assert "search sao: grows as" in capsys.readouterr().out
    header, *lines = csv.reader((tmp_path / "runtime.csv").read_text().splitlines())
    assert [line[0] for line in lines] == ["2", "4"]
    assert len(header) == len(lines[0])
    stored = json.loads((tmp_path / "runtime.json").read_text())
    assert all(x > 0 for curve in stored["training"].values() for x in curve)
    for name in ("training", "search"):
        assert (tmp_path / f"runtime-{name}.svg").read_text().startswith("<?xml")


def test_a_single_length_is_refused(tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, "bench", "runtime", "--lengths", "8", "--out", tmp_path) == 2
    assert "--lengths" in capsys.readouterr().err
