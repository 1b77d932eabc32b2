"""Hypotheses and references from files: scoring what was written before needs no model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from voi.analysis import Trace, read_traces
from voi.data.readers import plain_name
from voi.errors import DataError
from voi.evaluation.journal import read_about
from voi.evaluation.outputs import Outputs, References
from voi.lines import ending_of, unpacked

_KEYS = ("references", "reference", "target")  # of a JSON object, the first that there is


def read_outputs(
    path: Path, name: str, references: References | None = None, limit: int = 0
) -> Outputs:
    """Return the hypotheses of a trace file (JSON lines) or of a text with one per line.

    Without `references` those that stand in the trace file count. With `limit` only so many are
    taken, from the first on.
    """
    end = limit or None
    if not _is_json(path):
        hypotheses, stored, published = _lines(path), None, None
    else:
        traces = read_traces(path)
        hypotheses = [trace.target for trace in traces]
        stored, published = _stored(traces), _published(traces)
    if references is not None:
        stored, published = references, None
    if stored is None:
        raise DataError(f"{path} holds no references: give them with --references")
    if len(stored) != len(hypotheses):
        raise DataError(
            f"{path} has {len(hypotheses)} hypotheses for {len(stored)} references: line N of one "
            f"must belong to line N of the other"
        )
    if not hypotheses:
        raise DataError(f"{path} is empty: expected one hypothesis per line")
    return Outputs(
        name=name,
        hypotheses=tuple(hypotheses[:end]),
        references=stored[:end],
        published=None if published is None else published[:end],
        about=read_about(path) if _is_json(path) else {},
    )


def _stored(traces: Sequence[Trace]) -> References | None:
    """Return the references inside traces, if every one has some."""
    found = []
    for trace in traces:
        own = trace.extra.get("references") or (trace.reference,)
        if not _are_texts(own):
            return None
        found.append(tuple(own))
    return tuple(found)


def _published(traces: Sequence[Trace]) -> References | None:
    found: list[Any] = [trace.extra.get("published") for trace in traces]
    return tuple(tuple(own) for own in found) if all(map(_are_texts, found)) else None


def _are_texts(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return is_list and all(isinstance(text, str) for text in value)


def read_references(path: Path) -> References:
    """Return the references of each example.

    .txt: one per line. .tsv: one or several per line, tabs between them. JSON lines: a text, a list
    of texts, or an object whose `references`, `reference` or `target` is one of these.
    """
    lines, ending = _lines(path), ending_of(path)
    if ending == ".txt":
        return tuple((line,) for line in lines)
    if ending == ".tsv":
        _check_no_pairs(lines[:1], path)
        return tuple(_columns(line) for line in lines)
    if _is_json(path):
        return tuple(_json(line, f"{path}:{i}") for i, line in enumerate(lines, start=1))
    raise DataError(f"references must be a .txt, .tsv or .jsonl file, got {path}: rename it")


def told_of_several(path: Path, references: References) -> str:
    """Return what was taken from a file with several references for an output; empty: it has none.

    Columns of a file of pairs count as well: nothing tells a source from a reference.
    """
    most = max(map(len, references), default=0)
    if most < 2:
        return ""
    text = f"{path}: up to {most} references for each output"
    if ending_of(path) != ".tsv":
        return text
    return (
        f"{text}: columns 1 to {most} are all taken as references; if column 1 is a source, cut it "
        f"off (cut -f2{'-' * (most > 2)})"
    )


def _is_json(path: Path) -> bool:
    return ending_of(path) in (".jsonl", ".ndjson", ".json")


def _check_no_pairs(first: Sequence[str], path: Path) -> None:
    """Raise where the first line names the columns of pairs: sources are no references."""
    names = [plain_name(name) for line in first for name in line.split("\t")]
    if "source" in names and "target" in names:
        raise DataError(
            f"{path} holds pairs, its columns are {', '.join(names)}: give a file of the targets "
            f"alone, without a line of names"
        )


def _columns(line: str) -> tuple[str, ...]:
    """Return the columns of a line; an example may have fewer references than others."""
    return tuple(text for text in line.split("\t") if text) or ("",)


def _json(line: str, place: str) -> tuple[str, ...]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: expected JSON, got {line[:60]!r}") from error
    if isinstance(value, dict):
        value = next((value[key] for key in _KEYS if value.get(key)), None)
    own = [value] if isinstance(value, str) else value
    if not _are_texts(own):
        raise DataError(
            f"{place}: expected a text, a list of texts, or an object with one of "
            f"{', '.join(_KEYS)}, got {line[:60]!r}"
        )
    return tuple(own)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, without a byte order mark; an empty line is an empty text.

    Lines end with a line feed, with or without a carriage return before it; one elsewhere is text.
    """
    try:
        text = unpacked(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error.reason}): re-encode it") from error
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
