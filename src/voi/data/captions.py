"""Captions of images: a file of captions and a store of regions become pairs (docs/captions.md)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from voi.data.caption_files import Captioned, read_captions
from voi.data.example import Example, LazyExamples, Regions
from voi.data.holdout import held_out
from voi.data.keys import text_key
from voi.data.splits import SPLITS, check_split
from voi.errors import ConfigError, DataError
from voi.vision.extract import backbone_of, regions_of
from voi.vision.images import read_image
from voi.vision.names import NameIndex
from voi.vision.store import RegionStore, open_store


@dataclass(frozen=True)
class Captions:
    """Images with several captions each, as pairs (image, caption).

    The captions stand in one file that names the split of each image, or in one file per split.
    Without a valid split a share of the training images is held out for it; `notes` says so.
    """

    paths: ClassVar[tuple[str, ...]] = ("captions", "train", "valid", "test", "regions", "images")

    captions: str = ""  # a file of captions that names splits
    train: str = ""  # instead: a file for each split
    valid: str = ""
    test: str = ""
    regions: str = ""  # the file that `voi data regions` made
    images: str = ""  # the folder of images, for pictures
    missing: Literal["error", "skip"] = "error"  # captions of images without regions
    holdout: float = 0.02  # share of training images that become valid, if need be

    def __post_init__(self) -> None:
        if bool(self.captions) == bool(self.train):
            raise ConfigError(
                "give data.options.captions, one file that names splits, or data.options.train, "
                "one file per split"
            )
        if self.captions and (self.valid or self.test):
            raise ConfigError("data.options.valid and test go with data.options.train")
        if not self.regions:
            raise ConfigError(
                "data.options.regions names the file of regions: make it with `voi data regions`"
            )
        if not 0 < self.holdout < 1:
            raise ConfigError(f"data.options.holdout must be in (0, 1), got {self.holdout}")

    def split(self, name: str) -> "CaptionPairs":
        """Return the pairs of a split: every image as often as it has captions."""
        check_split(name)
        if name not in self._splits:
            where = self.captions or f"data.options.{name}"
            raise DataError(f"there is no {name} split: {where} gives none")
        return self._splits[name]

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return no order: none is known to be best."""
        return ()

    def source(self, image: str) -> Regions:
        """Return the regions of an image of the store, or of an image file that it does not have.

        The store finds an image by its path, the end of it or its COCO number.
        """
        row = self.store.find(image)
        if row is not None and not self._is_another(image, self.store.names[row]):
            return stored_regions(self.store, row)
        if not Path(image).is_file():
            raise DataError(
                f"expected an image of {self.regions} or an image file, got "
                f"{image}{_why(self.store, image)}"
            )
        pixels, most = read_image(Path(image)), self.store.settings["max_regions"]
        found = regions_of(pixels, backbone_of(self.store), most)
        return Regions(found.features, found.boxes, image, found.labels)

    def _is_another(self, image: str, name: str) -> bool:
        """Is a name that fits an image of the store the path of some other file?"""
        stored = Path(self.images or self.store.settings.get("images") or "") / name
        if image == name or not Path(image).is_file():
            return False
        return not (stored.is_file() and stored.samefile(image))

    def picture(self, image: str) -> Path | None:
        """Return the file of an image, if it is at hand."""
        places = [Path(self.images) / image] if self.images else []
        return next((path for path in [*places, Path(image)] if path.is_file()), None)

    @property
    def split_names(self) -> tuple[str, ...]:
        """The splits that there are; valid may be held out from train."""
        return tuple(name for name in SPLITS if name in self._splits)

    @cached_property
    def store(self) -> RegionStore:
        """The regions."""
        return open_store(Path(self.regions))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the splits came about."""
        splits, notes = self._splits, []
        read = {name: len(images) for name, images in self._read.items()}
        if "valid" not in read:
            held = len(splits["valid"].images)
            notes.append(f"valid: {held} of the training images are held out, as none is given")
        num_skipped = sum(read.values()) - sum(len(pairs.images) for pairs in splits.values())
        if num_skipped:
            notes.append(f"{num_skipped} of {sum(read.values())} images have no regions")
        return tuple(notes)

    @cached_property
    def _read(self) -> dict[str, list[Captioned]]:
        """The images of each split that the files give."""
        if self.train:
            paths = {name: getattr(self, name) for name in SPLITS}
            return {name: read_captions(Path(path)) for name, path in paths.items() if path}
        images = read_captions(Path(self.captions))
        if not all(image.split for image in images):
            raise DataError(
                f"{self.captions} does not say which images are for training: give it as "
                f"data.options.train, and files for the other splits"
            )
        by_split = {name: [x for x in images if x.split == name] for name in SPLITS}
        return {name: found for name, found in by_split.items() if found}

    @cached_property
    def _splits(self) -> "dict[str, CaptionPairs]":
        read = {name: self._with_regions(images) for name, images in self._read.items()}
        if "train" not in read:
            raise DataError(f"{self.captions} has no image for training")
        if "valid" not in read:
            keys = b"".join(text_key(self.store.names[row]) for row, _ in read["train"])
            rows = set(held_out(np.frombuffer(keys, np.uint64), self.holdout).tolist())
            numbered = list(enumerate(read["train"]))
            read["valid"] = [image for i, image in numbered if i in rows]
            read["train"] = [image for i, image in numbered if i not in rows]
        for name, images in read.items():
            if not images:
                raise DataError(f"no image is left for the {name} split: {self.regions} has none")
        return {name: CaptionPairs(self.store, images) for name, images in read.items()}

    def _with_regions(self, images: list[Captioned]) -> list[tuple[int, tuple[str, ...]]]:
        """Return the row of the store and the captions of each image that has regions."""
        found, absent = [], []
        for image in images:
            row = self.store.find(image.image)
            if row is None:
                absent.append(image.image)
            else:
                found.append((row, image.captions))
        if absent and self.missing == "error":
            raise DataError(
                f"{len(absent)} of {len(images)} images with captions are not in {self.regions}: "
                f"{absent[0]}{_why(self.store, absent[0])}: extract their regions, or set "
                f"data.options.missing=skip"
            )
        return found


class CaptionPairs(LazyExamples):
    """One pair per caption; the captions of an image stand one after the other."""

    def __init__(self, store: RegionStore, images: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self.store = store
        self.images = images  # row of the store, captions
        self._ends = list(accumulate(len(captions) for _, captions in images))

    def __len__(self) -> int:
        return self._ends[-1]

    def example(self, index: int) -> Example:
        image = bisect_right(self._ends, index)
        row, captions = self.images[image]
        caption = captions[index - self._ends[image] + len(captions)]
        return Example(stored_regions(self.store, row), caption, captions)


def stored_regions(store: RegionStore, image: int) -> Regions:
    """Return the regions of an image; its features stay on disk until they are looked at."""
    rows = store.rows(image)
    return Regions(store.features[rows], store.boxes[rows], store.names[image], store.labels(image))


def _why(store: RegionStore, image: str) -> str:
    """Return what is known of the reason why the store lacks an image."""
    names = list(store.broken)
    row = NameIndex(names)[image]
    return "" if row is None else f" (its file could not be read: {store.broken[names[row]]})"
