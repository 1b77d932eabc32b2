"""Results that are kept one by one, so that a stopped evaluation goes on where it stopped."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
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
            self.num_records, self._end = self._whole_lines()
        except OSError as error:
            raise self._unwritable(error) from error

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add results to the file."""
        added = [_line(dict(record)) for record in records]
        # A lone surrogate has no UTF-8 form; its backslash form is its JSON escape.
        lines = "".join(added).encode("utf-8", "backslashreplace")
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
        self.num_records += len(added)

    def records(self) -> Iterator[Record]:
        """Yield what is stored, read from the file one by one: it may be more than memory holds."""
        with self.path.open("rb") as file:
            for number, line in enumerate(islice(file, self.num_records), start=1):
                yield _record(line, f"{self.path}:{number}")

    def check(self, identities: Iterable[Mapping[str, Any]]) -> None:
        """Raise an error if a stored line is not that of the example which now has its number."""
        pairs = zip(identities, self.records(), strict=False)
        for number, (identity, record) in enumerate(pairs, start=1):
            for key, value in identity.items():
                if record.get(key) != value:
                    raise DataError(
                        f"{self.path}:{number} has {key} {record.get(key)!r}, the split has "
                        f"{value!r} there: its data has changed; choose another folder with --out, "
                        f"or remove that one"
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

    def _whole_lines(self) -> tuple[int, int]:
        """Return how many lines there are and where they end, after removing one cut off."""
        num = end = 0
        with self.path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    num, end = num + 1, end + len(line)
        if end != self.path.stat().st_size:
            os.truncate(self.path, end)
        return num, end

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
