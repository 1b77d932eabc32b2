"""What the benchmarks share: repetitions that take turns, peak memory, the machine, tables."""

import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from voi.bench import timing
from voi.bench.timing import Timed, interleaved, medians
from voi.evaluation.identity import commit

__all__ = [
    "Memory",
    "Silent",
    "interleaved",
    "machine",
    "medians",
    "memory_in_a_process",
    "memory_of",
    "print_table",
    "ratio",
]


class Silent:
    """A watcher that looks away."""

    def trained(self, *_: Any) -> None: ...

    def validated(self, *_: Any) -> None: ...

    def said(self, *_: Any) -> None: ...


class Memory(NamedTuple):
    """Of a process, in MiB: the most it held while a function ran, and how much that added."""

    peak: float
    added: float


def machine() -> str:
    """Return the line that stands above every table: machine, versions, load, commit."""
    return f"{timing.machine()}, commit {commit()}"


def ratio(seconds: Mapping[str, Sequence[float]], slow: str, fast: str) -> str:
    """Return how many times faster one is than the other: the median of the turns, and its range.

    >>> ratio({"a": [2.0, 3.0, 2.2], "b": [1.0, 1.0, 1.0]}, "a", "b")
    '2.20 (2.00 to 3.00)'
    """
    turns = [s / f for s, f in zip(seconds[slow], seconds[fast], strict=True)]
    return f"{statistics.median(turns):.2f} ({min(turns):.2f} to {max(turns):.2f})"


def memory_of(function: Timed) -> Memory:
    """Return the peak memory of this process while the function runs (Linux)."""
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    function()
    peak = _status("VmHWM")
    return Memory(peak, peak - before)


def memory_in_a_process(script: str, *arguments: str) -> Memory:
    """Return what `script`, run on its own, prints as its two memory values."""
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=True
    )
    return Memory(*map(float, done.stdout.split()[-2:]))


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table; the first column is text, the others are numbers."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return f"| {first[0]:<{first[1]}} | " + " | ".join(f"{c:>{w}}" for c, w in rest) + " |"

    rules = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    print(f"\n{title}\n", line(header), line(rules), *map(line, rows), sep="\n", flush=True)
