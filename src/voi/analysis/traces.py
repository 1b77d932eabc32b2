"""Traces: how a target was written, one JSON object a line (docs/orders.md, "Trace files")."""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from voi.analysis.slots import slots_of
from voi.atomic import atomic_file
from voi.errors import DataError
from voi.lines import unpacked

KINDS = ("generated", "inferred")
REQUIRED = ("target", "tokens", "order", "slots", "kind")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One target and the order it was written in; `n` is the number of its tokens.

    `order[t]` is the final position written at step t, `slots[t]` the number of tokens that stand
    to its left at that moment. Scores are natural logarithms of probabilities, one per step.
    """

    target: str  # detokenised text
    tokens: tuple[str, ...]  # [n], in reading order
    order: tuple[int, ...]  # [n]
    slots: tuple[int, ...]  # [n]
    kind: str  # "generated", or "inferred" for a target that was given
    source: str | None = None
    score: float | None = None  # of the whole target, END included
    token_scores: tuple[float, ...] | None = None  # [n], or [n + 1] with END's as the last
    slot_scores: tuple[float, ...] | None = None  # [n]
    reference: str | None = None
    samples: tuple[tuple[int, ...], ...] | None = None  # [K, n], sampled orders
    known_orders: tuple[tuple[int, ...], ...] | None = None  # [V, n], orders known to be best
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # keys of other programs

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if self.kind not in KINDS:
            raise ValueError(f'"kind" must be "generated" or "inferred", got {self.kind!r}')
        _check_order("order", self.order, n)
        for name in ("samples", "known_orders"):
            for order in getattr(self, name) or ():
                _check_order(name, order, n)
        _check_slots(self.slots, self.order)
        _check_scores("score", None if self.score is None else (self.score,), (1,))
        _check_scores("token_scores", self.token_scores, (n, n + 1))
        _check_scores("slot_scores", self.slot_scores, (n,))
        taken = sorted(self.extra.keys() & _KEYS.keys())
        if taken:
            raise ValueError(f"extra must not hold keys of a trace, got {taken}: set the fields")

    def steps(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the partial sentence after every step and the index of its new token."""
        return steps_of(self.tokens, self.order)


def steps_of(tokens: Sequence[str], order: Sequence[int]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the partial sentence after every step and the index of its new token.

    >>> list(steps_of(["a", "b", "c"], (2, 0, 1)))
    [(('c',), 0), (('a', 'c'), 0), (('a', 'b', 'c'), 1)]
    """
    written: list[str] = []
    for position, slot in zip(order, slots_of(order), strict=True):
        written.insert(slot, tokens[position])
        yield tuple(written), slot


def read_traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Return the traces of a JSON-lines file; blank lines are skipped.

    Raises DataError with file, line and fault. Keys that are not ours are kept in `extra`.
    """
    return list(each_trace(path))


def each_trace(path: str | os.PathLike[str]) -> Iterator[Trace]:
    """Yield what `read_traces` returns, one by one: for files that memory cannot hold."""
    try:
        with unpacked(Path(path)).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _read_line(line, f"{os.fspath(path)}:{number}")
    except OSError as error:
        raise DataError(
            f"expected a trace file at {os.fspath(path)}, got: {error.strerror}: check the path"
        ) from error


def write_traces(path: str | os.PathLike[str], traces: Iterable[Trace]) -> None:
    """Write traces as JSON lines in UTF-8; the file appears whole or not at all."""
    target = Path(path)
    try:
        with atomic_file(target) as draft, draft.open("wb") as file:
            for trace in traces:
                text = json.dumps(to_record(trace), ensure_ascii=False, allow_nan=False)
                # A lone surrogate has no UTF-8 form; its backslash form is its JSON escape.
                file.write(text.encode("utf-8", "backslashreplace") + b"\n")
    except OSError as error:
        raise DataError(
            f"traces could not be written to {target}, got: {error.strerror}: check folder and disk"
        ) from error


def to_record(trace: Trace) -> dict[str, Any]:
    """Return the JSON object of a trace: our keys in the documented order, then the extra ones."""
    return {key: getattr(trace, key) for key in _KEYS} | dict(trace.extra)


def from_record(record: Mapping[str, Any]) -> Trace:
    """Return the trace of a JSON object; raises ValueError that names the key at fault."""
    missing = [key for key in REQUIRED if key not in record]
    if missing:
        raise ValueError(
            f"missing {', '.join(map(repr, missing))}: a trace needs {', '.join(REQUIRED)}"
        )
    known = {key: record[key] for key in _KEYS if key in record}
    for key, value in known.items():
        if not _KEYS[key].accepts(value):
            raise ValueError(f'"{key}" must be {_KEYS[key].meaning}, got {_short(value)}')
    extra = {key: value for key, value in record.items() if key not in _KEYS}
    return Trace(**{key: _KEYS[key].read(value) for key, value in known.items()}, extra=extra)


def _read_line(line: bytes, place: str) -> Trace:
    try:
        record = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
        if not isinstance(record, dict):
            raise ValueError(f"expected a JSON object, got {_short(record)}")
        return from_record(record)
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: expected UTF-8, got {error.reason}: re-encode it") from error
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}: expected one JSON object a line, got: {error.msg} at column {error.colno}: "
            "mend or remove the line"
        ) from error
    except RecursionError as error:
        raise DataError(
            f"{place}: expected a trace, got JSON nested too deeply: mend or remove the line"
        ) from error
    except (ValueError, OverflowError) as error:
        raise DataError(f"{place}: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"numbers must be finite, got {name}: write null for a missing score")


def _short(value: object) -> str:
    """Return the JSON of a value, cut to a length that fits a message."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_order(name: str, order: tuple[int, ...], n: int) -> None:
    if sorted(order) != list(range(n)):
        raise ValueError(
            f'"{name}" must be a permutation of 0..{n - 1} for {n} tokens, got '
            f"{_short(list(order))}: list every final position once"
        )


def _check_slots(slots: tuple[int, ...], order: tuple[int, ...]) -> None:
    expected = slots_of(order)
    if slots != expected:
        raise ValueError(
            f'"slots" must count the tokens that stand to the left, {_short(list(expected))} for '
            f"this order, got {_short(list(slots))}: compute them with voi.analysis.slots_of"
        )


def _check_scores(name: str, scores: tuple[float, ...] | None, sizes: tuple[int, ...]) -> None:
    if scores is None:
        return
    if len(scores) not in sizes:
        raise ValueError(
            f'"{name}" must have {" or ".join(map(str, sizes))} entries, one a step, '
            f"got {len(scores)}"
        )
    if not all(map(math.isfinite, scores)):
        raise ValueError(f'"{name}" must be finite, got {list(scores)}: use null for no score')


@dataclass(frozen=True)
class _Key:
    """What a key of the file must hold, and how its JSON value becomes a field."""

    meaning: str
    accepts: Callable[[Any], bool]
    read: Callable[[Any], Any] = lambda value: value

    def listed(self) -> "_Key":
        def accepts(value: Any) -> bool:
            return isinstance(value, list) and all(map(self.accepts, value))

        return _Key(f"[{self.meaning}, ...]", accepts, lambda value: tuple(map(self.read, value)))

    def or_null(self) -> "_Key":
        return _Key(
            f"{self.meaning}, or null",
            lambda value: value is None or self.accepts(value),
            lambda value: None if value is None else self.read(value),
        )


_TEXT = _Key("text", lambda value: isinstance(value, str))
_WHOLE = _Key("whole number", lambda value: type(value) is int)
_NUMBER = _Key("number", lambda value: type(value) in (int, float), float)

# The keys of the file in the order they are written.
_KEYS: dict[str, _Key] = {
    "source": _TEXT.or_null(),
    "target": _TEXT,
    "tokens": _TEXT.listed(),
    "order": _WHOLE.listed(),
    "slots": _WHOLE.listed(),
    "score": _NUMBER.or_null(),
    "token_scores": _NUMBER.listed().or_null(),
    "slot_scores": _NUMBER.listed().or_null(),
    "reference": _TEXT.or_null(),
    "kind": _TEXT,
    "samples": _WHOLE.listed().listed().or_null(),
    "known_orders": _WHOLE.listed().listed().or_null(),
}
