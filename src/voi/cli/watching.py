"""Progress of long work: a bar in a terminal; in a log file, a line now and then."""

import time
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from voi.cli.console import plain_console
from voi.cli.drawing import say, visible
from voi.training import Progress as TrainingProgress

LINE_EVERY = 15  # seconds between the lines of a log file
_BAR, _WIDE = 24, 120  # columns of the bar, and of a terminal that has room for it
_TIME_LEFT = "-:--:--"


class TrainingBar:
    """A progress bar with loss, reward, entropy, distance to the best order, speed, time left.

    In a file there is a line now and then in its place, and one for the last step.
    """

    def __init__(self, console: Console):
        self.console = console
        self.bar = Progress(
            TextColumn("{task.fields[phase]}"),
            *([BarColumn(bar_width=_BAR)] if self._has_bar else []),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[values]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self.line = self.bar.add_task("", total=None, phase="starting", values="")
        self._said = time.monotonic()
        self._unsaid = ""

    def __enter__(self) -> "TrainingBar":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.bar.stop()
        self._say_line()

    def trained(self, progress: TrainingProgress, total: int, values: Mapping[str, Any]) -> None:
        parts = [f"loss {values['loss']:.3f}", f"reward {values['reward']:.2f}"]
        parts.append(f"entropy {values['entropy']:.2f}")
        if "distance" in values:
            parts.append(f"distance {values['distance']:.3f}")
        parts.append(f"{values['tokens_per_second']:,.0f} tok/s")
        phase = f"phase {progress.phase + 1}"
        others = f"{phase} {progress.step}/{total} {_TIME_LEFT} "
        shown = self._fitting(parts, len(others) + (_BAR + 1) * self._has_bar)
        self.bar.update(self.line, completed=progress.step, total=total, phase=phase, values=shown)
        if not self.console.is_terminal:
            self._unsaid = "  ".join([f"step {progress.step:,}/{total:,}", *parts])
            if time.monotonic() - self._said > LINE_EVERY:
                self._say_line()

    def _say_line(self) -> None:
        if self._unsaid:
            self.console.print(self._unsaid)
        self._said, self._unsaid = time.monotonic(), ""

    @property
    def _has_bar(self) -> bool:
        """Is there room for more than figures?"""
        return self.console.width >= _WIDE

    def _fitting(self, parts: list[str], used: int) -> str:
        """Return as many of the values as the terminal has room for, whole."""
        lengths = accumulate(len(part) + 2 for part in parts)
        room = self.console.width - used + 2
        return "  ".join(part for part, end in zip(parts, lengths, strict=True) if end <= room)

    def validated(self, progress: TrainingProgress, values: Mapping[str, Any]) -> None:
        self._say_line()
        numbers = {
            name: x for name, x in values.items() if isinstance(x, float) and name != "score"
        }
        labels = {"entropy": "entropy per token"}  # that of a training step is per target
        text = "  ".join(f"{labels.get(name, name)} {x:.3f}" for name, x in numbers.items())
        self.console.print(f"step {progress.step:,}: validation {text}")
        for sample in values.get("samples", ())[:1]:
            given = "" if sample["source"] is None else f"{sample['source']} -> "
            say(f"  {given}{sample['written']}   (reference {sample['reference']})", self.console)

    def said(self, message: str) -> None:
        say(message, self.console)


class EvaluationBar:
    """A bar on standard error with what is being done; in a log file, a line now and then."""

    def __init__(self, name: str):
        self.name = name
        self.console = plain_console(stderr=True)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.completed}"),
        )
        is_quiet = not self.console.is_terminal
        self.bar = Progress(
            *columns, TextColumn("of {task.total}"), TimeRemainingColumn(),
            console=self.console, disable=is_quiet, transient=True,
        )  # fmt: skip
        self.line = self.bar.add_task(visible(name), total=None)
        self._said = time.monotonic()

    def __enter__(self) -> "EvaluationBar":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def told(self, what: str, done: int, total: int | None) -> None:
        """Show how far the work has come."""
        text = f"{self.name}: {what}"
        self.bar.update(self.line, description=visible(text), completed=done, total=total)
        if not self.console.is_terminal and time.monotonic() - self._said > LINE_EVERY:
            self._said = time.monotonic()
            share = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            say(f"{text} {share}", self.console)
