"""A folder of images -> a store of regions: batched, resumable, broken files named."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from voi.devices import check_device
from voi.errors import ConfigError, DataError
from voi.progress import Told, untold
from voi.tables import unknown_name
from voi.vision.backbone import Backbone, Detector, Found, Pixels
from voi.vision.boxes import WHOLE, Annotated, GivenBoxes
from voi.vision.images import image_names, read_image
from voi.vision.joining import share_of
from voi.vision.pooled import PooledPixels, grid_boxes
from voi.vision.store import RegionStore
from voi.vision.writing import StoreWriter

BACKBONES = ("pooled", "efficientnet-lite0", "faster-rcnn")


@dataclass(frozen=True)
class Extraction:
    """What came of the images of a folder."""

    store: RegionStore
    num_resumed: int  # images that an earlier, interrupted extraction had done
    num_without_boxes: int  # images without given boxes, of those done now: whole images

    @property
    def broken(self) -> Mapping[str, str]:
        """The images that could not be read, with the reason."""
        return self.store.broken


def make_backbone(name: str, weights: Path | None = None, device: str = "cpu") -> Backbone:
    """Return a backbone by its name; `weights` are those of Faster R-CNN."""
    if name not in BACKBONES:
        raise unknown_name("backbone", name, BACKBONES)
    if weights is not None and name != "faster-rcnn":
        raise ConfigError(f"--weights are those of faster-rcnn, the backbone is {name}")
    check_device(device)
    if name == "pooled":
        if device != "cpu":
            raise ConfigError(f"the backbone pooled works on cpu alone, got --device {device}")
        return PooledPixels()
    if name == "efficientnet-lite0":
        from voi.vision.efficientnet import EfficientNetLite0

        return EfficientNetLite0(device)
    from voi.vision.detector import FasterRCNN

    return FasterRCNN(weights, device)


def backbone_of(store: RegionStore) -> Backbone:
    """Return the backbone that a store was made with, to describe further images in its way."""
    file = store.settings.get("weights_file")
    made = make_backbone(store.settings["backbone"], Path(file) if file else None)
    if _contents(made.weights) != store.settings.get("weights"):
        raise DataError(
            f"{store.path} was made with other weights than those of {made.weights}: put the file "
            f"back, or extract the image with `voi data regions --weights`"
        )
    return made


def extract(
    images: Path,
    out: Path,
    backbone: Backbone,
    boxes: Path | None = None,
    *,
    max_regions: int = 36,
    batch_size: int = 8,
    part: str = "1/1",
    told: Told = untold,
) -> Extraction:
    """Write the regions of all images below a folder, or of a part "i/n" of them, into one file.

    Boxes are those given; without a file of boxes those that the backbone detects; a backbone that
    detects none takes a grid. An image that the file of boxes does not list, or lists without a
    box, has one region, itself. After an interruption the same call goes on where it stood.
    """
    if max_regions < 1 or batch_size < 1:
        raise ConfigError(
            f"expected at least 1 region and 1 image at once, got {max_regions} and {batch_size}"
        )
    names = share_of(image_names(images), part)
    if not names:
        raise ConfigError(f"part {part} of {images} has no image: divide it into fewer parts")
    given = GivenBoxes(boxes) if boxes else None
    settings = {"backbone": backbone.name, "max_regions": max_regions, "boxes": _contents(boxes)}
    settings |= {"weights": _contents(backbone.weights), "weights_file": _place(backbone.weights)}
    writer = StoreWriter(out, {**settings, "images": _place(images), "part": part})
    resumed = writer.images & set(names)
    work = _Work(images, backbone, given, max_regions)
    left = [name for name in names if name not in resumed]
    told("regions", len(resumed), len(names))
    for start in range(0, len(left), batch_size):
        chosen = left[start : start + batch_size]
        read = work.read(chosen)
        if read:
            writer.add(list(read), work.regions(read))
        told("regions", len(resumed) + start + len(chosen), len(names))
    if not writer.done:
        raise DataError(f"none of {len(names)} images can be read: {_first(work.broken)}")
    return Extraction(writer.finish(work.broken), len(resumed), work.num_without_boxes)


def regions_of(pixels: Pixels, backbone: Backbone, max_regions: int = 36) -> Found:
    """Return the regions of one image: detected, or a grid where the backbone detects none."""
    if isinstance(backbone, Detector):
        return backbone.detect([pixels], max_regions)[0]
    return _described(backbone, [pixels], [_grid(max_regions)])[0]


@dataclass
class _Work:
    """Reads images and finds their regions; remembers what was missing."""

    folder: Path
    backbone: Backbone
    given: GivenBoxes | None
    max_regions: int
    num_without_boxes: int = 0

    def __post_init__(self) -> None:
        self.broken: dict[str, str] = {}

    def read(self, names: Sequence[str]) -> dict[str, Pixels]:
        """Return the pixels of the images that can be read."""
        found = {}
        for name in names:
            try:
                found[name] = read_image(self.folder / name)
            except DataError as error:
                self.broken[name] = str(error.__cause__)
        return found

    def regions(self, images: Mapping[str, Pixels]) -> list[Found]:
        pixels = list(images.values())
        if self.given is None and isinstance(self.backbone, Detector):
            return self.backbone.detect(pixels, self.max_regions)
        annotated = [self._boxes(name, each) for name, each in images.items()]
        return _described(self.backbone, pixels, annotated)

    def _boxes(self, name: str, pixels: Pixels) -> Annotated:
        if self.given is None:
            return _grid(self.max_regions)
        found = self.given.of(name, pixels.shape[1], pixels.shape[0])
        self.num_without_boxes += found is None
        return (found or WHOLE).first(self.max_regions)


def _described(
    backbone: Backbone, images: Sequence[Pixels], annotated: Sequence[Annotated]
) -> list[Found]:
    features = backbone.describe(images, [each.boxes for each in annotated])
    return [
        Found(vectors, each.boxes, each.labels, np.ones(len(each.boxes), np.float32))
        for vectors, each in zip(features, annotated, strict=True)
    ]


def _grid(max_regions: int) -> Annotated:
    boxes = grid_boxes(max_regions)
    return Annotated(boxes, ("",) * len(boxes))


def _contents(path: Path | None) -> str | None:
    """Return what tells the contents of one file from those of another."""
    if path is None:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())


def _first(broken: Mapping[str, str]) -> str:
    name, reason = next(iter(broken.items()))
    return f"{name}: {reason}"
