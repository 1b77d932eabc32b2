"""Files of a folder that are named like a split, but are in no format that is read."""

from collections.abc import Sequence
from pathlib import Path

from voi.errors import DataError

_BESIDE = (".py", ".sh", ".log", ".md", ".toml", ".yaml", ".ipynb")  # no data: test.py, train.log


def unread(files: Sequence[Path], stems: Sequence[str]) -> list[Path]:
    """Return the files that stand for a split by what is before the first dot of their names.

    >>> unread([Path("valid.csv"), Path("valid.py"), Path("values.csv")], ["valid", "dev"])
    [PosixPath('valid.csv')]
    """
    named = [path for path in files if path.name.lower().partition(".")[0] in stems]
    return [p for p in named if p.suffix.lower() not in _BESIDE and not p.is_dir()]


def no_csv(path: Path) -> DataError:
    """Return the error of a comma-separated file."""
    return DataError(
        f"{path}: comma-separated files are not read: convert it to tabs (.tsv) or to JSON lines "
        f"(.jsonl)"
    )


def unread_error(
    split: str, files: Sequence[Path], endings: Sequence[str], suffixes: tuple[str, str]
) -> DataError:
    """Return the error of a split of which there are only files that are not read."""
    for path in files:
        plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
        if plain.suffix.lower() == ".csv":
            return no_csv(path)
        if plain.suffix.removeprefix(".") in suffixes:
            other = suffixes[plain.suffix.removeprefix(".") == suffixes[0]]
            return DataError(
                f"{path} is one of two parallel files, and {plain.stem}.{other} is not there: put "
                f"it beside the file, or take the file away"
            )
    source, target = suffixes
    return DataError(
        f"{', '.join(map(str, files))}: the {split} split is read from a file that ends in "
        f"{', '.join(endings)}, or from parallel ones in .{source} and .{target} (or these and "
        f".gz): rename what is there, take it away, or set data.options.source_suffix and "
        f"target_suffix to how parallel files end"
    )
