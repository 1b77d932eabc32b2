"""Boxes that are given: COCO's annotation format, or one JSON object per image and line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from voi.errors import DataError
from voi.lines import ending_of, json_file, json_lines
from voi.vision.names import NameIndex


@dataclass(frozen=True)
class Annotated:
    """The boxes of one image, largest first."""

    boxes: Float[np.ndarray, "m 4"]  # shares
    labels: tuple[str, ...]

    def first(self, count: int) -> "Annotated":
        """Return the largest boxes."""
        return Annotated(self.boxes[:count], self.labels[:count])


WHOLE = Annotated(np.array([[0, 0, 1, 1]], np.float32), ("",))


@dataclass(frozen=True)
class _Record:
    name: str
    size: tuple[float, float] | None  # width and height that the boxes refer to
    boxes: Sequence[tuple[tuple[float, ...], str]]  # left, top, width, height in pixels; label


class GivenBoxes:
    """The boxes of an annotation file by image; crowds and boxes without area are left out.

    The area is that of the shares as they are stored, in single precision.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(f"no file {path}: give --boxes a COCO annotation file or JSON lines")
        try:
            self._records = _read(path)
        except ValueError as error:
            raise DataError(
                f"{path} is not what --boxes takes ({error}): expected COCO's annotation format, "
                f"or JSON lines with file and boxes (docs/captions.md)"
            ) from error
        self._index = NameIndex([record.name for record in self._records])

    def of(self, name: str, width: int, height: int) -> Annotated | None:
        """Return the boxes of an image of that size; None where there are none."""
        row = self._index[name]
        if row is None:
            return None
        record = self._records[row]
        size = record.size or (float(width), float(height))
        pairs = [(_shares(box, size), label) for box, label in record.boxes]
        pairs = [(box, label) for box, label in pairs if _area(box) > 0]
        pairs.sort(key=lambda pair: -_area(pair[0]))
        if not pairs:
            return None
        boxes, labels = zip(*pairs, strict=True)
        return Annotated(np.stack(boxes), tuple(labels))


def _read(path: Path) -> list[_Record]:
    if ending_of(path) in (".jsonl", ".ndjson"):
        return list(json_lines(path, _of_line))
    return json_file(path, lambda table: list(_of_coco(table)))


def _of_coco(table: Any) -> Iterator[_Record]:
    labels = {each["id"]: _text(each["name"]) for each in table.get("categories", [])}
    by_image: dict[Any, list[tuple[tuple[float, ...], str]]] = {}
    for each in table["annotations"]:
        if not each.get("iscrowd", 0):
            pair = (_checked(each["bbox"]), labels.get(each.get("category_id"), ""))
            by_image.setdefault(each["image_id"], []).append(pair)
    for image in table["images"]:
        yield _Record(_text(image["file_name"]), _size(image), by_image.get(image["id"], []))


def _of_line(record: Any) -> _Record:
    boxes = [_pair(each) for each in record["boxes"] or []]
    return _Record(_text(record["file"]), _size(record), [pair for pair in boxes if pair])


def _pair(box: Any) -> tuple[tuple[float, ...], str] | None:
    """Return a box and its label, of an object or of a bare list; None for a crowd."""
    if isinstance(box, dict):
        label = box.get("category")
        named = "" if label is None else _text(label)
        return None if box.get("iscrowd", 0) else (_checked(box["bbox"]), named)
    return _checked(box), ""


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"a file and a category are named by a text, got {name!r}")
    return name


def _checked(box: Any) -> tuple[float, ...]:
    numbers = tuple(map(float, box))
    if len(numbers) != 4 or not np.isfinite(numbers).all():
        raise ValueError(f"a box is left, top, width, height, got {box}")
    return numbers


def _size(record: Any) -> tuple[float, float] | None:
    if "width" not in record:
        return None
    width, height = float(record["width"]), float(record["height"])
    if not (width > 0 and height > 0):
        raise ValueError(f"width and height are above 0, got {width:g} and {height:g}")
    return width, height


def _shares(box: tuple[float, ...], size: tuple[float, float]) -> Float[np.ndarray, "4"]:
    left, top, across, down = box
    corners = np.array([left, top, left + across, top + down])
    return np.clip(corners / np.array([*size, *size], float), 0, 1).astype(np.float32)


def _area(box: Float[np.ndarray, "4"]) -> float:
    return float((box[2] - box[0]) * (box[3] - box[1]))
