"""Your own data: files, folders of files, or a data set of the hub, as a task."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from voi.data.example import Example
from voi.data.hub import load_hub, read_hub
from voi.data.readers import Fields, Records, read_jsonl, read_parallel, read_tsv
from voi.errors import ConfigError, DataError
from voi.tables import unknown_name

SPLITS: Mapping[str, tuple[str, ...]] = {  # the names a split goes by in folders and on the hub
    "train": ("train",),
    "valid": ("valid", "dev", "validation", "val"),
    "test": ("test",),
}
_READERS = {
    ".tsv": read_tsv,
    ".txt": read_tsv,
    ".jsonl": read_jsonl,
    ".json": read_jsonl,
    ".ndjson": read_jsonl,
}
_GZ = ("", ".gz")
RECORD = "prepared.json"  # what `voi data prepare` says about a folder it made


@dataclass(frozen=True)
class FileTask:
    """Pairs read from files, given one by one, as a folder, or as a data set of the hub.

    A file is tab-separated (.tsv, .txt), JSON lines (.jsonl, .json, .ndjson), or a pair of
    parallel files, named by what stands before their suffixes: `corpus/train` for
    corpus/train.src and corpus/train.tgt. Each may end in .gz as well.

    Without a valid split, a share of the training examples is held out for it; `notes` says so.
    """

    train: str = ""  # a file
    valid: str = ""  # a file; empty: some of train is held out
    test: str = ""  # a file
    folder: str = ""  # instead of files: holds train.*, and valid.* (dev.*), test.*
    hub: str = ""  # instead of files: an id of the Hugging Face hub, or a saved data set
    hub_config: str = ""  # the configuration of that data set, such as "ro-en"
    source_suffix: str = "src"  # of parallel files
    target_suffix: str = "tgt"
    columns: tuple[str, ...] = ("source", "target")  # of tab-separated files
    source_key: str = "source"  # column, or key of JSON ("translation.ro"); empty: no source
    target_key: str = "target"
    holdout: float = 0.01  # share of train that becomes valid, if need be: 1 to 1000 examples
    hint: str = ""  # what makes the files, said where they are missing

    def __post_init__(self) -> None:
        given = [name for name in ("train", "folder", "hub") if getattr(self, name)]
        if len(given) != 1:
            found = " and ".join(f"data.options.{name}" for name in given) or "none of them"
            raise ConfigError(
                f"give one of data.options.train, data.options.folder and data.options.hub, "
                f"got {found}"
            )
        if given != ["train"] and (self.valid or self.test):
            raise ConfigError(
                f"data.options.valid and test go with data.options.train, not {given[0]}"
            )
        if not 0 < self.holdout < 1:
            raise ConfigError(f"data.options.holdout must be in (0, 1), got {self.holdout}")

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split, read and checked when it is first asked for."""
        if name not in SPLITS:
            raise DataError(str(unknown_name("split", name, SPLITS)))
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return no order: none is known to be best."""
        return ()

    @property
    def split_names(self) -> tuple[str, ...]:
        """The splits that there are; valid may be held out from train."""
        return ("train", "valid", "test") if self.has("test") else ("train", "valid")

    def has(self, name: str) -> bool:
        """Return whether there are files for a split, read or not."""
        return bool(self._found(name))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the splits came about."""
        notes = [self._said_when_prepared]
        if not self.has("valid"):
            num_valid, num_all = len(self.split("valid")), len(self._whole_train)
            count = f"{num_valid} of {num_all} training examples"
            notes.append(f"valid: {count}, as no valid split is given")
        return tuple(note for note in notes if note)

    @property
    def _said_when_prepared(self) -> str:
        record = Path(self.folder) / RECORD
        if not self.folder or not record.is_file():
            return ""
        try:
            return str(json.loads(record.read_text(encoding="utf-8")).get("note", ""))
        except (ValueError, AttributeError) as error:
            raise DataError(f"{record} is damaged ({error}): prepare the data again") from error

    @cached_property
    def _opened(self) -> dict[str, Sequence[Example]]:
        return {}

    def _open(self, name: str) -> Sequence[Example]:
        if name == "test":
            return self._read(name)
        if self.has("valid"):
            return self._whole_train if name == "train" else self._read(name)
        rows = held_out(len(self._whole_train), self.holdout)
        if name == "train":
            rows = np.setdiff1d(np.arange(len(self._whole_train)), rows)
        if not len(rows):
            raise DataError("a single training example leaves none to hold out: give a valid split")
        return _picked(self._whole_train, rows)

    @cached_property
    def _whole_train(self) -> Records:
        return self._read("train")

    @cached_property
    def _hub_splits(self) -> Mapping[str, Any]:
        return load_hub(self.hub, self.hub_config)

    def _found(self, name: str) -> list[str]:
        """Return the paths, or the split of the hub, that the name can stand for."""
        if self.train:
            return [path] if (path := getattr(self, name)) else []
        if self.hub:
            return [known for known in SPLITS[name] if known in self._hub_splits]
        stems = [Path(self.folder) / known for known in SPLITS[name]]
        files = [Path(f"{stem}{ending}{gz}") for stem in stems for ending in _READERS for gz in _GZ]
        pairs = [stem for stem in stems if _pair(stem, self.source_suffix, self.target_suffix)]
        return [str(path) for path in (*(file for file in files if file.is_file()), *pairs)]

    def _read(self, name: str) -> Records:
        found = self._found(name)
        if self.hint and not self._is_there(found):
            raise DataError(f"there is no {name} split in {self.folder or found[0]}: {self.hint}")
        if not found:
            where = self.folder or self.hub
            place = f"in {where}" if where else f"given as data.options.{name}"
            raise DataError(f"there is no {name} split {place}: looked for {self._sought(name)}")
        if len(found) > 1:
            raise DataError(
                f"several files could be the {name} split: {', '.join(found)}: keep one"
            )
        fields = Fields(self.source_key, self.target_key, self.columns)
        if self.hub:
            return read_hub(f"{self.hub} ({found[0]})", self._hub_splits[found[0]], fields)
        return read_file(Path(found[0]), fields, self.source_suffix, self.target_suffix)

    def _is_there(self, found: list[str]) -> bool:
        """Return whether what was found, or named, can be read."""
        if not self.train:
            return bool(found)
        return all(
            Path(path).is_file() or _pair(Path(path), self.source_suffix, self.target_suffix)
            for path in found
        )

    def _sought(self, name: str) -> str:
        if self.train:
            return "a path"
        stems = " or ".join(SPLITS[name])
        pair = f".{self.source_suffix} with .{self.target_suffix}"
        return stems if self.hub else f"{stems} with {', '.join(_READERS)} or {pair} behind it"


def read_file(path: Path, fields: Fields, source_suffix: str, target_suffix: str) -> Records:
    """Return the pairs of a file, or of the parallel files that start with its name."""
    pair = _pair(path, source_suffix, target_suffix)
    if pair:
        return read_parallel(*pair)
    ending = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if ending in _READERS:
        return _READERS[ending](path, fields)
    raise DataError(
        f"{path} is neither a file that ends in {', '.join(_READERS)} (or these and .gz) nor the "
        f"start of {path.name}.{source_suffix} and {path.name}.{target_suffix}: rename the file, "
        f"or set data.options.source_suffix and target_suffix"
    )


def _pair(stem: Path, source_suffix: str, target_suffix: str) -> tuple[Path, Path] | None:
    """Return the parallel files of a stem, if both are there."""
    paths = []
    for suffix in (source_suffix, target_suffix):
        candidates = [Path(f"{stem}.{suffix}{gz}") for gz in _GZ]
        paths += [path for path in candidates if path.is_file()][:1]
    return (paths[0], paths[1]) if len(paths) == 2 else None


def held_out(size: int, share: float) -> Int64[np.ndarray, " held"]:
    """Return the indices of the examples that are held out: a share, but 1 to 1000 of them.

    They are spread over the whole by multiplicative hashing, the same ones for the same size.

    >>> held_out(300, 0.01).tolist()
    [0, 89, 233]
    """
    number = min(max(1, round(share * size)), 1000)
    keys = np.arange(size, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)
    return np.sort(np.argsort(keys, kind="stable")[:number])


def _picked(records: Records, rows: Int64[np.ndarray, " rows"]) -> Records:
    return Records(records.name, len(rows), lambda index: records.parse(int(rows[index])))
