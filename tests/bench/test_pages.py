"""Pages of results say what the stored cells say, and what was written by hand stays."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

import pages
from voi.errors import ConfigError

ROOT = Path(__file__).parents[2]
NAMES = ("orders", "recovery")
MACHINE = "2 cores (X), 1 threads, torch 2, load {}"


@pytest.fixture
def root(tmp_path):
    """A project with empty experiments."""
    blocks = [f"<!-- made by benchmarks/pages.py: {name} -->\n<!-- end -->\n" for name in NAMES]
    (tmp_path / "README.md").write_text("Before\n" + "\nbetween\n".join(blocks) + "after\n")
    for name in NAMES:
        (tmp_path / "docs" / "results" / name).mkdir(parents=True)
    listed = "<!-- made by benchmarks/pages.py: experiments -->\n<!-- end -->\n"
    (tmp_path / "docs" / "results" / "index.md").write_text(f"# Results\n\n{listed}")
    return tmp_path


def order_run(folder: Path, task: str, method: str, seed: int, accuracy: float) -> None:
    name = f"{task}.{method}-seed{seed}"
    about = {"task": task, "method": method, "seed": seed, "test": {"examples": 500}}
    values = {"accuracy": accuracy, "log_prob": -0.5, "sampled": 0.25, "written": None}
    times = {"steps_to_95": None, "cpu_seconds_to_95": None, "cpu_seconds": 30.0}
    cell = {"name": name, "settings": {**about, "file": "/home/x/a.tsv"}, **values, **times}
    cell |= {"machine": MACHINE.format(seed + 0.5), "commit": f"c{seed}"}
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    (folder / "cells" / f"{name}.json").write_text(json.dumps(cell))


def recovery_run(folder: Path, cell: str, seed: int, value: float) -> None:
    decoder = {"batch_size": 4, "captions": ""}
    settings = {"cell": cell, "seed": seed, "steps": 1500, "decoder": decoder}
    values = {"sampled": value, "mode": value, "mode_reward": -2.0, "common_reward": -1.0}
    curve = [{"step": 0, "sampled": 0.9}, {"step": 1500, "sampled": value}]
    stored = {"name": f"{cell}-seed{seed}", "settings": settings, **values, "curve": curve}
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    path = folder / "cells" / f"{cell}-seed{seed}.json"
    path.write_text(json.dumps({**stored, "cpu_seconds": 7.0}))


def test_the_stored_pages_are_up_to_date(tmp_path):
    for path, text in pages.made(ROOT, tmp_path).items():
        assert path.read_text() == text, f"{path}: run python benchmarks/pages.py"
    for plot in tmp_path.glob("*/*.svg"):
        assert (ROOT / "docs" / "results" / plot.relative_to(tmp_path)).is_file()


def test_stored_cells_name_no_path_of_a_machine():
    for path in (ROOT / "docs" / "results").rglob("*.json"):
        assert not re.search(r'"/\w', path.read_text()), path


def test_without_cells_nothing_is_said_to_be_measured(root):
    assert len(pages.write(root)) == 2 + 2
    assert "Not measured yet." in (root / "docs" / "results" / "orders" / "index.md").read_text()
    readme = (root / "README.md").read_text()
    assert "[OrderBench](docs/results/orders/index.md): not measured yet." in readme
    assert pages.write(root) == []


def test_a_partial_set_of_cells_gives_a_table_that_says_what_is_missing(root, tmp_path):
    run = tmp_path / "run"
    for cell in (("sorting", "l2r", 0, 0.5), ("sorting", "l2r", 1, 1.0), ("chain-6", "sao", 0, 0)):
        order_run(run, *cell)
    pages.take(root, "orders", run)
    pages.write(root)
    page = (root / "docs" / "results" / "orders" / "index.md").read_text()
    assert "| sorting | l2r | 0, 1 | 0.750 (0.500 to 1.000) | -0.500 " in page
    assert "| task | `l2r` | `sao` |" in page
    assert "| chain-6 | - | 0.000 |" in page
    assert "3 cells, commits c0, c1. Machine: 2 cores (X), 1 threads, torch 2, load 0.5 to" in page
    assert "](orders.svg)" in page
    assert "75" in (root / "docs" / "results" / "orders" / "orders.svg").read_text()
    readme = (root / "README.md").read_text()
    assert "), commits c0, c1. Accuracy" in readme
    assert "\n```\nvoi bench orders --out runs/orders\n```\n" in readme
    assert "| sorting | 0.750 (0.500 to 1.000) | - |" in readme
    assert "/home/" not in "".join(path.read_text() for path in root.glob("docs/**/*.json"))


def test_two_experiments_of_one_kind(root, tmp_path):
    recovery_run(tmp_path / "run", "gumbel-matching.xl.k4", 0, 0.125)
    pages.take(root, "recovery-coco", tmp_path / "run")
    pages.write(root)
    page = (root / "docs" / "results" / "recovery-coco" / "index.md").read_text()
    assert "| xl | gumbel-matching | 0.25 | 0.125 | 0.125 | 7 | 0 |" in page
    assert "| xl | plackett-luce | 0.57 | - | - | - | none |" in page
    assert "Not measured" in (root / "docs" / "results" / "recovery" / "index.md").read_text()
    listed = (root / "docs" / "results" / "index.md").read_text()
    assert "(recovery-coco/index.md) | 1 | 0 |" in listed
    with pytest.raises(ConfigError, match="starts with one of orders, recovery"):
        pages.take(root, "other", tmp_path / "run")
    with pytest.raises(ConfigError, match="has no cells"):
        pages.take(root, "recovery", tmp_path / "elsewhere")


def test_comparisons_are_shown_below_the_tables(root, tmp_path, monkeypatch):
    """Only Django has them; what they look like is up to its own table."""
    order_run(tmp_path / "run", "sorting", "l2r", 0, 0.5)

    def shown(compared):
        return [["p"], [str([one["p_value"] for one in compared])]]

    kind = dataclasses.replace(pages.KINDS["orders"], compared=shown)
    monkeypatch.setattr(pages, "KINDS", {**pages.KINDS, "orders": kind})
    for p_values in ({0: 0.25, 1: 0.5}, {1: 0.75, 2: 0.125}):  # those of seed 1 are measured again
        found = [{"order": "sao", "seed": seed, "p_value": p} for seed, p in p_values.items()]
        stored = {"cells": [], "comparisons": found}
        (tmp_path / "run" / "orders.json").write_text(json.dumps(stored))
        pages.take(root, "orders", tmp_path / "run")
    pages.write(root)
    page = (root / "docs" / "results" / "orders" / "index.md").read_text()
    assert "95 % interval\n\n| p |\n|---|\n| [0.25, 0.75, 0.125] |" in page
    assert pages.KINDS["django"].compared is not None


def test_what_is_written_by_hand_stays(root, tmp_path):
    pages.write(root)
    page = root / "docs" / "results" / "orders" / "index.md"
    told = page.read_text().replace("None yet.", "Sorting needs no order.")
    told = told.replace(
        "--out runs/orders", "--seeds 1 --out runs/orders  # an hour\nvoi bench orders x\ny"
    )
    page.write_text(told)
    order_run(tmp_path / "run", "sorting", "l2r", 0, 1.0)
    pages.take(root, "orders", tmp_path / "run")
    assert page in pages.write(root)
    assert "Sorting needs no order." in page.read_text()
    assert "| sorting | l2r |" in page.read_text()
    readme = (root / "README.md").read_text()
    assert "```\nvoi bench orders --seeds 1 --out runs/orders\nvoi bench orders x\n```\n" in readme
    assert readme.startswith("Before\n")
    assert readme.endswith("after\n")
    assert readme.count("between") == len(NAMES) - 1


def test_a_page_without_a_command_is_an_error():
    with pytest.raises(ConfigError, match="names its commands"):
        pages.commands_on("# Orders\n\n```\nls\n```\n")


def test_a_page_out_of_date_is_noticed(root, tmp_path):
    pages.write(root)
    readme = root / "README.md"
    readme.write_text(readme.read_text().replace("not measured yet", "1.000", 1))
    assert pages.made(root, tmp_path / "drawn")[readme] != readme.read_text()
    assert pages.write(root) == [readme]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("<!-- end -->", "", "has no <!-- end"), (": orders", ": order", "shows order, known are")],
)
def test_broken_blocks_are_errors(root, old, new, said):
    path = root / "README.md"
    path.write_text(new.join(path.read_text().rsplit(old, 1)))
    with pytest.raises(ConfigError, match=said):
        pages.write(root)
