"""Small images of coloured shapes: what is drawn, and its pixels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

Grid = Float[np.ndarray, "height width"]

COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (214, 40, 40),
    "orange": (247, 140, 20),
    "yellow": (240, 215, 50),
    "green": (40, 150, 70),
    "blue": (35, 90, 200),
    "purple": (130, 60, 170),
    "black": (30, 30, 30),
}

# Distance to the outline in units of the half side r, negative inside; (0, 0) is the centre, y
# points down. All of them touch the square of half side 1 on every side.
SHAPES: Mapping[str, Callable[[Grid, Grid], Grid]] = {
    "circle": lambda x, y: np.hypot(x, y) - 1,
    "square": lambda x, y: np.maximum(abs(x), abs(y)) - 1,
    "diamond": lambda x, y: (abs(x) + abs(y) - 1) / 2**0.5,
    "triangle": lambda x, y: np.maximum(y - 1, (2 * abs(x) - y - 1) / 5**0.5),
    "cross": lambda x, y: np.minimum(_bar(x, y), _bar(y, x)),
}


def _bar(x: Grid, y: Grid) -> Grid:
    return np.maximum(abs(x) - 1, abs(y) - 1 / 3)


@dataclass(frozen=True)
class Shape:
    """One shape; lengths are shares of the side of the image."""

    colour: str
    kind: str
    size: str  # small or large
    x: float  # of the centre, from the left
    y: float  # of the centre, from the top
    r: float  # half the side of its box

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        return self.x - self.r, self.y - self.r, self.x + self.r, self.y + self.r


def draw(
    shapes: Sequence[Shape], side: int, rng: np.random.Generator
) -> UInt8[np.ndarray, "{side} {side} 3"]:
    """Return a square image on a light ground with a little noise; outlines are smooth."""
    ground = rng.uniform(205, 245, size=3)
    image = np.broadcast_to(ground, (side, side, 3)) + rng.normal(0, 4, (side, side, 3))
    for shape in shapes:
        columns, rows = (_around(place, shape.r, side) for place in (shape.x, shape.y))
        x, y = np.meshgrid((columns + 0.5) / side - shape.x, (rows + 0.5) / side - shape.y)
        outside = SHAPES[shape.kind](x / shape.r, y / shape.r)
        covered = np.clip(0.5 - outside * shape.r * side, 0, 1)[..., None]
        part = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        part += covered * (np.array(COLOURS[shape.colour], float) - part)
    return np.clip(np.round(image), 0, 255).astype(np.uint8)


def _around(place: float, r: float, side: int) -> Int[np.ndarray, " pixels"]:
    """Return the pixels along one side that a shape can cover, with one more at either end."""
    low, high = int((place - r) * side) - 1, int((place + r) * side) + 2
    return np.arange(max(low, 0), min(high, side))
