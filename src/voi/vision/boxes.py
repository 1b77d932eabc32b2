"""Boxes that are given: COCO's annotation format, or one JSON object per image and line."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from voi.errors import DataError
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
    """The boxes of an annotation file by image; crowds and boxes without area are left out."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(f"no file {path}: give --boxes a COCO annotation file or JSON lines")
        try:
            self._records = list(_read_lines(path) if _is_lines(path) else _read_coco(path))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path} is not what --boxes takes ({type(error).__name__}: {error}): expected "
                f"COCO's annotation format, or JSON lines with file and boxes (docs/captions.md)"
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
        return Annotated(np.array(boxes, np.float32), tuple(labels))


def _is_lines(path: Path) -> bool:
    return path.suffix in (".jsonl", ".ndjson")


def _read_coco(path: Path) -> Iterator[_Record]:
    table = json.loads(path.read_text(encoding="utf-8"))
    labels = {category["id"]: category["name"] for category in table.get("categories", [])}
    by_image: dict[Any, list[tuple[tuple[float, ...], str]]] = {}
    for each in table["annotations"]:
        if not each.get("iscrowd", 0):
            pair = (_checked(each["bbox"]), labels.get(each.get("category_id"), ""))
            by_image.setdefault(each["image_id"], []).append(pair)
    for image in table["images"]:
        yield _Record(image["file_name"], _size(image), by_image.get(image["id"], []))


def _read_lines(path: Path) -> Iterator[_Record]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                boxes = [_pair(each) for each in record["boxes"] or []]
                yield _Record(record["file"], _size(record), [pair for pair in boxes if pair])
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"line {number}: {type(error).__name__} {error}") from error


def _pair(box: Any) -> tuple[tuple[float, ...], str] | None:
    """Return a box and its label, of an object or of a bare list; None for a crowd."""
    if isinstance(box, dict):
        label = box.get("category", "")
        return None if box.get("iscrowd", 0) else (_checked(box["bbox"]), label)
    return _checked(box), ""


def _checked(box: Any) -> tuple[float, ...]:
    numbers = tuple(map(float, box))
    if len(numbers) != 4 or not np.isfinite(numbers).all():
        raise ValueError(f"a box is left, top, width, height, got {box}")
    return numbers


def _size(record: dict[str, Any]) -> tuple[float, float] | None:
    return (float(record["width"]), float(record["height"])) if "width" in record else None


def _shares(box: tuple[float, ...], size: tuple[float, float]) -> Float[np.ndarray, "4"]:
    left, top, across, down = box
    corners = np.array([left, top, left + across, top + down])
    return np.clip(corners / np.array([*size, *size], float), 0, 1)


def _area(box: Float[np.ndarray, "4"]) -> float:
    return float((box[2] - box[0]) * (box[3] - box[1]))
