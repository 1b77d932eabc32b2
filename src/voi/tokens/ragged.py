"""Rows of different lengths in one flat array, in memory or mapped from files."""

import os
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Literal

import numpy as np
from jaxtyping import Int64, Shaped

_TYPES = {"int32": "i", "int64": "q", "float32": "f"}
_BUFFER = 1 << 20  # values held back before they are written to a file


@dataclass(frozen=True)
class Ragged:
    """Row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Shaped[np.ndarray, "total ..."]
    offsets: Int64[np.ndarray, " bounds"]  # one more than rows

    @classmethod
    def of(
        cls, rows: Iterable[Iterable[int]], dtype: Literal["int32", "int64"] = "int32"
    ) -> "Ragged":
        """Return the rows of an iterable, held in memory.

        >>> rows = Ragged.of([[5, 6], [], [7]])
        >>> len(rows), rows[0].tolist(), rows.lengths.tolist()
        (3, [5, 6], [2, 0, 1])
        """
        with RaggedWriter(dtype) as writer:
            for row in rows:
                writer.append(row)
            made = writer.finish()
        return cls(made.values, made.offsets)

    @classmethod
    def joined(cls, rows: Sequence[np.ndarray]) -> "Ragged":
        """Return rows that are arrays already; there must be at least one."""
        offsets = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        return cls(np.concatenate(rows), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Shaped[np.ndarray, "length ..."]:
        """Return one row, without copying it."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Int64[np.ndarray, " rows"]:
        return np.diff(self.offsets)


class ArrayWriter:
    """A flat array that grows: in memory, or in a file that appears only when it is finished."""

    def __init__(self, dtype: str, path: Path | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self._pending = array(_TYPES[dtype])
        self._path = path
        self._file: IO[bytes] | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.NamedTemporaryFile(  # noqa: SIM115 (closed by `close`)
                dir=path.parent, prefix=path.name + ".", delete=False
            )

    def extend(self, values: Iterable[int] | np.ndarray) -> int:
        """Append values and return their number."""
        before = len(self._pending)
        if isinstance(values, np.ndarray):
            self._pending.frombytes(np.ascontiguousarray(values, self.dtype).tobytes())
        else:
            self._pending.extend(values)
        num_values = len(self._pending) - before
        if self._file is not None and len(self._pending) >= _BUFFER:
            self._write()
        return num_values

    def _write(self) -> None:
        assert self._file is not None
        self._pending.tofile(self._file)
        self._pending = array(self._pending.typecode)

    def finish(self) -> np.ndarray:
        """Return everything that was appended; a file gets its name now."""
        if self._file is None or self._path is None:
            return np.frombuffer(self._pending, self.dtype)
        self._write()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._file.name, self._path)
        if not self._path.stat().st_size:
            return np.empty(0, self.dtype)
        return np.memmap(self._path, self.dtype, mode="r")

    def close(self) -> None:
        """Drop what was not finished."""
        if self._file is not None:
            self._file.close()
            Path(self._file.name).unlink(missing_ok=True)


class RaggedWriter:
    """Builds a Ragged row by row, in memory or into two files of a folder.

    Used in a `with` statement: files that are not finished at its end are removed.
    """

    def __init__(
        self, dtype: str, folder: Path | None = None, name: str = "rows", width: int = 0
    ) -> None:
        self._width = width  # columns of `values`; 0: it has one dimension
        self._values = ArrayWriter(dtype, folder and folder / f"{name}.{dtype}")
        self._offsets = ArrayWriter("int64", folder and folder / f"{name}.offsets")
        self._offsets.extend([0])
        self._total = 0

    def append(self, row: Iterable[int] | np.ndarray) -> None:
        num_values = self._values.extend(row)
        self._total += num_values // (self._width or 1)
        self._offsets.extend([self._total])

    def finish(self) -> Ragged:
        values = self._values.finish()
        shaped = values.reshape(-1, self._width) if self._width else values
        return Ragged(shaped, self._offsets.finish())

    def __enter__(self) -> "RaggedWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._values.close()
        self._offsets.close()
