"""The training of one cell: started, or resumed where it was stopped, and timed."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from voi import runs
from voi.bench.stopwatch import Stopwatch
from voi.prepared import Prepared
from voi.training import Trainer


@dataclass(frozen=True)
class Training:
    """A training that has come to its end."""

    trainer: Trainer
    watch: Stopwatch
    cpu_seconds: float  # without validation


def train_cell(prepared: Prepared, run: Path, orders: nn.Module | None = None) -> Training:
    """Return the finished training of a cell; `orders` replace those of the experiment."""
    watch = Stopwatch(run / "curve.json")
    trainer = _trainer(prepared, run, watch)
    if orders is not None:
        trainer.networks.orders = orders
    watch.attach(trainer)
    if not trainer.run():
        raise KeyboardInterrupt
    return Training(trainer, watch, watch.seconds)


def _trainer(prepared: Prepared, run: Path, watch: Stopwatch) -> Trainer:
    """Return the trainer of a run: a new one, or one that resumes at the last checkpoint."""
    if (run / "last.json").is_file():
        return runs.resume(run, watch)
    if run.exists():  # stopped before the first checkpoint
        shutil.rmtree(run)
    return runs.start(prepared, run, watch)
