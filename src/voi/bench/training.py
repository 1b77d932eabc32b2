"""The training of one cell: started, or resumed where it was stopped; and what its log says."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from voi import runs
from voi.prepared import Prepared
from voi.training import Progress, Trainer

_OF_A_POINT = ("step", "cpu_seconds", "accuracy", "elbo", "distance")


@dataclass(frozen=True)
class Training:
    """A training that has come to its end."""

    trainer: Trainer
    curve: list[dict[str, Any]]  # every validation: its step, CPU seconds until then, values

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of all updates."""
        return self.trainer.progress.cpu_seconds

    def reached(self, accuracy: float, after: int = 0) -> dict[str, Any]:
        """Return the first point after step `after` that reaches the accuracy.

        Its values are None if none does.
        """
        nothing: dict[str, Any] = {"step": None, "cpu_seconds": None}
        later = (point for point in self.curve if point["step"] > after)
        return next((point for point in later if point["accuracy"] >= accuracy), nothing)


class Silence:
    """A watcher that shows nothing."""

    def trained(self, progress: Progress, total: int, values: Mapping[str, Any]) -> None:
        """Say nothing."""

    def validated(self, progress: Progress, values: Mapping[str, Any]) -> None:
        """Say nothing."""

    def said(self, message: str) -> None:
        """Say nothing."""


def train_cell(prepared: Prepared, run: Path, orders: nn.Module | None = None) -> Training:
    """Return the finished training of a cell; `orders` replace those of the experiment."""
    trainer = _trainer(prepared, run)
    if orders is not None:
        trainer.networks.orders = orders
    if not trainer.run():
        raise KeyboardInterrupt
    return Training(trainer, _curve(run))


def _trainer(prepared: Prepared, run: Path) -> Trainer:
    """Return the trainer of a run: a new one, or one that resumes at the last checkpoint."""
    if (run / "last.json").is_file():
        return runs.resume(run, Silence())
    if run.exists():  # stopped before the first checkpoint
        shutil.rmtree(run)
    return runs.start(prepared, run, Silence())


def _curve(run: Path) -> list[dict[str, Any]]:
    """Return the validations that the log of a run has."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1])
    return [
        {name: line[name] for name in _OF_A_POINT if name in line}
        for line in lines
        if line["kind"] == "valid"
    ]
