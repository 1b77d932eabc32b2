"""An embedded task of images: coloured shapes, where they stand, and sentences about them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from jaxtyping import UInt8

from voi.data.drawing import COLOURS, SHAPES, Shape, draw
from voi.data.example import Example, Regions
from voi.data.splits import SPLITS, check_split
from voi.errors import DataError
from voi.tables import require_between, require_least
from voi.vision.pooled import PooledPixels

RADII = {"small": (0.09, 0.11), "large": (0.16, 0.19)}
EDGE = 0.02  # free beside a shape
MARGIN = 0.12  # by which one of the two distances between shapes exceeds the other
ATTEMPTS = 200  # draws to fill an image; where they do not fit, it has fewer shapes


@dataclass(frozen=True)
class Scenes:
    """Images of two to `shapes` shapes, the true box of each, and `captions` sentences per image.

    A sentence names two shapes and how they stand to each other, with or without their sizes (`a
    small red circle left of a large blue square`), or lists all shapes from left to right. No two
    shapes of an image have both colour and form in common, so a sentence is true of one pair only.
    The regions are the true boxes, described by their own pixels (voi.vision.pooled). Images are
    called `train-0`, `test-12` and so on. No order is known to be best.

    >>> task = Scenes(train=2, valid=1, test=1, captions=3)
    >>> examples = task.split("train")
    >>> len(examples), examples[0].source == examples[2].source
    (6, True)
    """

    shapes: int = 3  # most shapes of an image
    captions: int = 3  # sentences per image
    side: int = 64  # pixels
    seed: int = 0
    train: int = 2000  # images
    valid: int = 100
    test: int = 200

    def __post_init__(self) -> None:
        require_between(self, "data.options.", 2, 4, "shapes")
        require_between(self, "data.options.", 1, 3, "captions")
        require_least(self, "data.options.", side=32, seed=0, train=1, valid=1, test=1)

    def split(self, name: str) -> Sequence[Example]:
        """Return the pairs of a split: every image as often as it has captions."""
        check_split(name)
        if name not in self._made:
            images = (f"{name}-{i}" for i in range(getattr(self, name)))
            self._made[name] = [x for image in images for x in self._examples(image)]
        return self._made[name]

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return no order: none is known to be best."""
        return ()

    def source(self, image: str) -> Regions:
        """Return the true boxes of an image, and what their pixels say."""
        return self._regions(image, self.shapes_of(image))

    def picture(self, image: str) -> UInt8[np.ndarray, "height width 3"]:
        """Return the pixels of an image."""
        return draw(self.shapes_of(image), self.side, self._rng(image, "pixels"))

    def shapes_of(self, image: str) -> tuple[Shape, ...]:
        """Return what stands in an image."""
        rng = self._rng(image, "shapes")
        number = int(rng.integers(2, self.shapes + 1))
        shapes: list[Shape] = []
        for _ in range(ATTEMPTS):
            new = _drawn_shape(rng)
            if all(_fit(new, old) for old in shapes):
                shapes.append(new)
            if len(shapes) == number:
                break
        return tuple(shapes)

    @cached_property
    def _made(self) -> dict[str, Sequence[Example]]:
        return {}

    def _examples(self, image: str) -> Iterator[Example]:
        shapes = self.shapes_of(image)
        regions = self._regions(image, shapes)
        sentences = list(sentences_about(shapes))
        chosen = self._rng(image, "captions").permutation(len(sentences))[: self.captions]
        captions = tuple(sentences[i] for i in chosen)
        for caption in captions:
            yield Example(regions, caption, captions)

    def _regions(self, image: str, shapes: Sequence[Shape]) -> Regions:
        pixels = draw(shapes, self.side, self._rng(image, "pixels"))
        boxes = np.array([shape.box for shape in shapes], np.float32)
        (features,) = PooledPixels().describe([pixels], [boxes])
        return Regions(features, boxes, image, tuple(f"{x.colour} {x.kind}" for x in shapes))

    def _rng(self, image: str, use: str) -> np.random.Generator:
        split, _, number = image.partition("-")
        if split not in SPLITS or not re.fullmatch("[0-9]+", number):
            raise DataError(f'expected the name of an image such as "test-12", got {image!r}')
        if int(number) >= getattr(self, split):
            raise DataError(f"there is no {image}: {split} has {getattr(self, split)} images")
        place = list(SPLITS).index(split), int(number), _USES.index(use)
        return np.random.default_rng([self.seed, *place])


_USES = ("shapes", "pixels", "captions")  # one stream of random numbers each


def _drawn_shape(rng: np.random.Generator) -> Shape:
    size, colour, kind = (
        names[rng.integers(len(names))] for names in (tuple(RADII), tuple(COLOURS), tuple(SHAPES))
    )
    low, high = RADII[size]
    r = low + (high - low) * rng.random()
    x, y = (r + EDGE + (1 - 2 * (r + EDGE)) * rng.random() for _ in range(2))
    return Shape(colour, kind, size, x, y, r)


def _fit(a: Shape, b: Shape) -> bool:
    """Return whether two shapes stand apart, clearly related, and can be told from each other."""
    across, down = abs(a.x - b.x), abs(a.y - b.y)
    stand_apart = max(across, down) > a.r + b.r + EDGE
    return stand_apart and abs(across - down) > MARGIN and (a.colour, a.kind) != (b.colour, b.kind)


def relation(a: Shape, b: Shape) -> str:
    """Return how a stands to b, along the longer of the two distances."""
    if abs(a.x - b.x) > abs(a.y - b.y):
        return "left of" if a.x < b.x else "right of"
    return "above" if a.y < b.y else "below"


def sentences_about(shapes: Sequence[Shape]) -> Iterator[str]:
    """Yield all sentences that are true of some shapes, as this task words them."""
    for a, b in permutations(shapes, 2):
        yield f"{_named(a)} {relation(a, b)} {_named(b)}"
        if a.size != b.size:
            yield f"{_sized(a)} {relation(a, b)} {_sized(b)}"
    *most, last = map(_named, sorted(shapes, key=lambda shape: shape.x))
    yield f"{' , '.join(most)} and {last}"


def _named(shape: Shape) -> str:
    article = "an" if shape.colour[0] in "aeiou" else "a"
    return f"{article} {shape.colour} {shape.kind}"


def _sized(shape: Shape) -> str:
    return f"a {shape.size} {shape.colour} {shape.kind}"
