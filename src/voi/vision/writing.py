"""Making a store image by image, so that an extraction that was killed goes on where it stood."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from voi.atomic import atomic_file, write_text
from voi.errors import DataError
from voi.tensor_header import tensor_header
from voi.vision.backbone import Found
from voi.vision.store import FORMAT, TYPES, RegionStore, open_store

_PARTS = {"boxes": "F32", "scores": "F32", "features": "F16"}  # written as they come


@dataclass
class StoreWriter:
    """Collects regions beside the final file, in a folder that ends in `.partial`.

    `done.jsonl` names an image only after its regions are on disk; whatever stands behind the last
    image it names is cut off when the work is taken up again.
    """

    path: Path  # of the final file
    settings: Mapping[str, Any]  # of the extraction; they must not change on the way
    done: list[dict[str, Any]] = field(default_factory=list)  # image, size, labels
    width: int = 0  # of the features; 0: no image is done yet

    def __post_init__(self) -> None:
        self.folder = self.path.with_name(self.path.name + ".partial")
        if self.path.exists():
            raise DataError(f"{self.path} is there already: remove it or choose another --out")
        try:
            self._open()
        except OSError as error:
            raise DataError(
                f"cannot write {self.folder}: {error.strerror or error}: choose another --out"
            ) from error

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        stated = self.folder / "settings.json"
        if not stated.exists():
            write_text(stated, json.dumps(dict(self.settings)) + "\n")
        found = json.loads(stated.read_text(encoding="utf-8"))
        for name in {**found, **self.settings}:
            was, now = found.get(name), self.settings.get(name)
            if was != now:
                raise DataError(
                    f"{self.folder} was begun with {name} = {was}, now it is {now}: go on with the "
                    f"same settings, or remove the folder"
                )
        for name in (*_PARTS, "done"):
            self._file(name).touch()
        self._restore()

    def _file(self, name: str) -> Path:
        return self.folder / ("done.jsonl" if name == "done" else f"{name}.bin")

    def _restore(self) -> None:
        """Read what is done, and cut off what was written without being finished."""
        kept = 0
        for line in self._file("done").read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            self.done.append(json.loads(line))
            kept += len(line)
        os.truncate(self._file("done"), kept)
        self.width = self.done[0]["width"] if self.done else 0
        for name in _PARTS:
            size = self.num_regions * self._row_bytes(name)
            if self._file(name).stat().st_size < size:
                raise DataError(f"{self._file(name)} is cut short: remove {self.folder}")
            os.truncate(self._file(name), size)

    @property
    def num_regions(self) -> int:
        return sum(image["size"] for image in self.done)

    @property
    def images(self) -> set[str]:
        """The images that are done."""
        return {image["image"] for image in self.done}

    def _columns(self, name: str) -> tuple[int, ...]:
        return {"boxes": (4,), "scores": (), "features": (self.width,)}[name]

    def _row_bytes(self, name: str) -> int:
        return int(np.prod(self._columns(name))) * np.dtype(TYPES[_PARTS[name]]).itemsize

    def add(self, names: Sequence[str], found: Sequence[Found]) -> None:
        """Write the regions of some images; they are safe when this returns."""
        lines = []
        for name, regions in zip(names, found, strict=True):
            self.width = self.width or regions.features.shape[1]
            labels = list(regions.labels)
            lines.append(
                {"image": name, "size": len(regions), "width": self.width, "labels": labels}
            )
        for part, kind in _PARTS.items():
            arrays = [np.asarray(getattr(regions, part), TYPES[kind]) for regions in found]
            self._append(part, b"".join(array.tobytes() for array in arrays))
        texts = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
        self._append("done", "".join(texts).encode())
        self.done += lines

    def _append(self, name: str, content: bytes) -> None:
        with self._file(name).open("ab") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def finish(self, broken: Mapping[str, str]) -> RegionStore:
        """Write the final file, images sorted by when they were done, and return it."""
        label_names = sorted({label for image in self.done for label in image["labels"]})
        numbers = {label: number for number, label in enumerate(label_names)}
        found = [numbers[label] for image in self.done for label in image["labels"]]
        offsets = np.cumsum([0, *(image["size"] for image in self.done)], dtype="<i8")
        said = {
            "images": [image["image"] for image in self.done],
            "labels": label_names,
            "settings": dict(self.settings),
            "broken": dict(broken),
        }
        with atomic_file(self.path) as draft, draft.open("wb") as file:
            file.write(self._header(said))
            file.write(offsets.tobytes())
            file.write(np.array(found, "<i4").tobytes())
            for name in _PARTS:
                self._copy(name, file)
        shutil.rmtree(self.folder)
        return open_store(self.path)

    def _header(self, said: Mapping[str, Any]) -> bytes:
        """Return the header of the final file, with what is said about its images."""
        regions = self.num_regions
        shapes = {"offsets": ("I64", [len(self.done) + 1]), "labels": ("I32", [regions])}
        shapes |= {name: (kind, [regions, *self._columns(name)]) for name, kind in _PARTS.items()}
        texts = {key: json.dumps(value, ensure_ascii=False) for key, value in said.items()}
        return tensor_header(shapes, {"format": FORMAT, **texts})

    def _copy(self, name: str, file: IO[bytes]) -> None:
        with self._file(name).open("rb") as part:
            shutil.copyfileobj(part, file, 1 << 24)
