"""Options that name a user's own files, as a table of an experiment."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from voi import experiments
from voi.data.files import FileTask
from voi.data.tasks import TASKS
from voi.errors import ConfigError
from voi.lines import is_packed
from voi.tables import merged

_PLACES = ("train", "valid", "test", "folder", "hub")


def _given(text: str) -> Path:
    if not text.strip():
        raise typer.BadParameter("expected a path, got an empty text")
    if re.match(r"[A-Za-z][\w+.-]+://", text):
        raise typer.BadParameter(
            f"expected a file, got the address {text}; addresses are not read, download it first"
        )
    path = Path(text)
    if text == "-" or path.is_relative_to("/dev") or path.is_fifo():
        raise typer.BadParameter(
            f"expected a file, as data is read more than once, got {text}: write what comes from "
            f"a pipe to a file first, as in COMMAND > pairs.tsv"
        )
    return path


def _path(help: str) -> Any:
    return typer.Option(parser=_given, metavar="PATH", help=help)


Data = Annotated[Path | None, _path("Your pairs: a TSV or JSONL file, or a folder of splits.")]
SourceFile = Annotated[Path | None, _path("Parallel files: the sources.")]
TargetFile = Annotated[Path | None, _path("Parallel files: the targets.")]
ValidFile = Annotated[Path | None, _path("Validation pairs.")]
TestFile = Annotated[Path | None, _path("Test pairs.")]


def data_settings(
    data: Path | None,
    source: Path | None,
    target: Path | None,
    valid: Path | None,
    test: Path | None,
) -> dict[str, Any]:
    """Return the table that --data, or --source and --target, stand for; empty without them."""
    if data is not None and (source or target):
        raise ConfigError("give either --data or --source and --target, not both")
    if data is None and not (source and target):
        if source or target:
            raise ConfigError("give --source together with --target, or --data")
        if valid or test:
            raise ConfigError("--valid and --test need --data, or --source together with --target")
        return {}
    options: dict[str, str] = {}
    if data is not None:
        options["folder" if data.is_dir() else "train"] = str(data)
    elif source is not None and target is not None:
        options |= _parallel(source, target)
    options |= {name: str(p) for name, p in (("valid", valid), ("test", test)) if p is not None}
    empty = dict.fromkeys(_PLACES, "")  # in place of what a preset names
    return {"data": {"options": {**empty, **options}}}


def own_table(task: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a preset with a user's files in place of its own."""
    table = experiments.load_table(task)
    made = TASKS.get(table.get("data", {}).get("task", ""))
    if own and made is not None and not issubclass(made, FileTask):
        raise ConfigError(
            f"{task} makes its own examples: give files without a task, or with one that reads "
            f"pairs (voi train --presets lists them)"
        )
    return merged(table, own)


def _parallel(source: Path, target: Path) -> dict[str, str]:
    """Return the common stem and the two suffixes of parallel files."""
    plain, other = (path.with_suffix("") if is_packed(path) else path for path in (source, target))
    if plain.with_suffix("") != other.with_suffix("") or plain.suffix == other.suffix:
        raise ConfigError(
            f"parallel files must differ in their suffix alone, as in train.ro and train.en, got "
            f"{source} and {target}"
        )
    return {
        "train": str(plain.with_suffix("")),
        "source_suffix": plain.suffix.removeprefix("."),
        "target_suffix": other.suffix.removeprefix("."),
    }
