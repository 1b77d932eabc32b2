"""The log of a run: metrics as JSON lines, and in TensorBoard if it is installed; speed as CSV."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voi.atomic import write_text
from voi.checkpoint import way_on
from voi.errors import CheckpointError, unwritten

SPEEDS = ("seconds", "milliseconds_per_step", "tokens_per_second")  # columns after the step


class MetricsLog:
    """Appends one JSON object per line to metrics.jsonl, and how fast training is to speed.csv."""

    def __init__(self, run: Path, from_step: int = 0):
        self._metrics = StepLines(run / "metrics.jsonl", _json_step, 'a JSON object with "step"')
        header = ",".join(("step", *SPEEDS))
        self._speed = StepLines(run / "speed.csv", _csv_step, f"numbers {header}", header)
        for lines in (self._metrics, self._speed):
            lines.forget_after(from_step)
        self._board = _tensorboard(run / "tensorboard", from_step)

    def write(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Append a line; `kind` is "train" or "valid"."""
        self._metrics.append(json.dumps({"kind": kind, "step": step, **values}, ensure_ascii=False))
        if kind == "train":
            self._speed.append(",".join([str(step), *(f"{values[name]:.3f}" for name in SPEEDS)]))
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


@dataclass(frozen=True)
class StepLines:
    """A file to which every so many steps a line is added; a resumed run goes on in it."""

    path: Path
    step_of: Callable[[bytes], int]  # of a line; ValueError, TypeError or KeyError: it has none
    expected: str  # what a line is, for errors
    header: str = ""  # the first line, where there is one

    def append(self, line: str) -> None:
        """Add a line, below the header."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                is_headed = file.tell() or not self.header
                file.write(f"{line}\n" if is_headed else f"{self.header}\n{line}\n")
        except OSError as error:
            raise CheckpointError(
                f"cannot write {self.path}: {unwritten(error)}, then {way_on(self.path.parent)}"
            ) from error

    def forget_after(self, step: int) -> None:
        """Drop lines written after the checkpoint that training goes on from."""
        if self.path.is_file():
            lines = _whole_lines(self.path)
            numbered = enumerate(lines, start=1)
            kept = [line for number, line in numbered if self._step(number, line) <= step]
            write_text(self.path, b"".join(kept).decode())

    def _step(self, number: int, line: bytes) -> int:
        """Return the step that a line belongs to; the header was there before the first."""
        if number == 1 and self.header and line == f"{self.header}\n".encode():
            return 0
        try:
            return self.step_of(line)
        except (ValueError, TypeError, KeyError) as error:
            shown = line.decode(errors="replace").strip()[:40]
            raise CheckpointError(
                f"{self.path}, line {number}: expected {self.expected}, got {shown!r}; remove the "
                f"line or restore it"
            ) from error


def _whole_lines(path: Path) -> list[bytes]:
    """Return the lines that were written completely; a kill may have cut the last one."""
    *whole, _ = path.read_bytes().split(b"\n")  # other line ends may stand inside a sample
    return [line + b"\n" for line in whole]


def _json_step(line: bytes) -> int:
    return int(json.loads(line)["step"])


def _csv_step(line: bytes) -> int:
    step, *speeds = line.split(b",")
    if len(list(map(float, speeds))) != len(SPEEDS):
        raise ValueError
    return int(step)


def _tensorboard(folder: Path, from_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return SummaryWriter(str(folder), purge_step=from_step + 1)
