"""Splits: their names, and the sizes and drawing of generated ones."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from voi.data.example import Example, Source
from voi.errors import ConfigError, DataError
from voi.tables import unknown_name

Splits = Mapping[str, Sequence[Example]]
SPLITS: Mapping[str, tuple[str, ...]] = {  # the splits of a task, and what files and hub call them
    "train": ("train",),
    "valid": ("valid", "dev", "validation", "val"),
    "test": ("test",),
}


def check_split(name: str) -> None:
    """Raise the error of a split that no task has; it names the nearest."""
    if name not in SPLITS:
        raise DataError(str(unknown_name("split", name, SPLITS)))


def check_sizes(train: int, valid: int, test: int, num_sources: int) -> None:
    """Raise the error for splits that together are larger than the number of different sources."""
    total = train + valid + test
    if total > num_sources:
        raise ConfigError(
            f"train + valid + test must be at most {num_sources}, the number of different sources, "
            f"got {total}: set data.options.train, valid and test lower, or enlarge the task"
        )


def draw_splits(
    draw: Callable[[np.random.Generator], Example],
    rng: np.random.Generator,
    train: int,
    valid: int,
    test: int,
) -> Splits:
    """Return splits of examples with different sources.

    Test examples are drawn first and training examples last, so that more training examples
    leave the others as they are.
    """
    by_source: dict[Source, Example] = {}
    while len(by_source) < train + valid + test:
        example = draw(rng)
        by_source.setdefault(example.source, example)
    drawn = tuple(by_source.values())
    return {
        "train": drawn[test + valid :],
        "valid": drawn[test : test + valid],
        "test": drawn[:test],
    }


def pick_split(splits: Splits, name: str) -> Sequence[Example]:
    """Return the split of that name; an unknown name is an error that names the nearest."""
    check_split(name)
    return splits[name]
