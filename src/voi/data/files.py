"""Your own data: files, folders of files, or a data set of the hub, as a task."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from voi.data.example import Example, Picked
from voi.data.holdout import held_out, num_held_out
from voi.data.hub import load_hub, read_hub
from voi.data.keys import keys_of, pair_key, source_key
from voi.data.readers import BadLines, Fields, Records, read_jsonl, read_parallel, read_tsv
from voi.data.splits import SPLITS, check_split
from voi.data.unread import no_csv, unread, unread_error
from voi.errors import ConfigError, DataError
from voi.lines import ending_of

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

    Without a valid split, a share of the training examples is held out for it, all pairs of a
    source together; `notes` says so, and which lines were left out.
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
    bad_lines: BadLines = "error"  # "skip": lines that are no pair are left out and reported
    holdout: float = 0.05  # share of train that becomes valid, if need be: 20 to 1000 examples
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
        if not self.target_key:
            raise ConfigError(
                "data.options.target_key must name the column or key of the targets, got none: "
                "for targets alone it is data.options.source_key that is empty"
            )
        if not 0 < self.holdout < 1:
            raise ConfigError(f"data.options.holdout must be in (0, 1), got {self.holdout}")

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return no order: none is known to be best."""
        return ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields that hold paths; `hub` does if it names a saved data set, else it is an id."""
        is_saved = bool(self.hub) and Path(self.hub).is_dir()
        return ("train", "valid", "test", "folder", *(["hub"] if is_saved else []))

    @property
    def split_names(self) -> tuple[str, ...]:
        """The splits that there are; valid may be held out from train."""
        return tuple(SPLITS) if self._given("test") else ("train", "valid")

    def has(self, name: str) -> bool:
        """Return whether there are files for a split, read or not."""
        return bool(self._found(name))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the splits came about."""
        notes = [self._said_when_prepared]
        if not self._given("valid"):
            notes.append(self._said_of_holdout)
        for name in self.split_names:
            if self._given(name):
                notes += self._records(name).rows.notes
        return tuple(note for note in notes if note)

    @property
    def header_hint(self) -> str:
        """What to set if the first line of train, read as a pair, names the columns."""
        return self._records("train").rows.header_hint

    @property
    def _said_of_holdout(self) -> str:
        rows, by_source = self._held_rows
        together = "source" if by_source else "pair"
        are = "is" if len(rows) == 1 else "are"
        return (
            f"valid: {len(rows):,} of {len(self._records('train')):,} training examples {are} held "
            f"out, as no valid split is given; no {together} is in both"
        )

    @property
    def _said_when_prepared(self) -> str:
        record = Path(self.folder) / RECORD
        if not self.folder or not record.is_file():
            return ""
        try:
            return str(json.loads(record.read_text(encoding="utf-8")).get("note", ""))
        except (ValueError, AttributeError) as error:
            raise DataError(f"{record} is damaged ({error}): prepare the data again") from error

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split, read and checked when it is first asked for."""
        check_split(name)
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    @cached_property
    def _opened(self) -> dict[str, Sequence[Example]]:
        return {}

    def _open(self, name: str) -> Sequence[Example]:
        if name == "test" or self._given("valid"):
            return self._records(name)
        whole, (rows, _) = self._records("train"), self._held_rows
        if name == "train":
            rows = np.setdiff1d(np.arange(len(whole)), rows, assume_unique=True)
        return Picked(whole, rows)

    @cached_property
    def _held_rows(self) -> tuple[Int64[np.ndarray, " held"], bool]:
        """What is held out from train, and whether all pairs of a source stay together.

        They do, unless the same few sources come so often that too little would be held out.
        """
        whole = self._records("train")
        for key in (source_key, pair_key):
            rows = held_out(keys_of(whole, key), self.holdout)
            if num_held_out(len(whole), self.holdout) / 2 <= len(rows) < len(whole):
                return rows, key is source_key
        raise DataError(
            f"{whole.rows.name} has too few different pairs to hold some out for validation: give "
            f"a valid split with --valid, or as data.options.valid"
        )

    def _records(self, name: str) -> Records:
        if name not in self._read_before:
            self._read_before[name] = self._read(name)
        return self._read_before[name]

    @cached_property
    def _read_before(self) -> dict[str, Records]:
        return {}

    @cached_property
    def _hub_splits(self) -> Mapping[str, Any]:
        return load_hub(self.hub, self.hub_config)

    def _found(self, name: str) -> list[str]:
        """Return the paths, or the split of the hub, that the name can stand for."""
        if self.train:
            return [path] if (path := getattr(self, name)) else []
        if self.hub:
            return [known for known in SPLITS[name] if known in self._hub_splits]
        names = {f"{known}{end}{gz}" for known in SPLITS[name] for end in _READERS for gz in _GZ}
        there = sorted(Path(self.folder).iterdir()) if Path(self.folder).is_dir() else []
        files = [path for path in there if path.name.lower() in names and path.is_file()]
        stems = sorted({path.with_name(path.name.partition(".")[0]) for path in there})
        stems = [stem for stem in stems if stem.name.lower() in SPLITS[name]]
        pairs = [stem for stem in stems if _pair(stem, self.source_suffix, self.target_suffix)]
        return [str(path) for path in (*files, *pairs)]

    def _given(self, name: str) -> list[str]:
        """Return what was found for a split; files that are not read are no missing split."""
        found = self._found(name)
        if self.folder and not found and Path(self.folder).is_dir():
            others = unread(sorted(Path(self.folder).iterdir()), SPLITS[name])
            if others:
                suffixes = self.source_suffix, self.target_suffix
                raise unread_error(name, others, tuple(_READERS), suffixes)
        return found

    def _read(self, name: str) -> Records:
        found = self._given(name)
        if self.hint and not self._is_there(found):
            raise DataError(f"there is no {name} split in {self.folder or found[0]}: {self.hint}")
        if not found:
            raise DataError(f"there is no {name} split{self._sought(name)}")
        if len(found) > 1:
            raise DataError(
                f"several files could be the {name} split: {', '.join(found)}: keep one"
            )
        fields = Fields(self.source_key, self.target_key, self.columns)
        if self.hub:
            rows = self._hub_splits[found[0]]
            return read_hub(f"{self.hub} ({found[0]})", rows, fields, self.bad_lines)
        return self._read_file(Path(found[0]), fields)

    def _read_file(self, path: Path, fields: Fields) -> Records:
        """Return the pairs of a file, or of the parallel files that start with its name."""
        suffixes = self.source_suffix, self.target_suffix
        pair = _pair(path, *suffixes)
        if pair:
            return read_parallel(*pair, self.bad_lines)
        ending = ending_of(path)
        if ending in _READERS:
            return _READERS[ending](path, fields, self.bad_lines)
        if ending == ".csv" and path.is_file():
            raise no_csv(path)
        lacking = " and ".join(f"{path.name}.{suffix}" for suffix in suffixes)
        if not path.exists():
            raise DataError(
                f"no file or folder {path}: give one that exists, or the start of {lacking}"
            )
        raise DataError(
            f"{path} is neither a file that ends in {', '.join(_READERS)} (or these and .gz) nor "
            f"the start of {lacking}: rename the file, or set data.options.source_suffix and "
            f"target_suffix"
        )

    def _is_there(self, found: list[str]) -> bool:
        """Return whether what was found, or named, can be read."""
        if not self.train:
            return bool(found)
        return all(
            Path(path).is_file() or _pair(Path(path), self.source_suffix, self.target_suffix)
            for path in found
        )

    def _sought(self, name: str) -> str:
        """Return where a split is missing, and what to do."""
        if self.train:
            return f": give it as data.options.{name}, or choose another split"
        where, stems = self.folder or self.hub, " or ".join(SPLITS[name])
        pair = f".{self.source_suffix} with .{self.target_suffix}"
        ending = "" if self.hub else f" with {', '.join(_READERS)} or {pair} behind it"
        return f" in {where}: looked for {stems}{ending}"


def _pair(stem: Path, source_suffix: str, target_suffix: str) -> tuple[Path, Path] | None:
    """Return the parallel files of a stem, if both are there."""
    paths = []
    for suffix in (source_suffix, target_suffix):
        candidates = [Path(f"{stem}.{suffix}{gz}") for gz in (*_GZ, ".GZ")]
        paths += [path for path in candidates if path.is_file()][:1]
    return (paths[0], paths[1]) if len(paths) == 2 else None
