"""Results that survive being killed: nothing is lost, nothing is mixed."""

import json

import pytest

from voi.errors import DataError
from voi.evaluation.journal import Journal, read_about

ABOUT = {"split": "test", "beam": 5}


def test_goes_on_with_what_is_there(tmp_path):
    path = tmp_path / "new" / "lines.jsonl"
    Journal(path, ABOUT, {"commit": "abc"}).append([{"n": 1}, {"n": "é"}])
    again = Journal(path, ABOUT, {"commit": "def"})
    assert again.records == [{"n": 1}, {"n": "é"}]
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
    assert journal.records == [{"n": 1}]
    assert path.read_bytes() == whole
    journal.append([{"n": 2}])
    assert Journal(path, ABOUT, {}).records == [{"n": 1}, {"n": 2}]


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
        Journal(path, ABOUT, {})
    path.write_text("no\n")
    with pytest.raises(DataError, match=r"lines.jsonl:1: expected one JSON object a line"):
        Journal(path, ABOUT, {})
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot keep results in"):
        Journal(tmp_path / "file" / "lines.jsonl", ABOUT, {})
    (tmp_path / "lines.about.json").write_text("3")
    with pytest.raises(DataError, match="must hold a JSON object"):
        read_about(path)
    assert read_about(tmp_path / "other.jsonl") == {}
