"""An image with boxes around its regions, as it stands beside the steps of a generation."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Rectangle

from voi.errors import DataError
from voi.plots.inputs import Boxes, Image, Opacities
from voi.plots.theme import Theme


@dataclass(frozen=True)
class Picture:
    """An image, or an empty panel in place of one, and its regions."""

    pixels: Shaped[np.ndarray, "height width *channels"] | None
    boxes: Boxes
    opacities: Opacities | None  # None: the same at every step

    @property
    def changes(self) -> bool:
        """Whether there is a picture for every step, rather than one for all."""
        return self.opacities is not None and len(self.opacities) > 0

    def size_within(self, width: float, height: float) -> tuple[float, float]:
        """Return the largest width and height, in inches, that keep the proportions."""
        rows, columns = (1, 1) if self.pixels is None else self.pixels.shape[:2]
        scale = min(width / columns, height / rows)
        return columns * scale, rows * scale

    def draw(
        self, figure: Figure, place: tuple[float, float, float, float], step: int, theme: Theme
    ) -> None:
        """Draw the image and the boxes of a step at left, bottom, width and height in inches."""
        width, height = figure.get_size_inches()
        x, y, across, up = place
        axes = figure.add_axes((x / width, y / height, across / width, up / height))
        axes.set(xlim=(0, 1), ylim=(1, 0), xticks=[], yticks=[], facecolor=theme.panel)
        axes.spines[:].set_visible(False)
        if self.pixels is not None:
            axes.imshow(self.pixels, extent=(0, 1, 1, 0), aspect="auto", cmap="gray")
        shown = np.ones(len(self.boxes))
        if self.opacities is not None and self.changes:
            shown = self.opacities[step]
        for (left, top, right, bottom), opacity in zip(self.boxes, shown, strict=True):
            box = Rectangle((left, top), right - left, bottom - top, linewidth=1.6)
            box.set(facecolor="none", edgecolor=theme.highlight, alpha=float(opacity))
            axes.add_patch(box)


def checked_picture(
    image: Image | None, boxes: Boxes | None, opacities: Opacities | None, num_steps: int
) -> Picture | None:
    """Return the picture of a source, its shapes and ranges checked; None where it is text."""
    if opacities is not None and boxes is None:
        raise ValueError("opacities are those of boxes: give both")
    if image is None and boxes is None:
        return None
    found = np.zeros((0, 4)) if boxes is None else boxes
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError("boxes must be shares of width and height, from 0 to 1")
    if opacities is not None:
        if opacities.shape != (num_steps, len(found)):
            raise ValueError(
                f"opacities must be one per step and box, {[num_steps, len(found)]}, "
                f"got {list(opacities.shape)}"
            )
        if not ((opacities >= 0) & (opacities <= 1)).all():
            raise ValueError("opacities must lie between 0 and 1: divide by the largest")
    return Picture(None if image is None else _pixels(image), found, opacities)


def _pixels(image: Image) -> Shaped[np.ndarray, "height width *channels"]:
    if isinstance(image, np.ndarray):
        return image
    try:
        return np.asarray(imread(Path(image)))
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"cannot read {image} as an image: {error}") from error
