import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voi import lines
from voi.data.files import FileTask
from voi.data.holdout import held_out, num_held_out
from voi.errors import DataError


@given(st.lists(st.integers(0, 9), min_size=1), st.floats(0.01, 0.5))
def test_groups_stay_together_and_enough_is_left(numbers, share):
    keys = np.array(numbers, np.uint64)
    held = held_out(keys, share)
    assert len(held) <= num_held_out(len(keys), share)
    assert not np.isin(np.delete(keys, held), keys[held]).any()


def test_different_keys_are_held_out_as_wanted_wherever_they_stand():
    keys = np.random.default_rng(0).integers(0, 2**63, 5000, dtype=np.uint64)
    held = held_out(keys, 0.05)
    assert len(held) == 250
    order = np.random.default_rng(1).permutation(5000)
    assert set(keys[order][held_out(keys[order], 0.05)]) == set(keys[held])
    assert np.diff(held).max() < 200  # spread over the whole


def write(tmp_path, pairs):
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return FileTask(train=str(path))


def sides(task):
    return ([(x.source, x.target) for x in task.split(name)] for name in ("train", "valid"))


def test_no_source_is_on_both_sides(tmp_path):
    pairs = [(f"s {i % 60}", f"t {i}") for i in range(200)]
    task = write(tmp_path, pairs)
    train, valid = sides(task)
    assert 10 <= len(valid) <= 20
    assert sorted(train + valid) == sorted(pairs)
    assert not {source for source, _ in train} & {source for source, _ in valid}
    assert "no source is in both" in task.notes[0]


def test_few_sources_are_divided_by_pair(tmp_path):
    pairs = [("the same", f"t {i % 150}") for i in range(200)]
    task = write(tmp_path, pairs)
    train, valid = sides(task)
    assert 10 <= len(valid) <= 20
    assert not set(train) & set(valid)
    assert "no pair is in both" in task.notes[0]


def test_nothing_to_hold_out(tmp_path):
    with pytest.raises(DataError, match=r"train\.tsv has too few different pairs.*--valid"):
        write(tmp_path, [("a", "b")] * 30).split("train")


@pytest.mark.usefixtures("unchecked")  # checks take most of the time, and memory
def test_texts_are_not_held_in_memory(tmp_path, monkeypatch):
    """Per line there are a few numbers: where it starts, its row, its key, and their sorting."""
    num_lines = 6_000
    task = write(tmp_path, ((f"{i} " + "word " * 40, "w " * 40) for i in range(num_lines)))
    monkeypatch.setattr(lines, "_BLOCK", 2**16)
    tracemalloc.start()
    task.split("train")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 * num_lines  # bytes; the text has 280 a line
