"""Readers of pairs: tab-separated columns, JSON lines, two parallel files."""

import contextlib
import json
import re
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from voi.data.example import Example, LazyExamples
from voi.errors import DataError
from voi.lines import Lines, NotUtf8Error, converted_by, json_value, to_utf8
from voi.tables import unknown_name

MAX_SHOWN = 5  # problems named in one message
LEFT_OUT = ": left out"  # how notes on bad lines end
SKIP_BAD = "leave them out with --set data.options.bad_lines=skip"
_LOOKED_AT = 1000  # lines that tell how many columns there are
_MOST_NAMED = 20  # columns that a message lists
_USUAL_NAMES = {
    "src": "source",
    "input": "source",
    "tgt": "target",
    "trg": "target",
    "output": "target",
}
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
    header_hint: str = ""  # what to set if the first line, read as a pair, names the columns


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

    So is the first of every further kind. What is wrong is an error, or is left out and noted.
    `layout` is what to give instead, said where most of the lines are wrong.
    """
    size = len(rows.numbers)
    if not size:
        raise DataError(f"{rows.name} holds no examples: give {layout}")
    bad = array("q")
    problems: list[str] = []
    kinds: set[str] = set()  # of problems
    unread = Counter[Lines]()  # lines in another encoding, by file
    for index in range(size):
        try:
            rows.parse(int(rows.numbers[index]))
        except DataError as error:
            bad.append(index)
            if len(problems) < MAX_SHOWN or _kind(str(error)) not in kinds:
                problems.append(str(error))
            kinds.add(_kind(str(error)))
            unread.update([error.lines] if isinstance(error, NotUtf8Error) else [])
    if not bad:
        return Records(rows)
    text = f"{rows.name}: {len(bad):,} of {size:,} lines cannot be used: "
    text += shown(problems, len(bad))
    if bad_lines == "error" or len(bad) == size:
        foreign = [lines for lines in unread if _is_foreign(lines, unread[lines])]
        num_others = len(bad) - sum(unread[lines] for lines in foreign)
        advice = ["correct or remove them"] if num_others else []
        if 2 * num_others > size:
            advice = [f"give {layout}"]
        advice += [to_utf8(str(lines.path)) for lines in foreign]
        skipping = "" if len(bad) == size else f", or {SKIP_BAD}"
        raise BadLinesError(text, ", ".join(advice) + skipping)
    numbers = np.delete(rows.numbers, np.frombuffer(bad, np.int64))
    return Records(replace(rows, numbers=numbers, notes=(*rows.notes, f"{text}{LEFT_OUT}")))


def _kind(problem: str) -> str:
    """Return what is wrong without saying where.

    >>> _kind("line 12 is not UTF-8 (byte 0xe9 at position 3)")
    'line  is not UTF-'
    """
    return re.sub(r" \(.*|\d", "", problem)


def _is_foreign(lines: Lines, num_unread: int) -> bool:
    """Is a whole file in another encoding, not just some of its lines?"""
    return 2 * num_unread > len(lines) or not lines.is_utf8


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
    if len(lines) and len(fields.columns) > 1 and not lines.has_tabs():
        raise DataError(
            f"{path} has no tab, expected lines with {' <tab> '.join(fields.columns)}: separate "
            f"the columns by tabs; targets alone are read with "
            f"""--set 'data.options.columns=["target"]' --set 'data.options.source_key=""'"""
        )
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

    _check_header(lines, fields, path)
    has_header = len(lines) > 0 and _is_header(lines, fields)
    notes = [f"{path}: line 1 names the columns and is no pair"] if has_header else []
    if _are_quoted(lines):
        notes.append(f"{path}: all columns stand in quotes, which are read as text: take them away")
    rows = Rows(
        str(path),
        np.arange(has_header, len(lines)),
        parse,
        notes=tuple(notes),
        header_hint="" if has_header else _header_hint(path, fields),
    )
    return checked_records(rows, bad_lines, _columns_layout(lines, fields))


def _header_hint(path: Path, fields: Fields) -> str:
    """Return what to set if the first line of a file is a header with names of its own.

    >>> print(_header_hint(Path("a.tsv"), Fields()))        # doctest: +ELLIPSIS
    if line 1 of a.tsv is a header, name the columns by it: --set 'data.options.columns=["...",...
    """
    names = ",".join(['"..."'] * len(fields.columns))
    keys = {"source_key": fields.source, "target_key": fields.target}
    settings = [f"--set data.options.{key}=..." for key, name in keys.items() if name]
    return (
        f"if line 1 of {path} is a header, name the columns by it: --set "
        f"'data.options.columns=[{names}]' {' '.join(settings)}"
    )


def _is_header(lines: Lines, fields: Fields) -> bool:
    """Does the first line name the columns, by these or by usual names?"""
    return _columns(lines, 0) == tuple(map(plain_name, fields.columns))


def _are_quoted(lines: Lines) -> bool:
    """Does every column begin and end with a quote, but for a header and as far as is looked?"""
    looked_at = range(len(lines) > 1, min(len(lines), _LOOKED_AT))
    texts = [text for row in looked_at for text in _raw_columns(lines, row)]
    return bool(texts) and all(len(text) > 1 and text[0] == text[-1] == '"' for text in texts)


def _check_header(lines: Lines, fields: Fields, path: Path) -> None:
    """Raise where the first line names the columns in another order."""
    found = _columns(lines, 0) if len(lines) else ()
    expected = tuple(map(plain_name, fields.columns))
    if found != expected and sorted(found) == sorted(expected):
        names = [fields.columns[expected.index(name)] for name in found]
        setting = f"data.options.columns=[{','.join(map(json.dumps, names))}]"
        raise DataError(
            f"{path}: line 1 names the columns {', '.join(found)}, expected "
            f"{', '.join(expected)}: give --set {shlex.quote(setting)}"
        )


def plain_name(name: str) -> str:
    """Return the name of a column in small letters without quotes, a usual one as source or target.

    >>> plain_name(' "Src" ')
    'source'
    """
    plain = name.strip().strip('"').casefold()
    return _USUAL_NAMES.get(plain, plain)


def _columns(lines: Lines, row: int) -> tuple[str, ...]:
    """Return the columns of a line as plain names; none if it cannot be read."""
    return tuple(map(plain_name, _raw_columns(lines, row)))


def _raw_columns(lines: Lines, row: int) -> tuple[str, ...]:
    with contextlib.suppress(DataError):
        return tuple(lines[row].split("\t"))
    return ()


def _columns_layout(lines: Lines, fields: Fields) -> str:
    """Return which columns to give and, where there are others, how to name as many."""
    layout = f"lines with {' <tab> '.join(fields.columns)}"
    found = [_columns(lines, row) for row in range(min(len(lines), _LOOKED_AT))]
    ((num_columns, _),) = Counter(map(len, found)).most_common(1) or [(0, 0)]
    wanted = [name for name in (fields.source, fields.target) if name]
    if num_columns == len(fields.columns) or num_columns < len(wanted):
        return layout
    if num_columns > _MOST_NAMED:
        setting = "--set 'data.options.columns=[...]'"
        return f"{layout}, or name all {num_columns:,} columns in their order with {setting}"
    is_named = set(map(plain_name, wanted)) <= set(found[0])  # by a first line with all names
    others = ["..."] * (num_columns - len(wanted))
    is_last_empty = all(row[-1] == "" for row in found if len(row) == num_columns)
    names = [*wanted, *others] if is_last_empty else [*others, *wanted]
    names = list(found[0]) if is_named else names
    setting = f"data.options.columns=[{','.join(json.dumps(name) for name in names)}]"
    return f"{layout}, or name all columns in their order, as in --set {shlex.quote(setting)}"


def read_jsonl(path: Path, fields: Fields, bad_lines: BadLines = "error") -> Records:
    """Return the pairs of a file with one JSON object per line."""
    lines = Lines(path)
    if _is_array(lines):
        command = converted_by("jq -c '.[]'", path, f"lines-{path.name}")
        raise DataError(f"{path} is one JSON array, expected an object per line: {command}")

    def parse(row: int) -> Example:
        place = line_number(row)
        text = _line(lines, row)
        try:
            record = json_value(text)
        except ValueError as error:
            raise DataError(f"{place} is {error}") from error
        return example_of_record(record, fields, place)

    rows = Rows(str(path), np.arange(len(lines)), parse)
    return checked_records(rows, bad_lines, keys_layout(fields, "a JSON object per line"))


def _is_array(lines: Lines) -> bool:
    """Is the whole file one JSON array, in one line or in many?"""
    with contextlib.suppress(DataError, ValueError, RecursionError):
        if not len(lines) or not lines[0].lstrip().startswith("["):
            return False
        try:
            json.loads(lines[0])
        except json.JSONDecodeError:
            return True
        return len(lines) == 1
    return False


def keys_layout(fields: Fields, what: str) -> str:
    keys = " and ".join(repr(key) for key in (fields.source, fields.target) if key)
    return (
        f"{what} with {keys}, or name the keys that there are with "
        f"--set data.options.source_key=... --set data.options.target_key=..."
    )


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
        raise DataError(f"{place} has {_json_name(value)} as {key!r}, expected text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise DataError(f"{place} has a {key!r} with half a surrogate pair, expected text")
    return value


def _json_name(value: object) -> str:
    """Return what JSON calls a value.

    >>> [_json_name(value) for value in (None, 3, [])]
    ['null', 'a number', 'an array']
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names = {int: "a number", float: "a number", list: "an array", dict: "an object"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def _line(lines: Lines, row: int, which: str = "", is_record: bool = True) -> str:
    """Return a line; one that holds a record by itself may not be blank."""
    try:
        text = lines[row]
    except NotUtf8Error as error:
        raise NotUtf8Error(f"{line_number(row)}{which} {error}", error.lines) from error
    if is_record and not text.strip() and "\t" not in text:  # tabs alone are empty columns
        raise DataError(f"{line_number(row)} is blank")
    return text


def _column(fields: Fields, name: str) -> int | None:
    if not name:
        return None
    if name not in fields.columns:
        raise unknown_name("column in data.options.columns", name, fields.columns)
    return fields.columns.index(name)
