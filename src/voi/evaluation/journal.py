"""Results that are kept one by one, so that a stopped evaluation goes on where it stopped."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from voi.atomic import write_text
from voi.errors import DataError, unwritten

Record = dict[str, Any]


class Journal:
    """A file of JSON lines that grows at its end, and a file beside it that says what they are.

        NAME.jsonl        one result per line, on disk as soon as `append` returns
        NAME.about.json   the evaluation they belong to

    An evaluation that goes on with the file must have the same `about`. Notes are stored when the
    file is made, and not compared.
    A last line that was cut off is removed; it is computed again.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], notes: Mapping[str, Any]):
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.about = self._identified(dict(about), dict(notes))
            self.records = self._read()
        except OSError as error:
            raise self._unwritable(error) from error

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add results to the file and to `records`."""
        added = [dict(record) for record in records]
        # A lone surrogate has no UTF-8 form; its backslash form is its JSON escape.
        lines = "".join(_line(record) for record in added).encode("utf-8", "backslashreplace")
        try:
            with self.path.open("ab") as file:
                if file.tell() != self._end:
                    raise DataError(
                        f"{self.path} was changed by another program: let one evaluation at a time "
                        f"write it, then start this one again"
                    )
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        self._end += len(lines)
        self.records += added

    def check(self, index: int, identity: Mapping[str, Any]) -> None:
        """Raise an error if a stored line is not that of the example which now has its number."""
        record = self.records[index]
        for key, value in identity.items():
            if record.get(key) != value:
                raise DataError(
                    f"{self.path}:{index + 1} has {key} {record.get(key)!r}, the split has "
                    f"{value!r} there: its data has changed; choose another folder with --out, or "
                    f"remove that one"
                )

    def _identified(self, about: Record, notes: Record) -> Record:
        """Return what is stored beside the lines, after comparing it with `about`."""
        beside = about_path(self.path)
        if not self.path.exists():
            write_text(beside, json.dumps(about | notes, ensure_ascii=False, indent=1) + "\n")
            self.path.touch()
            return about | notes
        stored = read_about(self.path)
        for key, value in about.items():
            if stored.get(key) != value:
                raise DataError(
                    f"{self.path} holds results for {key} {stored.get(key)!r}, this command has "
                    f"{value!r}: choose another folder with --out, or remove that one"
                )
        return stored

    def _read(self) -> list[Record]:
        data = self.path.read_bytes()
        self._end = data.rfind(b"\n") + 1
        if self._end != len(data):
            os.truncate(self.path, self._end)
        lines = data[: self._end].splitlines()
        return [_record(line, f"{self.path}:{i}") for i, line in enumerate(lines, start=1)]

    def _unwritable(self, error: OSError) -> DataError:
        return DataError(
            f"cannot keep results in {self.path}: {unwritten(error)} or choose another folder with "
            f"--out, then run the same command again"
        )


def about_path(path: Path) -> Path:
    """Return the path of the file that says which evaluation the lines of a file belong to."""
    return path.with_suffix(".about.json")


def read_about(path: Path) -> Record:
    """Return what is known of a file of results; nothing if that was not stored."""
    beside = about_path(path)
    if not beside.is_file():
        return {}
    try:
        stored = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {beside}: {error}; restore or remove it") from error
    if not isinstance(stored, dict):
        raise DataError(f"{beside} must hold a JSON object, got {type(stored).__name__}: remove it")
    return stored


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _record(line: bytes, place: str) -> Record:
    try:
        record = json.loads(line.decode("utf-8"))
    except ValueError as error:
        raise DataError(f"{place}: expected one JSON object a line: remove the file") from error
    if not isinstance(record, dict):
        raise DataError(f"{place}: expected a JSON object, got {type(record).__name__}")
    return record
