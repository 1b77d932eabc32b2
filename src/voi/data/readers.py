"""Readers of pairs: tab-separated columns, JSON lines, two parallel files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voi.data.example import Example, LazyExamples
from voi.data.lines import Lines
from voi.errors import ConfigError, DataError
from voi.tables import unknown_name

MAX_SHOWN = 5  # problems named in one message


@dataclass(frozen=True)
class Fields:
    """Which columns or keys hold the pair; a dot leads into a nested object of JSON."""

    source: str = "source"  # empty: there is no source
    target: str = "target"
    columns: tuple[str, ...] = ("source", "target")  # of tab-separated files, in order


@dataclass(frozen=True, eq=False)
class Records(LazyExamples):
    """Examples that are parsed when they are asked for."""

    name: str  # of the file, for messages
    size: int
    parse: Callable[[int], Example]  # raises DataError with what is wrong in which line

    def __len__(self) -> int:
        return self.size

    def example(self, index: int) -> Example:
        try:
            return self.parse(index)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from error


def checked_records(name: str, size: int, parse: Callable[[int], Example]) -> Records:
    """Return records after parsing each one once; the first few that are wrong are named."""
    if not size:
        raise DataError(f"{name} holds no examples: give a file with one pair per line")
    problems = []
    for index in range(size):
        try:
            parse(index)
        except DataError as error:
            problems.append(str(error))
    if problems:
        more = len(problems) - MAX_SHOWN
        shown = "; ".join(problems[:MAX_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise DataError(
            f"{name}: {len(problems)} of {size} lines cannot be used: {shown}: "
            f"correct or remove them"
        )
    return Records(name, size, parse)


def read_tsv(path: Path, fields: Fields) -> Records:
    """Return the pairs of a file with one pair per line and tabs between its columns."""
    lines = Lines(path)
    places = [_column(fields, name) for name in (fields.source, fields.target)]

    def parse(index: int) -> Example:
        values = _line(lines, index).split("\t")
        if len(values) != len(fields.columns):
            raise DataError(
                f"line {index + 1} has {_count(len(values), 'column')}, "
                f"expected {len(fields.columns)} ({', '.join(fields.columns)})"
            )
        source, target = (None if place is None else values[place] for place in places)
        return example(source, target, f"line {index + 1}")

    return checked_records(str(path), len(lines), parse)


def read_jsonl(path: Path, fields: Fields) -> Records:
    """Return the pairs of a file with one JSON object per line."""
    lines = Lines(path)

    def parse(index: int) -> Example:
        place = f"line {index + 1}"
        try:
            record = json.loads(_line(lines, index))
        except json.JSONDecodeError as error:
            raise DataError(f"{place} is not JSON ({error.msg}, column {error.colno})") from error
        return example_of_record(record, fields, place)

    return checked_records(str(path), len(lines), parse)


def read_parallel(source_path: Path, target_path: Path) -> Records:
    """Return the pairs of two files whose lines go together."""
    sources, targets = Lines(source_path), Lines(target_path)
    name = f"{source_path} and {target_path.name}"
    if len(sources) != len(targets):
        raise DataError(
            f"{name} have {len(sources)} and {len(targets)} lines: "
            f"line N of one must belong to line N of the other"
        )

    def parse(index: int) -> Example:
        source = _line(sources, index, f" of {source_path.name}")
        target = _line(targets, index, f" of {target_path.name}")
        return example(source, target, f"line {index + 1}")

    return checked_records(name, len(sources), parse)


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
    return value


def _line(lines: Lines, index: int, which: str = "") -> str:
    try:
        return lines[index]
    except DataError as error:
        raise DataError(f"line {index + 1}{which} {error}") from error


def _column(fields: Fields, name: str) -> int | None:
    if not name:
        return None
    if name not in fields.columns:
        raise ConfigError(str(unknown_name("column in data.options.columns", name, fields.columns)))
    return fields.columns.index(name)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
