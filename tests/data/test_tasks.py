"""What every embedded task promises, and the errors of wrong options."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from voi.data.files import FileTask
from voi.data.tasks import (
    TASKS,
    chosen_split,
    examples_of,
    located,
    make_task,
    order_distance,
    target_kind,
)
from voi.errors import ConfigError, DataError

SMALL = {
    "chain": {"train": 300},
    "addition": {"train": 300},
    "stargraph": {"train": 300},
    "sudoku4": {"train": 300},
    "sorting": {"train": 300},
    "pylines": {"train": 300, "files": 15},
}
SIZES = {"valid": 40, "test": 30}
SPLITS = ("train", "valid", "test")


def small(name, **options):
    return make_task(name, {**SMALL[name], **SIZES, **options})


def test_every_task_is_covered():
    read_from_files = {"files", "django", "gigaword", "wmt16-ro-en", "captions"}
    read_from_files |= {"scenes"}  # of images; all have tests of their own
    assert set(SMALL) == set(TASKS) - read_from_files


def test_every_task_says_what_its_targets_are():
    kinds = {name: target_kind(name) for name in TASKS}
    assert {name for name, kind in kinds.items() if kind == "symbols"} == set(SMALL) - {"pylines"}
    assert {name for name, kind in kinds.items() if kind == "code"} == {"pylines", "django"}
    assert (kinds["gigaword"], kinds["wmt16-ro-en"]) == ("summaries", "translation")
    assert {kinds[name] for name in ("files", "captions", "scenes")} == {"text"}


class Own:
    target_kind = "code"


class Wrong:
    target_kind = "songs"


def test_a_task_of_ones_own_says_what_its_targets_are():
    assert target_kind(f"{__name__}:Own") == "code"
    assert target_kind(f"{__name__}:small") == "text"  # which does not say it
    assert target_kind("nowhere:Task") == "text"  # not at hand
    with pytest.raises(ConfigError, match="must be one of symbols, code"):
        target_kind(f"{__name__}:Wrong")


def test_a_split_that_is_not_there_is_told_with_its_run():
    task = small("chain")
    with pytest.raises(DataError, match=r"^there is no dev split: choose one of train, "):
        chosen_split(task, "dev")
    with pytest.raises(DataError, match=r"^runs.one: there is no dev split: choose"):
        chosen_split(task, "dev", Path("runs/one"))
    assert len(chosen_split(task, "valid", Path("runs/one"))) == 40


@pytest.mark.parametrize("name", SMALL)
class TestContract:
    def test_sizes_and_disjoint_sources(self, name):
        task = small(name)
        sources = [example.source for split in SPLITS for example in task.split(split)]
        assert [len(task.split(split)) for split in SPLITS] == [300, 40, 30]
        assert len(set(sources)) == len(sources)

    def test_texts_are_tokens_between_single_spaces(self, name):
        for example in small(name).split("train"):
            assert example.source == " ".join(example.source.split()) != ""
            assert example.target == " ".join(example.target.split()) != ""

    def test_same_seed_same_examples(self, name):
        first, second = small(name, seed=3), small(name, seed=3)
        assert [first.split(split) for split in SPLITS] == [second.split(split) for split in SPLITS]

    def test_other_seed_other_examples(self, name):
        first, second = small(name), small(name, seed=1)
        assert all(first.split(split) != second.split(split) for split in SPLITS)

    def test_repeated_calls_return_the_same_object(self, name):
        task = small(name)
        assert task.split("valid") is task.split("valid")

    def test_held_out_examples_do_not_depend_on_the_training_size(self, name):
        first, second = small(name), small(name, train=200)
        assert first.split("test") == second.split("test")
        assert first.split("valid") == second.split("valid")
        assert first.split("train")[:200] == second.split("train")

    def test_known_orders_are_permutations_of_the_target(self, name):
        task = small(name)
        for example in task.split("valid"):
            for order in task.known_orders(example):
                assert sorted(order) == list(range(len(example.target.split())))

    def test_an_order_is_known_except_for_code(self, name):
        task = small(name)
        counts = {len(task.known_orders(example)) for example in task.split("valid")}
        expected = {"pylines": {0}, "sudoku4": {1, 2, 3}, "sorting": {2, 3, 4}, "stargraph": {30}}
        assert counts <= expected.get(name, {1})

    def test_unknown_split_names_the_nearest(self, name):
        with pytest.raises(DataError, match='unknown split "tests": did you mean "test"'):
            small(name).split("tests")

    def test_unknown_option_names_the_nearest(self, name):
        with pytest.raises(ConfigError, match=r'did you mean "data\.options\.train"'):
            make_task(name, {"trian": 5})


@pytest.mark.parametrize("name", ["sudoku4", "addition", "chain"])
def test_known_orders_are_of_as_many_tokens_as_words(name):
    task = small(name)
    example = task.split("valid")[0]
    num_words = len(example.target.split())
    for num_tokens in (num_words - 1, num_words + 1, 2 * num_words):
        assert order_distance(task, example, range(num_tokens)) is None
    assert order_distance(task, example, task.known_orders(example)[0]) == 0


@dataclass
class Told:
    """A task of one's own that returns what it is told to."""

    found: tuple[str, ...] = ()

    def split(self, name):
        return self.found


@pytest.mark.parametrize("name", ["collections:Counter", "os:path", "dataclasses:Field"])
def test_a_task_is_a_dataclass_with_splits(name):
    with pytest.raises(ConfigError, match=r"dataclass with a method split|module:"):
        make_task(name, {})


def test_splits_of_a_task_of_ones_own_hold_examples():
    with pytest.raises(DataError, match=r"split\('train'\) of Told is empty"):
        examples_of(Told(), "train")
    with pytest.raises(DataError, match=r"must hold voi\.Example\(source, target\), got 'a'"):
        examples_of(Told(("a",)), "valid")


def test_a_run_cannot_keep_a_path_that_is_no_text():
    task = FileTask(train="bad\udcffname.tsv")
    with pytest.raises(ConfigError, match=r"bad\\udcffname\.tsv.*is no UTF-8.*: rename it"):
        located(task, {})


def test_unknown_task_names_the_nearest():
    with pytest.raises(ConfigError, match='unknown task "chains": did you mean "chain"'):
        make_task("chains", {})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("chain", {"positions": 1}, r"data\.options\.positions must be at least 2, got 1"),
        ("chain", {"symbols": 1}, r"data\.options\.symbols must be from 2 to 26, got 1"),
        ("chain", {"symbols": 27}, r"data\.options\.symbols must be from 2 to 26, got 27"),
        ("chain", {"seed": -1}, r"data\.options\.seed must be at least 0, got -1"),
        ("chain", {"valid": 0}, r"data\.options\.valid must be at least 1, got 0"),
        ("chain", {"positions": 3, "symbols": 2}, r"must be at most 16, .*got [12]1000: set"),
        ("addition", {"digits": 0}, r"data\.options\.digits must be at least 1, got 0"),
        ("addition", {"digits": 1}, r"must be at most 100, .*got [12]1000: set"),
        ("stargraph", {"degree": 1}, r"data\.options\.degree must be at least 2, got 1"),
        ("stargraph", {"length": 0}, r"data\.options\.length must be at least 1, got 0"),
        ("stargraph", {"nodes": 10}, r"nodes must be at least 11 for 2 arms of 5 .*got 10"),
        ("stargraph", {"length": 1, "nodes": 3}, r"must be at most 12, .*got [12]1000: set"),
        ("sudoku4", {"openings": 0}, r"data\.options\.openings must be at least 1, got 0"),
        ("sudoku4", {"train": 60000}, r"must be at most 58368, .*got 61000: set"),
        ("sorting", {"length": 1}, r"data\.options\.length must be at least 2, got 1"),
        ("sorting", {"length": 2, "numbers": 4}, r"must be at most 12, .*got 21000: set"),
        ("pylines", {"max_tokens": 1}, r"data\.options\.max_tokens must be at least 2, got 1"),
        ("pylines", {"files": 0}, r"data\.options\.files must be at least 1, got 0"),
        ("pylines", {"train": "many"}, r"data\.options\.train must be a whole number, got 'many'"),
    ],
)
def test_wrong_options_say_what_was_expected(name, options, message):
    with pytest.raises(ConfigError, match=message):
        make_task(name, options)
