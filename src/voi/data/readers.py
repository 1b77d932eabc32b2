"""Readers of pairs: tab-separated columns, JSON lines, two parallel files."""

import contextlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from voi.data.example import Example, LazyExamples
from voi.data.lines import Lines, NotUtf8Error, to_utf8
from voi.errors import DataError
from voi.tables import unknown_name

MAX_SHOWN = 5  # problems named in one message
SKIP_BAD = "leave them out with --set data.options.bad_lines=skip"
BadLines = Literal["error", "skip"]  # what becomes of lines that cannot be used


class BadLinesError(DataError):
    """Lines of a file that cannot be used, and what to do about them."""

    def __init__(self, problem: str, advice: str):
        super().__init__(f"{problem}: {advice}")
        self.advice = advice


@dataclass(frozen=True)
class Fields:
    """Which columns or keys hold the pair; a dot leads into a nested object of JSON."""

    source: str = "source"  # empty: there is no source
    target: str = "target"
    columns: tuple[str, ...] = ("source", "target")  # of tab-separated files, in order


def line_number(row: int) -> str:
    """Return what a user calls a line."""
    return f"line {row + 1}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file, and how one becomes a pair."""

    name: str  # of the file, for messages
    numbers: Int64[np.ndarray, " rows"]  # of the rows within the file, from 0
    parse: Callable[[int], Example]  # of a number; raises DataError with what is wrong where
    label: Callable[[int], str] = line_number  # what a user calls a row
    notes: tuple[str, ...] = ()  # which lines are left out, and why


@dataclass(frozen=True, eq=False)
class Records(LazyExamples):
    """Examples that are parsed when they are asked for."""

    rows: Rows

    def __len__(self) -> int:
        return len(self.rows.numbers)

    def example(self, index: int) -> Example:
        try:
            return self.rows.parse(int(self.rows.numbers[index]))
        except DataError as error:
            raise DataError(f"{self.rows.name}: {error}") from error

    def place(self, index: int) -> str:
        return f"{self.rows.name}, {self.rows.label(int(self.rows.numbers[index]))}"


def checked_records(
    rows: Rows, bad_lines: BadLines = "error", layout: str = "a file with one pair per line"
) -> Records:
    """Return records after parsing each one once; the first few that are wrong are named.

    What is wrong is an error, or is left out and noted. `layout` is what to give instead, said
    where most of the lines are wrong.
    """
    size = len(rows.numbers)
    if not size:
        raise DataError(f"{rows.name} holds no examples: give {layout}")
    bad = array("q")
    problems: list[str] = []
    unread = Counter[str]()  # lines in another encoding, by file
    for index in range(size):
        try:
            rows.parse(int(rows.numbers[index]))
        except DataError as error:
            bad.append(index)
            problems += [str(error)] if len(problems) < MAX_SHOWN else []
            unread.update([error.path] if isinstance(error, NotUtf8Error) else [])
    if not bad:
        return Records(rows)
    text = f"{rows.name}: {len(bad):,} of {size:,} lines cannot be used: "
    text += shown(problems, len(bad))
    if bad_lines == "error" or len(bad) == size:
        num_others = len(bad) - unread.total()
        advice = ["correct or remove them"] if num_others else []
        if 2 * num_others > size:
            advice = [f"give {layout}"]
        advice += map(to_utf8, unread)
        skipping = "" if len(bad) == size else f", or {SKIP_BAD}"
        raise BadLinesError(text, ", ".join(advice) + skipping)
    numbers = np.delete(rows.numbers, np.frombuffer(bad, np.int64))
    return Records(replace(rows, numbers=numbers, notes=(*rows.notes, f"{text}: left out")))


def shown(problems: Sequence[str], count: int) -> str:
    """Return the first few of `count` problems in one line.

    >>> shown(["line 1 is blank", "line 4 is blank"], 3)
    'line 1 is blank; line 4 is blank; and 1 more'
    """
    more = count - len(problems)
    return "; ".join(problems) + (f"; and {more:,} more" if more > 0 else "")


def read_tsv(path: Path, fields: Fields, bad_lines: BadLines = "error") -> Records:
    """Return the pairs of a file with one pair per line and tabs between its columns.

    A first line that holds the names of the columns is no pair.
    """
    lines = Lines(path)
    places = [_column(fields, name) for name in (fields.source, fields.target)]

    def parse(row: int) -> Example:
        values = _line(lines, row).split("\t")
        if len(values) != len(fields.columns):
            raise DataError(
                f"{line_number(row)} has {len(values)} column{'s' * (len(values) != 1)}, "
                f"expected {len(fields.columns)} ({', '.join(fields.columns)})"
            )
        source, target = (None if place is None else values[place] for place in places)
        return example(source, target, line_number(row))

    has_header = len(lines) > 0 and _is_header(lines, fields)
    notes = (f"{path}: line 1 names the columns and is no pair",) if has_header else ()
    rows = Rows(str(path), np.arange(has_header, len(lines)), parse, notes=notes)
    layout = (
        f"lines with {' <tab> '.join(fields.columns)}, or name the columns that there are with "
        f'data.options.columns=["...", ...], source_key and target_key'
    )
    return checked_records(rows, bad_lines, layout)


def _is_header(lines: Lines, fields: Fields) -> bool:
    with contextlib.suppress(DataError):
        return tuple(lines[0].split("\t")) == fields.columns
    return False


def read_jsonl(path: Path, fields: Fields, bad_lines: BadLines = "error") -> Records:
    """Return the pairs of a file with one JSON object per line."""
    lines = Lines(path)

    def parse(row: int) -> Example:
        place = line_number(row)
        try:
            record = json.loads(_line(lines, row))
        except json.JSONDecodeError as error:
            raise DataError(f"{place} is not JSON ({error.msg}, column {error.colno})") from error
        return example_of_record(record, fields, place)

    rows = Rows(str(path), np.arange(len(lines)), parse)
    return checked_records(rows, bad_lines, keys_layout(fields, "a JSON object per line"))


def keys_layout(fields: Fields, what: str) -> str:
    keys = " and ".join(repr(key) for key in (fields.source, fields.target) if key)
    return f"{what} with {keys}, or name its keys as data.options.source_key and target_key"


def read_parallel(source_path: Path, target_path: Path, bad_lines: BadLines = "error") -> Records:
    """Return the pairs of two files whose lines go together."""
    sources, targets = Lines(source_path), Lines(target_path)
    name = f"{source_path} and {target_path.name}"
    size = max(len(sources), len(targets))
    if size > min(sources.num_all, targets.num_all):  # blank lines at the end may be empty sides
        raise DataError(
            f"{name} have {len(sources):,} and {len(targets):,} lines: "
            f"line N of one must belong to line N of the other"
        )

    def parse(row: int) -> Example:
        source = _line(sources, row, f" of {source_path.name}", is_record=False)
        target = _line(targets, row, f" of {target_path.name}", is_record=False)
        if not source.strip() and not target.strip():
            raise DataError(f"{line_number(row)} is blank")
        return example(source, target, line_number(row))

    return checked_records(Rows(name, np.arange(size), parse), bad_lines)


def example_of_record(record: Any, fields: Fields, place: str) -> Example:
    """Return the pair that a JSON object holds under the given keys."""
    source = _value(record, fields.source, place) if fields.source else None
    return example(source, _value(record, fields.target, place), place)


def example(source: str | None, target: str | None, place: str) -> Example:
    """Return a pair of texts, neither of which may be empty."""
    for name, text in (("source", source), ("target", target)):
        if text is not None and not text.strip():
            raise DataError(f"{place} has an empty {name}")
    assert target is not None
    return Example(source, target)


def _value(record: Any, key: str, place: str) -> str:
    value = record
    for part in key.split("."):
        if not isinstance(value, Mapping):
            raise DataError(f"{place} is no object with the key {key!r}")
        if part not in value:
            raise DataError(f"{place} lacks the key {key!r} (it has {', '.join(map(str, value))})")
        value = value[part]
    if not isinstance(value, str):
        raise DataError(f"{place} has a {key!r} of type {type(value).__name__}, expected text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise DataError(f"{place} has a {key!r} with half a surrogate pair, expected text")
    return value


def _line(lines: Lines, row: int, which: str = "", is_record: bool = True) -> str:
    """Return a line; one that holds a record by itself may not be blank."""
    try:
        text = lines[row]
    except NotUtf8Error as error:
        raise NotUtf8Error(f"{line_number(row)}{which} {error}", error.path) from error
    if is_record and not text.strip() and "\t" not in text:  # tabs alone are empty columns
        raise DataError(f"{line_number(row)} is blank")
    return text


def _column(fields: Fields, name: str) -> int | None:
    if not name:
        return None
    if name not in fields.columns:
        raise unknown_name("column in data.options.columns", name, fields.columns)
    return fields.columns.index(name)
