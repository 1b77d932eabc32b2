"""The metrics log of a run: JSON lines, and TensorBoard where it is installed."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from voi.atomic import write_text
from voi.checkpoint import way_on
from voi.errors import CheckpointError, unwritten


class MetricsLog:
    """Appends one JSON object per line to metrics.jsonl."""

    def __init__(self, run: Path, from_step: int = 0):
        self.path = run / "metrics.jsonl"
        self._forget_after(from_step)
        self._board = _tensorboard(run / "tensorboard", from_step)

    def _forget_after(self, step: int) -> None:
        """Drop lines written after the checkpoint that training goes on from."""
        if self.path.is_file():
            lines = _whole_lines(self.path)
            steps = (_step(line, f"{self.path}, line {i}") for i, line in enumerate(lines, start=1))
            kept = [line for line, at in zip(lines, steps, strict=True) if at <= step]
            write_text(self.path, b"".join(kept).decode())

    def write(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Append a line; `kind` is "train" or "valid"."""
        line = json.dumps({"kind": kind, "step": step, **values}, ensure_ascii=False)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise CheckpointError(
                f"cannot write {self.path}: {unwritten(error)}, then {way_on(self.path.parent)}"
            ) from error
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def _whole_lines(path: Path) -> list[bytes]:
    """Return the lines that were written completely; a kill may have cut the last one."""
    *whole, _ = path.read_bytes().split(b"\n")  # other line ends may stand inside a sample
    return [line + b"\n" for line in whole]


def _step(line: bytes, where: str) -> int:
    """Return the step that a line belongs to."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, TypeError, KeyError) as error:
        shown = line.decode(errors="replace").strip()[:40]
        raise CheckpointError(
            f'{where}: expected a JSON object with "step", got {shown!r}; remove the line or '
            f"restore it"
        ) from error


def _tensorboard(folder: Path, from_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return SummaryWriter(str(folder), purge_step=from_step + 1)
