"""What every data set is made of: examples, and tasks that hold splits of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, overload, runtime_checkable

import numpy as np
from jaxtyping import Float, Int64, UInt8


@dataclass(frozen=True, eq=False)
class Regions:
    """An image as a set of regions, in no particular order; equal if all of it is equal.

    >>> print(Regions(features=np.zeros((2, 3)), boxes=np.zeros((2, 4))))
    image with 2 regions
    """

    features: Float[np.ndarray, "m f"]
    boxes: Float[np.ndarray, "m 4"]  # left, top, right, bottom as shares of width and height
    image: str = ""  # name of the image, where it has one
    labels: tuple[str, ...] = ()  # what each region shows, where that is known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regions) and (
            (self.image, self.labels) == (other.image, other.labels)
            and np.array_equal(self.boxes, other.boxes)
            and np.array_equal(self.features, other.features)
        )

    def __hash__(self) -> int:
        boxes = self.boxes.astype(np.float32) + 0.0  # equal numbers have equal bytes
        return hash((self.image, self.labels, boxes.tobytes()))

    def __str__(self) -> str:
        """Return the name of the image; without one, how many regions it has."""
        return self.image or f"image with {len(self.boxes)} regions"


Source = str | Regions | None  # None: nothing is given, generation is unconditional


def source_text(source: Source) -> str | None:
    """Return what a trace says of a source: its text, or the name of an image that has one."""
    return (source.image or None) if isinstance(source, Regions) else source


TargetKind = Literal["symbols", "code", "summaries", "translation", "text"]


@dataclass(frozen=True)
class Example:
    """One pair; `references` lists every accepted target where there are several.

    >>> Example("a dog", "un chien").target
    'un chien'
    """

    source: Source
    target: str
    references: tuple[str, ...] = ()


class LazyExamples(Sequence[Example]):
    """Examples that are made when they are asked for; a subclass has __len__ and `example`."""

    def example(self, index: int) -> Example:
        """Return the example at an index from 0 on."""
        raise NotImplementedError

    def place(self, index: int) -> str:
        """Return where the example stands, for messages: its file and line, where it has any."""
        return f"example {index}"

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        return self.example(index % len(self))


@dataclass(frozen=True, eq=False)
class Picked(LazyExamples):
    """Some examples of a sequence, which know where they stand in it."""

    examples: Sequence[Example]
    rows: Sequence[int] | Int64[np.ndarray, " picked"]

    def __len__(self) -> int:
        return len(self.rows)

    def example(self, index: int) -> Example:
        return self.examples[int(self.rows[index])]

    def place(self, index: int) -> str:
        return place_of(self.examples, int(self.rows[index]))


def first(examples: Sequence[Example], count: int) -> Picked:
    """Return at most `count` examples of a sequence.

    >>> len(first([Example("a", "A"), Example("b", "B")], 5))
    2
    """
    return Picked(examples, range(min(count, len(examples))))


def place_of(examples: Sequence[Example], index: int) -> str:
    """Return where an example stands: its file and line, or else its index.

    >>> place_of([Example("a", "A")], 0)
    'example 0'
    """
    return examples.place(index) if isinstance(examples, LazyExamples) else f"example {index}"


@runtime_checkable
class Task(Protocol):
    """Named splits of examples, and the orders known to be best for a target, if any are.

    A task may have more members; they are looked up by name, in `voi.data.tasks` and by those who
    print `notes`:

    - `target_kind`, a class variable, if targets are not plain text: it decides which metrics the
      task gets, and whether its words have parts of speech;
    - `is_right(example, text)`, if it accepts other targets than the given one;
    - `order_distance(example, order)`, if it has too many best orders to list: the distance to
      the nearest of all, where else the nearest of `known_orders` counts; None if it knows none
      for so many tokens;
    - `split_names`, the splits it has, if some of the three are missing;
    - `notes`, lines on how its splits came about, printed before training;
    - `header_hint`, what to set if the first line of train is a header that was read as a pair;
    - `paths`, names of the fields that say where its files are.
    """

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of "train", "valid" or "test"; the same ones at every call."""
        ...

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return the equally good best orders of the target's tokens; empty if none is known.

        Where `data.tokens` cuts a target into another number of tokens, they are left out.
        """
        ...


@runtime_checkable
class ImageTask(Task, Protocol):
    """A task whose sources are images, each known by a name."""

    def source(self, image: str) -> Regions:
        """Return the regions of an image; a name that is not known is a DataError."""
        ...

    def picture(self, image: str) -> UInt8[np.ndarray, "height width 3"] | Path | None:
        """Return the image itself, as pixels or as a file; None where it is not at hand."""
        ...


def grouped(examples: Iterable[Example]) -> list[tuple[Source, tuple[str, ...]]]:
    """Return what is evaluated: sources, in order, each with all its accepted targets.

    The examples of an image, one for each of its captions, become one entry, so that the image is
    captioned once. Pairs of text stay one entry each, repeated sources included, since published
    test sets are scored line by line. References are those of the example or, where it lists
    none, its target; a text that comes twice is kept once.

    >>> grouped([Example("a", "A"), Example("a", "B", references=("B", "b"))])
    [('a', ('A',)), ('a', ('B', 'b'))]
    """
    entries: list[tuple[Source, dict[str, None]]] = []  # the keys of a dictionary keep their order
    by_image: dict[Regions, dict[str, None]] = {}
    for example in examples:
        accepted = dict.fromkeys(example.references or (example.target,))
        if isinstance(example.source, Regions):
            if example.source in by_image:
                by_image[example.source].update(accepted)
                continue
            by_image[example.source] = accepted
        entries.append((example.source, accepted))
    return [(source, tuple(accepted)) for source, accepted in entries]


def rows_by_image(examples: Sequence[Example]) -> list[list[int]]:
    """Return the indices of each image's examples, images in the order in which they come.

    >>> images = [Regions(np.zeros((1, 1)), np.zeros((1, 4)), name) for name in "aba"]
    >>> rows_by_image([Example(image, "text") for image in images])
    [[0, 2], [1]]
    """
    rows: dict[Source, list[int]] = {}
    for row, example in enumerate(examples):
        rows.setdefault(example.source, []).append(row)
    return list(rows.values())
