"""Results that survive being killed: nothing is lost, nothing is mixed."""

import json
import tracemalloc

import pytest

from voi.errors import DataError
from voi.evaluation.journal import Journal, read_about

ABOUT = {"split": "test", "beam": 5}


def test_goes_on_with_what_is_there(tmp_path):
    path = tmp_path / "new" / "lines.jsonl"
    Journal(path, ABOUT, {"commit": "abc"}).append([{"n": 1}, {"n": "é"}])
    again = Journal(path, ABOUT, {"commit": "def"})
    assert again.num_records == 2
    assert list(again.records()) == [{"n": 1}, {"n": "é"}]
    assert again.about == {**ABOUT, "commit": "abc"}  # of who came first
    again.append([{"n": 3}])
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, "é", 3]


@pytest.mark.parametrize("cut", [b'{"n"', b'{"n": 2}', b'{"n": "\xc3'])
def test_a_line_that_was_cut_off_is_removed(tmp_path, cut):
    path = tmp_path / "lines.jsonl"
    Journal(path, ABOUT, {}).append([{"n": 1}])
    whole = path.read_bytes()
    path.write_bytes(whole + cut)
    journal = Journal(path, ABOUT, {})
    assert list(journal.records()) == [{"n": 1}]
    assert path.read_bytes() == whole
    journal.append([{"n": 2}])
    assert list(Journal(path, ABOUT, {}).records()) == [{"n": 1}, {"n": 2}]


def test_another_evaluation_is_refused(tmp_path):
    path = tmp_path / "lines.jsonl"
    Journal(path, ABOUT, {}).append([{"n": 1}])
    with pytest.raises(DataError, match=r"for beam 5, this command has 3: choose another"):
        Journal(path, {**ABOUT, "beam": 3}, {})
    with pytest.raises(DataError, match="for checkpoint None"):
        Journal(path, {**ABOUT, "checkpoint": "x"}, {})


def test_two_programs_at_once_are_noticed(tmp_path):
    path = tmp_path / "lines.jsonl"
    one, other = Journal(path, ABOUT, {}), Journal(path, ABOUT, {})
    one.append([{"n": 1}])
    with pytest.raises(DataError, match="changed by another program"):
        other.append([{"n": 1}])


def test_what_cannot_be_read_or_written(tmp_path):
    path = tmp_path / "lines.jsonl"
    Journal(path, ABOUT, {}).append([{"n": 1}])
    path.write_text("[1]\n")
    with pytest.raises(DataError, match=r"lines.jsonl:1: expected a JSON object, got list"):
        list(Journal(path, ABOUT, {}).records())
    path.write_text("no\n")
    with pytest.raises(DataError, match=r"lines.jsonl:1: expected one JSON object a line"):
        Journal(path, ABOUT, {}).check([{"n": 1}])
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot keep results in"):
        Journal(tmp_path / "file" / "lines.jsonl", ABOUT, {})
    (tmp_path / "lines.about.json").write_text("3")
    with pytest.raises(DataError, match="must hold a JSON object"):
        read_about(path)
    assert read_about(tmp_path / "other.jsonl") == {}


def test_lines_are_those_of_the_examples_that_have_their_numbers(tmp_path):
    journal = Journal(tmp_path / "lines.jsonl", ABOUT, {})
    journal.append([{"n": 1, "x": 0}, {"n": 2, "x": 0}])
    for numbers in ([1], [1, 2], [1, 2, 3]):
        journal.check({"n": n} for n in numbers)
    with pytest.raises(DataError, match=r"lines.jsonl:2 has n 2, the split has 3 there: its data"):
        journal.check([{"n": 1}, {"n": 3}])


def test_what_is_stored_is_not_held_in_memory(tmp_path):
    path, text, num = tmp_path / "lines.jsonl", "x" * 20_000, 1000
    tracemalloc.start()
    journal = Journal(path, ABOUT, {})
    for start in range(0, num, 10):
        journal.append({"n": n, "text": text} for n in range(start, start + 10))
    again = Journal(path, ABOUT, {})
    again.check({"n": n} for n in range(num))
    assert sum(1 for _ in again.records()) == again.num_records == num
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > num * len(text) > 3 * peak
