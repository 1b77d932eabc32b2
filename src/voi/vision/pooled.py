"""The built-in backbone: a region is described by its own pixels, averaged over a small grid."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from voi.vision.backbone import Boxes, Features, Pixels

GRIDS = (1, 2, 3, 4)  # cells along a side of the boxes of an image that has none of its own


def grid_boxes(max_regions: int) -> Float[np.ndarray, "m 4"]:
    """Return the whole image as a box, then its quarters, ninths and sixteenths, row by row.

    >>> grid_boxes(3).tolist()
    [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 1.0, 0.5]]
    """
    cells = [(x, y, n) for n in GRIDS for y in range(n) for x in range(n)]
    boxes = [[x / n, y / n, (x + 1) / n, (y + 1) / n] for x, y, n in cells]
    return np.array(boxes[:max_regions], np.float32)


class PooledPixels:
    """Mean colours of the cells of a grid laid over each box, then mean and deviation of the box.

    Colours run from -1 to 1. Cells take parts of pixels by their area, so that a box may be of any
    size, also below one pixel.
    """

    weights: Path | None = None

    def __init__(self, grid: int = 6) -> None:
        self.grid = grid
        self.name = "pooled" if grid == 6 else f"pooled-{grid}"

    @property
    def width(self) -> int:
        """Length of a vector."""
        return 3 * self.grid**2 + 6

    def describe(self, images: Sequence[Pixels], boxes: Sequence[Boxes]) -> list[Features]:
        """Return one vector per box, for each image."""
        return [self._describe(*pair) for pair in zip(images, boxes, strict=True)]

    def _describe(self, pixels: Pixels, boxes: Boxes) -> Features:
        colours = pixels / 127.5 - 1
        cells = box_means(colours, boxes, self.grid)  # [m, grid, grid, 3]
        mean = cells.mean((1, 2))  # [m, 3]; all cells of a box have the same area
        deviation = np.sqrt(np.maximum(box_means(colours**2, boxes, 1)[:, 0, 0] - mean**2, 0))
        parts = [cells.reshape(len(boxes), -1), mean, deviation]
        return np.concatenate(parts, axis=1).astype(np.float32)


def box_means(
    values: Float[np.ndarray, "height width c"], boxes: Boxes, grid: int
) -> Float[np.ndarray, "m {grid} {grid} c"]:
    """Return the means of an image over the cells of a grid in each box.

    The sum over a rectangle is a difference of sums from the upper left corner, which are exact
    between pixels as well, where they are interpolated.
    """
    height, width, channels = values.shape
    sums = np.zeros((height + 1, width + 1, channels))
    sums[1:, 1:] = values.cumsum(0).cumsum(1)
    shares = np.linspace(0, 1, grid + 1)
    left, top, right, bottom = (boxes[:, i, None].astype(np.float64) for i in range(4))
    x = (left + (right - left) * shares) * width  # [m, grid + 1]
    y = (top + (bottom - top) * shares) * height
    corners = _interpolated(sums, y, x)  # [m, grid + 1, grid + 1, c]
    totals = np.diff(np.diff(corners, axis=1), axis=2)
    areas = np.diff(y)[:, :, None] * np.diff(x)[:, None, :]
    return totals / areas[..., None]


def _interpolated(
    sums: Float[np.ndarray, "rows columns c"],
    y: Float[np.ndarray, "m g"],
    x: Float[np.ndarray, "m g"],
) -> Float[np.ndarray, "m g g c"]:
    """Return the values of a table between its entries, at every pair of a y and an x."""
    rows, columns = sums.shape[:2]
    above = np.clip(np.floor(y).astype(int), 0, rows - 2)
    before = np.clip(np.floor(x).astype(int), 0, columns - 2)
    down = (y - above)[:, :, None, None]
    across = (x - before)[:, None, :, None]
    i, j = above[:, :, None], before[:, None, :]
    upper = sums[i, j] * (1 - across) + sums[i, j + 1] * across
    lower = sums[i + 1, j] * (1 - across) + sums[i + 1, j + 1] * across
    return upper * (1 - down) + lower * down
