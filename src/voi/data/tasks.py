"""Tasks by name, and what a task says of itself beside its splits."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast, get_args

from voi.analysis import nearest
from voi.data.addition import Addition
from voi.data.captions import Captions
from voi.data.chain import Chain
from voi.data.example import Example, TargetKind, Task
from voi.data.files import FileTask
from voi.data.paper_tasks import Django, Gigaword, Wmt16RoEn
from voi.data.pylines import PyLines
from voi.data.scenes import Scenes
from voi.data.sorting import Sorting
from voi.data.splits import SPLITS
from voi.data.stargraph import StarGraph
from voi.data.sudoku4 import Sudoku4
from voi.errors import ConfigError, DataError
from voi.extras import load_named
from voi.tables import from_table, unknown_name

TASKS: Mapping[str, type[Task]] = {
    "chain": Chain,
    "addition": Addition,
    "stargraph": StarGraph,
    "sudoku4": Sudoku4,
    "sorting": Sorting,
    "pylines": PyLines,
    "scenes": Scenes,
    "captions": Captions,
    "files": FileTask,
    "django": Django,
    "gigaword": Gigaword,
    "wmt16-ro-en": Wmt16RoEn,
}


def split_names(task: Task) -> tuple[str, ...]:
    """Return the names of the splits a task has; files may lack some."""
    return getattr(task, "split_names", tuple(SPLITS))


def chosen_split(task: Task, name: str, run: Path | None = None) -> Sequence[Example]:
    """Return the split that a user chose by --split; one that is not there is an error."""
    check_chosen(task, name, run)
    examples = task.split(name)
    if not len(examples):
        raise DataError(f"{_of(run)}the {name} split is empty: choose another with --split")
    return examples


def check_chosen(task: Task, name: str, run: Path | None = None) -> None:
    """Raise where a task, that of a run, lacks the split that a user chose; none is read."""
    if name not in split_names(task):
        raise DataError(
            f"{_of(run)}there is no {name} split: choose one of {', '.join(split_names(task))} "
            f"with --split"
        )


def _of(run: Path | None) -> str:
    return "" if run is None else f"{run}: "


def order_distance(task: Task, example: Example, order: Sequence[int]) -> float | None:
    """Return the normalised Levenshtein distance to the nearest best order; None: none is known.

    A task with too many of them to list has a method `order_distance` of its own.
    """
    own = getattr(task, "order_distance", None)
    if own is not None:
        distance = own(example, order)
        return None if distance is None else float(distance)
    known = best_orders(task.known_orders(example), len(order))
    return nearest(order, known) if known else None


def best_orders(known: Sequence[tuple[int, ...]], num_tokens: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders a task knows that are of so many tokens: those of other tokens are none.

    >>> best_orders([(1, 0)], 2), best_orders([(1, 0)], 5)
    (((1, 0),), ())
    """
    return tuple(order for order in known if len(order) == num_tokens)


def accepts_more(task: Task) -> bool:
    """Return whether a task says itself which texts are right, by a method `is_right`."""
    return hasattr(task, "is_right")


def is_right(task: Task, example: Example, text: str) -> bool:
    """Return whether a text is right: the target itself, unless the task accepts more."""
    own = getattr(task, "is_right", None)
    return text == example.target if own is None else bool(own(example, text))


def target_kind(name: str) -> TargetKind:
    """Return what the targets of the task of that name are: text, unless the task says else.

    The class of a user that cannot be imported here counts as one that says nothing.

    >>> target_kind("sorting"), target_kind("files")
    ('symbols', 'text')
    """
    made: object = TASKS.get(name)
    if made is None and ":" in name:
        with suppress(ConfigError):
            made = load_named(name, "task")
    kind = getattr(made, "target_kind", "text")
    if kind not in get_args(TargetKind):
        raise ConfigError(
            f"{name}.target_kind must be one of {', '.join(get_args(TargetKind))}, got {kind!r}"
        )
    return cast(TargetKind, kind)


def make_task(name: str, options: Mapping[str, Any]) -> Task:
    """Return the task of that name; `options` are its fields, the rest keep their defaults.

    A name with a colon is a user's own dataclass, module:Class.

    >>> make_task("addition", {"digits": 2, "train": 500}).digits
    2
    """
    if name not in TASKS and ":" not in name:
        raise unknown_name("task", name, [*TASKS, "module:Class"])
    made = TASKS[name] if name in TASKS else load_named(name, "task")
    if not isinstance(made, type) or not is_dataclass(made) or not hasattr(made, "split"):
        raise ConfigError(
            f"task {name!r} must be a dataclass with a method split(name), which returns examples, "
            f"got {made!r}"
        )
    return cast(Task, from_table(made, options, where="data.options."))


def examples_of(task: Task, name: str) -> Sequence[Example]:
    """Return a split to train on; what a user's own task returns is looked at."""
    examples = task.split(name)
    place = f"split({name!r}) of {type(task).__name__}"
    if not len(examples):
        raise DataError(f"{place} is empty: expected examples to train on")
    if not isinstance(examples[0], Example):
        raise DataError(f"{place} must hold voi.Example(source, target), got {examples[0]!r}")
    return examples


def has_sources(task: Task) -> bool:
    """Return whether the examples of a task have sources; pairs are not read for this.

    >>> has_sources(FileTask(train="no-such-file.tsv", source_key="")), has_sources(Addition())
    (False, True)
    """
    if isinstance(task, FileTask):
        return bool(task.source_key)
    return task.split("valid")[0].source is not None


def located(task: Task, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task with absolute paths: they name the same files from anywhere.

    >>> located(Addition(), {"digits": 2})
    {'digits': 2}
    """
    given = {name: getattr(task, name, None) for name in getattr(task, "paths", ())}
    for name, path in given.items():
        if not isinstance(path, str):
            raise ConfigError(
                f"{type(task).__name__}.paths names fields that hold a path as text, got {name!r}, "
                f"which is {path!r}"
            )
    found = {name: str(Path(path).absolute()) for name, path in given.items() if path}
    for name, path in found.items():
        try:
            path.encode()
        except UnicodeEncodeError:
            raise ConfigError(
                f"data.options.{name} = {path!r}: the name of this file, or of a folder above it, "
                f"is no UTF-8, so a run cannot keep it: rename it"
            ) from None
    return {**options, **found}
