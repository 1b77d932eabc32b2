"""Names of images: annotation files and folders rarely call an image exactly the same."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

from voi.errors import DataError

_COCO_STEM = re.compile(r"(?:COCO_\w+_)?0*(\d+)")  # 000000000139, COCO_val2014_000000000139


def coco_number(name: str) -> int | None:
    """Return the number of an image of COCO, whose file names changed between the years.

    >>> coco_number("val2014/COCO_val2014_000000000139.jpg"), coco_number("000000000139.jpg")
    (139, 139)
    """
    found = _COCO_STEM.fullmatch(PurePosixPath(name).stem)
    return int(found[1]) if found else None


class NameIndex:
    """Finds the row of an image by its path, else by its file name, else by its COCO number."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._keys: tuple[Callable[[str], object], ...] = (str, _file_name, coco_number)
        self._rows = [_rows(names, key) for key in self._keys]

    def __getitem__(self, name: str) -> int | None:
        """Return the row, or None; a name that fits several images is an error."""
        for key, rows in zip(self._keys, self._rows, strict=True):
            found = rows.get(key(name), [])
            if len(found) > 1:
                first, second, *_ = (self._names[row] for row in found)
                raise DataError(
                    f"{name} could be {first} or {second}: name images by their path below the "
                    f"folder of images"
                )
            if found:
                return found[0]
        return None


def _file_name(name: str) -> str:
    return PurePosixPath(name).name


def _rows(names: Iterable[str], key: Callable[[str], object]) -> dict[object, list[int]]:
    rows: dict[object, list[int]] = {}
    for row, name in enumerate(names):
        if (value := key(name)) is not None:
            rows.setdefault(value, []).append(row)
    return rows
