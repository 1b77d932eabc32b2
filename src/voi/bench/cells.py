"""Cells of an experiment: each is measured once, stored as one JSON file, and read from then on."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from voi import config
from voi.atomic import write_text
from voi.bench.timing import machine
from voi.claims import alone
from voi.errors import ConfigError, DataError
from voi.evaluation.identity import notes
from voi.tables import to_table

Result = dict[str, Any]  # plain values, as JSON holds them
Rows = list[list[str]]  # of a table, its header first
_OF_LEARNING = ("order_rate", "entropy_weight", "entropy_final", "entropy_hold", "align")


@dataclass(frozen=True)
class Cell:
    """One thing to be measured: a name that no other cell has, what it is of, and how."""

    name: str
    settings: Mapping[str, Any]
    measure: Callable[[], Mapping[str, Any]]


def measured(folder: Path, cells: Sequence[Cell], said: Callable[[Result], None]) -> list[Result]:
    """Return what cells found, in their order; those that are in the folder are read.

    Several processes may measure into one folder: a cell that another one is at is left to it, and
    waited for when no other is left. Each result is said as it comes.
    """
    results: dict[str, Result] = {}

    def take(cell: Cell, is_waiting: bool) -> None:
        with alone(folder / f"{cell.name}.json", is_waiting) as is_mine:
            if is_mine:
                results[cell.name] = _result(folder, cell)
                said(results[cell.name])

    for is_waiting in (False, True):
        for cell in cells:
            if cell.name not in results:
                take(cell, is_waiting)
    return [results[cell.name] for cell in cells]


def _result(folder: Path, cell: Cell) -> Result:
    """Return what a cell found, from its file if it is there already.

    What was measured under other settings is an error: a table must not mix two experiments.
    """
    path = folder / f"{cell.name}.json"
    wanted = json.loads(json.dumps(cell.settings))
    if path.is_file():
        stored = read(path)
        if differing := _differing(stored["settings"], wanted):
            raise ConfigError(
                f"{path} was measured with {differing}: choose another --out, or remove that file"
            )
        return stored
    found = cell.measure()
    result = {"name": cell.name, "settings": wanted, **found, "machine": machine(), **notes()}
    write_text(path, json.dumps(result, indent=1) + "\n")
    return result


def read(path: Path) -> Result:
    """Return a stored cell; a file that is none is an error."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}): remove it") from error
    if not isinstance(stored, dict) or not isinstance(stored.get("settings"), dict):
        raise DataError(f"{path} is not a cell of this benchmark: remove it")
    return {**stored, "settings": _completed(stored["settings"])}


def _completed(settings: Result) -> Result:
    """Return settings whose experiment has the fields that came later too, at their defaults."""
    try:
        table = to_table(config.experiment(settings["experiment"]))
    except (KeyError, ConfigError):  # without an experiment, or with one of another form
        return settings
    return {**settings, "experiment": json.loads(json.dumps(table))}


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], but: str = "") -> str:
    """Return the settings that differ, but for one name and for what a run never reads."""
    before, now = _flat(_in_use(old)), _flat(_in_use(new))
    names = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    names = [key for key in names if key.split(".")[-1] != but]
    return ", ".join(f"{key} = {before.get(key)}, not {now.get(key)}" for key in names)


def _in_use(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without how orders are learned, in phases in which none are."""
    made = settings.get("experiment", {})
    phases = made.get("training", {}).get("phases", [])
    if not phases:
        return dict(settings)
    training = {**made["training"], "phases": [_phase_in_use(made["order"], p) for p in phases]}
    return {**settings, "experiment": {**made, "training": training}}


def _phase_in_use(order: Mapping[str, Any], phase: Mapping[str, Any]) -> dict[str, Any]:
    kind = phase["order"] or order["kind"]
    learns = kind == "voi" and not phase["freeze_orders"]
    return {key: value for key, value in phase.items() if learns or key not in _OF_LEARNING}


def _flat(values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return plain values by their path.

    >>> _flat({"a": {"b": 1, "c": [2]}, "d": [{"e": 3}]})
    {'a.b': 1, 'a.c': [2], 'd.0.e': 3}
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, list) and value and all(isinstance(x, Mapping) for x in value):
            value = {str(i): each for i, each in enumerate(value)}
        is_table = isinstance(value, Mapping)
        found |= _flat(value, f"{where}{key}.") if is_table else {f"{where}{key}": value}
    return found


def matching(names: Iterable[str], patterns: str, option: str) -> list[str]:
    """Return the names that one of the patterns fits, in their order; no pattern fits all.

    >>> matching(["l2r", "voi-x", "voi-y"], "voi-*,l2r", "--methods")
    ['l2r', 'voi-x', 'voi-y']
    """
    known = list(names)
    wanted = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise ConfigError(f"{option}: nothing is called {pattern!r}, known: {', '.join(known)}")
    return [name for name in known if not wanted or any(fnmatchcase(name, each) for each in wanted)]


def markdown(rows: Rows) -> str:
    """Return a table whose first row is its header.

    >>> print(markdown([["a", "b"], ["1", "2"]]), end="")
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    header, *body = rows
    lines = ["| " + " | ".join(row) + " |" for row in (header, *body)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines) + "\n"


def read_all(folder: Path) -> list[Result]:
    """Return the cells of a folder, by name and seed.

    Cells that differ in their seed alone must agree in all other settings: an error names them.
    """
    found = sorted((read(path) for path in folder.glob("*.json")), key=_place)
    first: dict[str, Result] = {}
    for cell in found:
        other = first.setdefault(_place(cell)[0], cell)
        if differing := _differing(cell["settings"], other["settings"], but="seed"):
            raise ConfigError(
                f"{folder} mixes two experiments: {cell['name']} was measured with {differing}"
            )
    return found


def _place(cell: Result) -> tuple[str, int]:
    """Return the name without its seed, and the seed."""
    return cell["name"].rpartition("-seed")[0], cell["settings"]["seed"]


def seeds(found: Sequence[Result]) -> str:
    """Return the seeds of some cells, as a table shows them.

    >>> seeds([{"settings": {"seed": 1}}, {"settings": {"seed": 0}}]), seeds([])
    ('0, 1', 'none')
    """
    return ", ".join(map(str, sorted({each["settings"]["seed"] for each in found}))) or "none"


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Return the mean of some seeds, and their range where they differ in these digits.

    >>> spread([0.25, 0.75], 2), spread([1.0, 0.9999])
    ('0.50 (0.25 to 0.75)', '1.000')
    """
    if not values:
        return "-"
    mean, least, most = (
        f"{value:.{digits}f}" for value in (sum(values) / len(values), min(values), max(values))
    )
    return mean if least == most else f"{mean} ({least} to {most})"
