"""Cells are measured once, never mixed, and chosen by name."""

import json
from threading import Event, Thread

import pytest

from small_runs import tiny_experiment
from voi.bench.cells import Cell, markdown, matching, measured, read_all, spread
from voi.errors import ConfigError, DataError
from voi.tables import to_table


def measured_one(folder, name, settings, measure=dict):
    (result,) = measured(folder, [Cell(name, settings, measure)], lambda result: None)
    return result


def test_a_cell_is_measured_once(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {"value": 0.5}

    first = measured_one(tmp_path, "a", {"steps": 3, "pair": (1, 2)}, measure)
    second = measured_one(tmp_path, "a", {"steps": 3, "pair": (1, 2)}, measure)
    assert first == second == json.loads((tmp_path / "a.json").read_text())
    assert (first["value"], len(calls)) == (0.5, 1)


def test_other_settings_are_an_error_that_names_them(tmp_path):
    measured_one(tmp_path, "a", {"x": {"steps": 3, "rate": 1}})
    with pytest.raises(ConfigError, match=r"measured with x\.steps = 3, not 4: choose another"):
        measured_one(tmp_path, "a", {"x": {"steps": 4, "rate": 1}})


def test_a_field_that_came_later_had_its_default(tmp_path):
    settings = {"experiment": to_table(tiny_experiment())}
    before = to_table(tiny_experiment())
    del before["order"]["token_dropout"], before["data"]["cache"]
    measured_one(tmp_path, "a", {"experiment": before})
    assert measured_one(tmp_path, "a", settings)["settings"]["experiment"]["data"]["cache"] == ""
    other = {"experiment": to_table(tiny_experiment("order.token_dropout=0.5"))}
    with pytest.raises(ConfigError, match=r"order\.token_dropout = 0\.0, not 0\.5"):
        measured_one(tmp_path, "a", other)


def test_how_orders_are_learned_counts_where_they_are_learned(tmp_path):
    def settings(name, kind, *more):
        made = tiny_experiment(f"order.kind={kind}", "training.num_orders=2", *more)
        return tmp_path, name, {"experiment": to_table(made)}

    entropy = "training.entropy_weight=0.3"
    frozen = 'training.phases=[{name="a", steps=1}, {name="b", steps=1, freeze_orders=true}]'
    frozen = frozen, "training.share=false"
    for kind in ("l2r", "random", "sao"):
        first = measured_one(*settings(kind, kind))
        assert measured_one(*settings(kind, kind, entropy)) == first
        with pytest.raises(ConfigError, match=r"training\.phases\.0\.num_orders = 2, not 3:"):
            measured_one(*settings(kind, kind, "training.num_orders=3"))
    measured_one(*settings("voi", "voi"))
    with pytest.raises(ConfigError, match=r"with .*\.phases\.0\.entropy_weight = 1\.0, not 0\.3:"):
        measured_one(*settings("voi", "voi", entropy))
    first = measured_one(*settings("frozen", "voi", *frozen))
    again = measured_one(*settings("frozen", "voi", *frozen, "training.phases.1.order_rate=1"))
    assert again == first
    with pytest.raises(ConfigError, match=r"phases\.0\.order_rate = 0\.001, not 1"):
        measured_one(*settings("frozen", "voi", *frozen, "training.phases.0.order_rate=1"))


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_broken_cell_is_an_error(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match=r"a\.json .*remove it"):
        measured_one(tmp_path, "a", {})


def test_a_failed_measurement_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        measured_one(tmp_path / "cells", "a", {}, lambda: {"value": 1 / 0})
    assert not list(tmp_path.rglob("*.json"))


def test_a_cell_that_another_process_is_at_is_left_to_it_and_waited_for(tmp_path):
    """A thread stands for it: files are locked against both. It ends its cell after ours."""
    is_at_it, is_free = Event(), Event()

    def slowly():
        is_at_it.set()
        assert is_free.wait(60)
        return {"by": "other"}

    other = Thread(target=measured, args=(tmp_path, [Cell("a", {}, slowly)], lambda result: None))
    other.start()
    assert is_at_it.wait(60)

    def ours():
        is_free.set()
        return {"by": "us"}

    cells = [Cell(name, {}, ours) for name in ("a", "b")]
    told = []
    results = measured(tmp_path, cells, lambda result: told.append(result["name"]))
    other.join()
    assert [result["by"] for result in results] == ["other", "us"]
    assert told == ["b", "a"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_patterns_choose_in_the_given_order():
    names = ["b.x", "a.x", "a.y"]
    assert matching(names, "", "--cells") == names
    assert matching(names, "a.*, b.x", "--cells") == names
    assert matching(names, "*.x", "--cells") == ["b.x", "a.x"]
    with pytest.raises(ConfigError, match=r"--cells: nothing is called 'c\.\*', known: b\.x, "):
        matching(names, "a.*,c.*", "--cells")


def test_tables_and_means():
    assert markdown([["a"], ["1"], ["2"]]) == "| a |\n|---|\n| 1 |\n| 2 |\n"
    assert spread([]) == "-"
    assert spread([1.0, 3.0], 0) == "2 (1 to 3)"


def test_a_folder_is_read_by_name_and_seed_and_must_be_one_experiment(tmp_path):
    for seed in (10, 9):
        settings = {"seed": seed, "experiment": {"steps": 3, "training": {"seed": seed}}}
        measured_one(tmp_path, f"b-seed{seed}", settings)
    measured_one(tmp_path, "a-seed0", {"seed": 0, "experiment": {"steps": 4}})
    assert [cell["name"] for cell in read_all(tmp_path)] == ["a-seed0", "b-seed9", "b-seed10"]
    measured_one(tmp_path, "a-seed1", {"seed": 1, "experiment": {"steps": 5}})
    with pytest.raises(ConfigError, match=r"mixes two.*a-seed1 .* experiment\.steps = 5, not 4"):
        read_all(tmp_path)
    assert read_all(tmp_path / "nothing") == []
