"""Where a picture goes: the suffix says its format, and it appears whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from voi.atomic import atomic_file
from voi.errors import DataError

FIGURE_SUFFIXES = (".png", ".svg", ".pdf")
PAGE_SUFFIXES = (".html", ".htm")


def output_path(path: str | os.PathLike[str], suffixes: tuple[str, ...]) -> Path:
    """Return the path, or raise a DataError if no picture can be written there.

    >>> output_path("steps.svg", FIGURE_SUFFIXES).name
    'steps.svg'
    """
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise DataError(
            f"expected a file name that ends in {' or '.join(suffixes)}, got {target.name!r}: "
            "the suffix says the format"
        )
    if target.is_dir() or not target.parent.is_dir():
        fault = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise DataError(f"cannot write {target}: {fault}")
    return target


@contextmanager
def picture_file(path: Path) -> Iterator[Path]:
    """Yield a draft that replaces `path` at the end; a full disk or the like is a DataError."""
    try:
        with atomic_file(path) as draft:
            yield draft
    except OSError as error:
        raise DataError(
            f"cannot write {path}: {error.strerror or error}: check folder and disk"
        ) from error
