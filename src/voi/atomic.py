"""Files and folders that appear whole or not at all."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that replaces it if the block ends without an error."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        _flush(draft)
        draft.chmod(0o644)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` if the block ends without an error.

    A folder in its place is moved aside whole and removed last, so that `path` never holds a part.
    """
    draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    old = draft.with_name(draft.name + ".old")
    try:
        yield draft
        for file in draft.iterdir():
            _flush(file)
        draft.chmod(0o755)
        if path.exists():
            os.replace(path, old)
        os.replace(draft, path)
    finally:
        if old.exists() and not path.exists():  # stopped between the two
            os.replace(old, path)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def clear_drafts(parent: Path, pattern: str) -> None:
    """Remove what a killed process left of atomic folders whose names fit a pattern.

    A folder that was moved aside, and whose place nothing has taken, is put back.
    """
    for old in parent.glob(f".{pattern}.*.old"):
        place = old.with_name(old.name[1:].rsplit(".", 2)[0])
        if not place.exists():
            os.replace(old, place)
    for draft in parent.glob(f".{pattern}.*"):
        shutil.rmtree(draft, ignore_errors=True)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
