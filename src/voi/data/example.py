"""What every data set is made of: examples, and tasks that hold splits of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Regions:
    """An image as a set of regions, in no particular order."""

    features: Float[np.ndarray, "m f"]
    boxes: Float[np.ndarray, "m 4"]  # left, top, right, bottom as shares of width and height


Source = str | Regions | None  # None: nothing is given, generation is unconditional


@dataclass(frozen=True)
class Example:
    """One pair; `references` lists every accepted target where there are several."""

    source: Source
    target: str
    references: tuple[str, ...] = ()


@runtime_checkable
class Task(Protocol):
    """Named splits of examples, and the orders known to be best for a target, if any are."""

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of "train", "valid" or "test"; the same ones at every call."""
        ...

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return the equally good best orders of the target's tokens; empty if none is known."""
        ...
