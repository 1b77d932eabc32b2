"""What turns the pixels of regions into vectors, and what it hands back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

# Images of a batch differ in size and in their number of regions, so these sizes are not compared.
Pixels: TypeAlias = UInt8[np.ndarray, "_ _ 3"]  # height, width
Boxes: TypeAlias = Float[np.ndarray, "_ 4"]  # regions; left, top, right, bottom as shares
Features: TypeAlias = Float[np.ndarray, "_ f"]  # regions


@dataclass(frozen=True)
class Found:
    """The regions of one image, best first."""

    features: Features
    boxes: Boxes
    labels: tuple[str, ...]  # [m], what a region shows; "" where that is unknown
    scores: Float[np.ndarray, " m"]  # of detections, 0 to 1; 1 for boxes that were given

    def __len__(self) -> int:
        return len(self.boxes)


@runtime_checkable
class Backbone(Protocol):
    """Describes the regions of images."""

    name: str
    weights: Path | None  # the file of its weights; None where the name says it all

    def describe(self, images: Sequence[Pixels], boxes: Sequence[Boxes]) -> list[Features]:
        """Return one vector per box, for each image."""
        ...


@runtime_checkable
class Detector(Backbone, Protocol):
    """A backbone that finds boxes of its own as well."""

    def detect(self, images: Sequence[Pixels], max_regions: int) -> list[Found]:
        """Return the likeliest regions of each image."""
        ...
