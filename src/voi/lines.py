"""Lines of text files of any size, mapped from disk and decoded one at a time; JSON in them."""

import gzip
import hashlib
import json
import os
import shlex
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Int64, UInt8

from voi.atomic import atomic_file
from voi.errors import DataError
from voi.foreign import START, encoding_of, packing_of

_BLOCK = 1 << 24  # bytes looked at in one go
_BOM = b"\xef\xbb\xbf"
_WRONG = (AttributeError, DataError, KeyError, OverflowError, TypeError, ValueError)
_Read = TypeVar("_Read")


def to_utf8(path: str, encoding: str = "WINDOWS-1252") -> str:
    """Return how to convert a file, or standard input, to UTF-8; its encoding is a guess."""
    command = f"iconv -f {encoding} -t UTF-8"
    if not path:
        return f"convert it, as with {command} in front of voi"
    return converted_by(command, Path(path), f"utf8-{Path(path).name}")


def converted_by(command: str, old: Path, name: str) -> str:
    """Return how to convert a file into one of another name beside it.

    >>> converted_by("jq -c '.[]'", Path("a.json"), "a.jsonl")
    "convert it, as with jq -c '.[]' a.json > a.jsonl"
    """
    quoted, made = shlex.quote(str(old)), shlex.quote(str(old.with_name(name)))
    if is_packed(old):
        return f"convert it, as with gunzip -c {quoted} | {command} | gzip > {made}"
    return f"convert it, as with {command} {quoted} > {made}"


def not_text(start: bytes, path: str) -> str:
    """Return what a file is whose start is no UTF-8 text, and what to do; nothing if it may be."""
    if packing := packing_of(start):
        named = ", or end its name in .gz" if packing == "gzip" and path else ""
        return f"packed by {packing}: unpack it{named}"
    encoding = encoding_of(start)
    return f"{encoding}: {to_utf8(path, encoding)}" if encoding else ""


class NotUtf8Error(DataError):
    """A line in another encoding, of these lines."""

    def __init__(self, message: str, lines: "Lines"):
        super().__init__(message)
        self.lines = lines


class Lines:
    """The lines of a UTF-8 file; only where each one starts is held in memory.

    Lines end with a line feed, with or without a carriage return before it. A byte order mark at
    the start and blank lines at the end are left out. A file that ends in .gz is unpacked once,
    into the cache folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(
                f"no file {path}: give the path of an existing file; what a run was trained on "
                f"must stay where it was, or a link to it"
            )
        self.path = path
        self._bytes = _mapped(unpacked(path))
        if foreign := not_text(self._bytes[:START].tobytes(), str(path)):
            raise DataError(f"{path} is {foreign}")
        self._bounds = _line_bounds(self._bytes)
        if self._ends_in_returns():
            command = converted_by(r"awk 1 RS='\r'", path, f"lines-{path.name}")
            raise DataError(f"the lines of {path} end with a carriage return alone: {command}")
        self._num = self.num_all = len(self._bounds) - 1  # all: with blank lines at the end
        while self._num and self.is_blank(self._num - 1):
            self._num -= 1

    def __len__(self) -> int:
        return self._num

    def __getitem__(self, index: int) -> str:
        """Return one line, without its end."""
        raw = self._raw(index)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotUtf8Error(
                f"is not UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1})",
                self,
            ) from error

    def is_blank(self, index: int) -> bool:
        """Return whether a line is empty but for white space."""
        return not self._raw(index).strip()

    @property
    def is_utf8(self) -> bool:
        """Was the file written as UTF-8? It has a mark at its start, or such letters somewhere."""
        if self._bytes[:3].tobytes() == _BOM:
            return True
        return any(map(_is_beyond_ascii, map(self._raw, range(self._num))))

    def has_tabs(self) -> bool:
        """Return whether there is a tab in any line."""
        blocks = range(0, len(self._bytes), _BLOCK)
        return any((self._bytes[at : at + _BLOCK] == ord("\t")).any() for at in blocks)

    def _ends_in_returns(self) -> bool:
        """Do carriage returns alone stand where lines should end?"""
        is_one = len(self._bounds) == 2 and self._bytes[-1:].tobytes() != b"\n"
        return is_one and b"\r" in self._raw(0)

    def _raw(self, index: int) -> bytes:
        start, end = self._bounds[index], self._bounds[index + 1] - 1
        return self._bytes[start:end].tobytes().removesuffix(b"\r")


def _is_beyond_ascii(raw: bytes) -> bool:
    """Return whether a line is UTF-8 that no other encoding is likely to be taken for."""
    try:
        return not raw.isascii() and bool(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _mapped(path: Path) -> UInt8[np.ndarray, " size"]:
    if not path.stat().st_size:
        return np.empty(0, np.uint8)
    try:
        return np.memmap(path, np.uint8, mode="r")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error


def _line_bounds(content: UInt8[np.ndarray, " size"]) -> Int64[np.ndarray, " bounds"]:
    """Return where each line starts, and where one after the last would start."""
    starts = [np.array([len(_BOM) if content[:3].tobytes() == _BOM else 0])]
    for block in range(0, len(content), _BLOCK):
        ends = np.flatnonzero(content[block : block + _BLOCK] == ord("\n"))
        starts.append(ends + (block + 1))
    if len(content) and content[-1] != ord("\n"):
        starts.append(np.array([len(content) + 1]))
    return np.concatenate(starts).astype(np.int64, copy=False)


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text; ValueError says what is wrong with the text.

    >>> json_value('{"a": 1')
    Traceback (most recent call last):
    ValueError: not JSON (Expecting ',' delimiter, column 8)
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = "" if error.lineno == 1 else f"line {error.lineno}, "
        raise ValueError(f"not JSON ({error.msg}, {line}column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("not JSON that can be read (nested too deeply)") from error
    except ValueError as error:  # its encoding, or a number with thousands of digits
        reason = str(error).partition(";")[0]
        raise ValueError(f"not JSON that can be read ({reason})") from error


def json_file(path: Path, read: Callable[[Any], _Read]) -> _Read:
    """Return what `read` makes of a JSON file; ValueError says what is wrong with it."""
    try:
        return read(json_value(unpacked(path).read_bytes()))
    except (*_WRONG, OSError) as error:
        raise ValueError(_reason(error)) from error


def json_lines(path: Path, read: Callable[[Any], _Read]) -> Iterator[_Read]:
    """Yield what `read` makes of each line of JSON; ValueError names the line that is wrong.

    Blank lines are left out.
    """
    lines = Lines(path)
    for number in range(len(lines)):
        try:
            found = [read(json_value(lines[number]))] if not lines.is_blank(number) else []
        except _WRONG as error:
            raise ValueError(f"line {number + 1}: {_reason(error)}") from error
        yield from found


def _reason(error: Exception) -> str:
    return f"no key {error}" if isinstance(error, KeyError) else str(error)


def ending_of(path: Path) -> str:
    """Return what the name of a file ends in, packed or not.

    >>> ending_of(Path("a/B.JSONL.gz"))
    '.jsonl'
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix


def cache_folder() -> Path:
    """Return where unpacked files are kept: VOI_CACHE, or `voi` in the user's cache folder."""
    if "VOI_CACHE" in os.environ:
        return Path(os.environ["VOI_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "voi"


def is_packed(path: Path) -> bool:
    """Return whether a file is unpacked before it is read."""
    return path.suffix.lower() == ".gz"


def unpacked(path: Path) -> Path:
    """Return the unpacked form of a .gz file, or another as it is.

    One that has changed is unpacked again.
    """
    if not is_packed(path):
        return path
    state = path.stat()
    key = f"{path.resolve()}\n{state.st_size}\n{state.st_mtime_ns}"
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:16]}-{path.stem}"
    target = cache_folder() / "unpacked" / name
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as draft, draft.open("wb") as whole, gzip.open(path) as packed:
            shutil.copyfileobj(packed, whole, 1 << 20)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be unpacked ({error}): it is no gzip file, or a damaged one; make it "
            f"again, or take .gz off its name"
        ) from error
    except OSError as error:
        raise DataError(
            f"{path} cannot be unpacked into {target.parent} ({error.strerror or error}): name "
            f"another folder by VOI_CACHE"
        ) from error
    return target
