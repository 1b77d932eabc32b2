"""Files and folders appear whole or not at all."""

import os

import pytest

from voi.atomic import atomic_file, atomic_folder, clear_drafts, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def _write_and_fail(path, error):
    path.write_text("ne")
    raise error


def test_a_file_appears_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_file(path) as draft:
        draft.write_text("new")
        assert not path.exists()
        assert draft.parent == tmp_path  # the same file system, so that renaming is atomic
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as draft:
        _write_and_fail(draft, KeyboardInterrupt())
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]
    write_text(path, "neu: é")
    assert path.read_text(encoding="utf-8") == "neu: é"


def test_a_folder_appears_at_the_end(tmp_path):
    path = tmp_path / "model"
    with atomic_folder(path) as draft:
        (draft / "a").write_text("1")
        (draft / "b").write_text("2")
        assert not path.exists()
    assert names(path) == ["a", "b"]
    assert names(tmp_path) == ["model"]
    assert path.stat().st_mode & 0o777 == 0o755


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "model"
    for content in ("a", "b"):
        with atomic_folder(path) as draft:
            (draft / content).write_text(content)
    assert names(path) == ["b"]
    assert names(tmp_path) == ["model"]


def test_an_error_leaves_the_old_folder(tmp_path):
    path = tmp_path / "model"
    with atomic_folder(path) as draft:
        (draft / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_folder(path) as draft:
        _write_and_fail(draft / "a", ZeroDivisionError())
    assert (path / "a").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_the_old_folder_is_never_seen_in_part(tmp_path, monkeypatch):
    """What stands at the path is the whole old folder, nothing, or the whole new one."""
    path, seen = tmp_path / "model", []
    with atomic_folder(path) as draft:
        (draft / "a").write_text("old")
        (draft / "b").write_text("old")

    def look(function):
        def looking(*arguments, **options):
            seen.append(names(path) if path.exists() else None)
            return function(*arguments, **options)

        return looking

    for name in ("replace", "unlink", "rmdir"):
        monkeypatch.setattr(os, name, look(getattr(os, name)))
    with atomic_folder(path) as draft:
        (draft / "c").write_text("new")
    assert len(seen) > 3
    assert all(state in (["a", "b"], None, ["c"]) for state in seen)


@pytest.mark.parametrize("error", [PermissionError, KeyboardInterrupt])
def test_a_folder_that_does_not_get_into_place_leaves_the_old_one(tmp_path, monkeypatch, error):
    path, move = tmp_path / "model", os.replace
    with atomic_folder(path) as draft:
        (draft / "a").write_text("old")

    def refuse(source, target):
        if target == path and not str(source).endswith(".old"):
            raise error
        move(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(error), atomic_folder(path) as draft:
        (draft / "a").write_text("new")
    assert (path / "a").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_what_a_killed_process_left_is_cleared(tmp_path):
    for name in (
        ".step-1.abc",
        ".step-2.abc.old",
        ".step-3.abc",
        ".step-3.abc.old",
        "step-3",
        ".mine",
    ):
        (tmp_path / name).mkdir()
        write_text(tmp_path / name / "a.txt", name)
    clear_drafts(tmp_path, "step-*")
    assert names(tmp_path) == [".mine", "step-2", "step-3"]
    assert (tmp_path / "step-2" / "a.txt").read_text() == ".step-2.abc.old"
    assert (tmp_path / "step-3" / "a.txt").read_text() == "step-3"
