"""Options of tasks that are paths, as a run stores them."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from voi.data.files import FileTask
from voi.data.tasks import located
from voi.errors import ConfigError


@dataclass(frozen=True)
class Own:
    file: str = "a.txt"
    parts: tuple[str, ...] = ()
    paths: ClassVar[tuple[str, ...]] = ("file",)

    def split(self, name):
        return ()

    def known_orders(self, example):
        return ()


def test_paths_are_absolute_and_all_else_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert located(Own(), {}) == {"file": str(tmp_path / "a.txt")}
    task = FileTask(train="a.tsv", holdout=0.5)
    assert located(task, {"train": "a.tsv", "holdout": 0.5}) == {
        "train": str(tmp_path / "a.tsv"),
        "holdout": 0.5,
    }


def test_a_saved_data_set_is_a_path_and_an_id_of_the_hub_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved").mkdir()
    assert located(FileTask(hub="saved"), {"hub": "saved"}) == {"hub": str(tmp_path / "saved")}
    assert located(FileTask(hub="org/name"), {"hub": "org/name"}) == {"hub": "org/name"}


@pytest.mark.parametrize("name", ["nothing", "parts"])
def test_names_that_are_no_paths(name):
    class Wrong(Own):
        paths = (name,)

    with pytest.raises(ConfigError, match=rf"Wrong\.paths names fields .* got '{name}'"):
        located(Wrong(), {})
