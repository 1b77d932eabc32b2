"""Two real processes under torchrun, with one thread each: `voi` or a script."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from small_runs import settings_of


def command(*arguments: object) -> list[str]:
    """Return the command that starts a script, or `-m voi`, in two processes."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    return [sys.executable, *torchrun, *map(str, arguments)]


def environment() -> dict[str, str]:
    """Return variables for processes with one thread that find the modules of the tests."""
    tests = str(Path(__file__).parent)
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": tests}


def call_processes(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script, or `-m voi`, to its end."""
    line = command(*arguments)
    return subprocess.run(line, capture_output=True, text=True, env=environment(), timeout=300)


def train_each(runs: Mapping[Path, Sequence[str]]) -> subprocess.CompletedProcess[str]:
    """Train tiny chains in these folders with their settings, one after the other."""
    arguments = [_training(folder, settings) for folder, settings in runs.items()]
    return call_processes(Path(__file__).with_name("each.py"), json.dumps(arguments))


def _training(folder: Path, settings: Sequence[str]) -> list[str]:
    return ["train", "chain", *settings_of(*settings), "--out", str(folder)]


def logged(folder: Path, kind: str, name: str) -> list[float]:
    """Return a value of all lines of a run's log that are of a kind."""
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line[name] for line in lines if line["kind"] == kind]


def losses(folder: Path) -> list[float]:
    return logged(folder, "train", "loss")
