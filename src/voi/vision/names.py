"""Names of images: annotation files and folders rarely call an image exactly the same."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from voi.errors import DataError

_COCO_STEM = re.compile(r"(?:COCO_\w+_)?(\d{12})")  # 000000000139, COCO_val2014_000000000139
_Key = TypeVar("_Key")


def coco_number(name: str) -> int | None:
    """Return the number of an image of COCO, whose file names changed between the years.

    A number alone is that of an image as well; the 139.jpg of some other folder is not.

    >>> coco_number("val2014/COCO_val2014_000000000139.jpg"), coco_number("000000000139.jpg")
    (139, 139)
    >>> coco_number("139"), coco_number("139.jpg")
    (139, None)
    """
    found = _COCO_STEM.fullmatch(PurePosixPath(name).stem)
    number = found[1] if found else name
    return int(number) if number.isdecimal() and len(number) <= 12 else None


class NameIndex:
    """Finds the row of an image by its path, else by the end of one, else by its COCO number.

    Of two paths one may be the end of the other: b/1.jpg is images/b/1.jpg, but never a/1.jpg.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._by_file = _rows(names, _file_name)
        self._by_number = _rows(names, coco_number)

    def __getitem__(self, name: str) -> int | None:
        """Return the row, or None; a name that fits several images is an error."""
        alike = self._by_file.get(_file_name(name), [])
        same = [row for row in alike if self._names[row] == name]
        ending = [row for row in alike if _is_end(name, self._names[row])]
        number = coco_number(name)
        numbered = [] if number is None else self._by_number.get(number, [])
        found = same or ending or numbered
        if len(found) > 1:
            first, second, *_ = (self._names[row] for row in found)
            raise DataError(
                f"{name} could be {first} or {second}: name images by their path below the "
                f"folder of images"
            )
        return found[0] if found else None


def _file_name(name: str) -> str:
    return PurePosixPath(name).name


def _is_end(one: str, other: str) -> bool:
    """Is one of two paths the end of the other?"""
    shorter, longer = sorted((PurePosixPath(one).parts, PurePosixPath(other).parts), key=len)
    return longer[len(longer) - len(shorter) :] == shorter


def _rows(names: Iterable[str], key: Callable[[str], _Key | None]) -> dict[_Key, list[int]]:
    rows: dict[_Key, list[int]] = {}
    for row, name in enumerate(names):
        if (value := key(name)) is not None:
            rows.setdefault(value, []).append(row)
    return rows
