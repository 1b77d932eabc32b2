"""Regions of many images in one file that is mapped, not read (docs/captions.md, "The store").

The file is a safetensors file: `offsets [images + 1]`, `boxes [regions, 4]`, `scores [regions]`,
`labels [regions]` and `features [regions, f]`; names are JSON texts in its metadata.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int32, Int64

from voi.errors import DataError
from voi.vision.names import NameIndex

FORMAT = "voi-regions-1"
TYPES = {"I64": "<i8", "I32": "<i4", "F32": "<f4", "F16": "<f2"}
_PREFIX = 8  # bytes that say how long the header is
_LONGEST_HEADER = 1 << 27


@dataclass(frozen=True, eq=False)
class RegionStore:
    """Regions by image; image i has the rows `offsets[i]` to `offsets[i + 1]`."""

    path: Path
    offsets: Int64[np.ndarray, " bounds"]
    boxes: Float[np.ndarray, "regions 4"]
    scores: Float[np.ndarray, " regions"]
    label_numbers: Int32[np.ndarray, " regions"]
    features: Float[np.ndarray, "regions f"]
    names: tuple[str, ...]  # [images], paths below the folder of images
    label_names: tuple[str, ...]
    settings: Mapping[str, Any]  # how the regions were made
    broken: Mapping[str, str]  # images that could not be read, with the reason

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, image: int) -> slice:
        """Return where the regions of an image stand."""
        return slice(int(self.offsets[image]), int(self.offsets[image + 1]))

    def labels(self, image: int) -> tuple[str, ...]:
        """Return what the regions of an image show, in words."""
        return tuple(self.label_names[i] for i in self.label_numbers[self.rows(image)])

    def find(self, name: str) -> int | None:
        """Return the image of a name: its path, the end of it or its COCO number."""
        return self._index[name]

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.names)


def open_store(path: Path) -> RegionStore:
    """Return a store; its arrays stay on disk until they are looked at."""
    if not path.is_file():
        raise DataError(f"no regions in {path}: make the file with `voi data regions`")
    try:
        header, start = _header(path)
        said = header["__metadata__"]
        if said["format"] != FORMAT:
            raise ValueError(f"its format is {said['format']}")
        arrays = {
            name: _mapped(path, header[name], start)
            for name in ("offsets", "boxes", "scores", "labels", "features")
        }
        names = {key: json.loads(said[key]) for key in ("images", "labels", "settings", "broken")}
        if len(arrays["offsets"]) != len(names["images"]) + 1:
            raise ValueError("names and regions do not belong together")
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} is no store of regions, or is cut short ({type(error).__name__}: {error}): "
            f"make it again with `voi data regions`"
        ) from error
    return RegionStore(
        path=path,
        offsets=arrays["offsets"],
        boxes=arrays["boxes"],
        scores=arrays["scores"],
        label_numbers=arrays["labels"],
        features=arrays["features"],
        names=tuple(names["images"]),
        label_names=tuple(names["labels"]),
        settings=names["settings"],
        broken=names["broken"],
    )


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file and where its data starts."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(_PREFIX).ljust(_PREFIX, b"\0"))
        if not 0 < length < _LONGEST_HEADER:
            raise ValueError("it does not start like a safetensors file")
        return json.loads(file.read(length)), _PREFIX + length


def _mapped(path: Path, entry: Mapping[str, Any], start: int) -> np.ndarray:
    first, end = entry["data_offsets"]
    if start + end > path.stat().st_size:
        raise ValueError("the file ends early")
    dtype, shape = np.dtype(TYPES[entry["dtype"]]), tuple(entry["shape"])
    if first == end:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, mode="r", offset=start + first, shape=shape)
