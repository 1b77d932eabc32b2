"""Stores of regions that were made in parts -> one store."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from voi.errors import ConfigError, DataError
from voi.vision.backbone import Found
from voi.vision.store import RegionStore, open_store
from voi.vision.writing import StoreWriter

IMAGES_AT_ONCE = 256
PLACES = ("images", "part", "weights_file", "joined")  # settings in which parts may differ


def share_of(names: Sequence[str], part: str) -> Sequence[str]:
    """Return every n-th name from the i-th on, for a part "i/n" that counts from 1.

    >>> share_of(["a", "b", "c", "d", "e"], "2/3"), share_of(["a", "b"], "1/1")
    (['b', 'e'], ['a', 'b'])
    """
    number, _, count = part.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ConfigError(f"--part must be I/N with I from 1 to N, such as 1/4, got {part!r}")
    return names[int(number) - 1 :: int(count)]


def join_stores(paths: Sequence[Path], out: Path) -> RegionStore:
    """Write one store with the images of several, in their order, and return it.

    All must have been made with the same settings, and no image may be in two of them.
    """
    stores = [open_store(path) for path in paths]
    _check(stores)
    pairs = [list(store.settings.items()) for store in stores]
    shared = dict(pair for pair in pairs[0] if all(pair in other for other in pairs))
    writer = StoreWriter(out, {**shared, "joined": [str(path.resolve()) for path in paths]})
    for store in stores:
        done = writer.images  # of a call that was interrupted
        left = [i for i in range(len(store)) if store.names[i] not in done]
        for start in range(0, len(left), IMAGES_AT_ONCE):
            rows = left[start : start + IMAGES_AT_ONCE]
            writer.add([store.names[i] for i in rows], [_found(store, i) for i in rows])
    return writer.finish({name: why for store in stores for name, why in store.broken.items()})


def _check(stores: Sequence[RegionStore]) -> None:
    """Raise if regions were made in different ways, or if an image is there twice."""
    settings = _manner(stores[0])
    seen: dict[str, Path] = {}
    for store in stores:
        if _manner(store) != settings:
            raise DataError(
                f"{store.path} was made with {_manner(store)}, {stores[0].path} with {settings}: "
                f"join files of the same settings"
            )
        for name in store.names:
            if name in seen:
                raise DataError(f"{name} is in {seen[name]} and in {store.path}: leave one out")
            seen[name] = store.path


def _manner(store: RegionStore) -> dict[str, Any]:
    """Return how regions were made, wherever their images are."""
    return {key: value for key, value in store.settings.items() if key not in PLACES}


def _found(store: RegionStore, image: int) -> Found:
    rows = store.rows(image)
    return Found(store.features[rows], store.boxes[rows], store.labels(image), store.scores[rows])
