"""Tiny experiments, their trainers, and the command line called within the test's process."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from small_models import roughen
from voi import checkpoint, config, experiments, runs
from voi.prepared import prepare
from voi.training import Progress, Trainer

TINY = [
    "data.options={positions=3, symbols=3, train=32, valid=8, test=8}",
    *(f"{part}.{name}={value}" for part in ("decoder", "order") for name, value in (
        ("width", 16), ("hidden", 32), ("heads", 2), ("source_layers", 1), ("layers", 1))),
    "training.steps=12",
    "training.batch_size=8",
    "training.log_every=2",
    "training.validate_every=6",
    "training.checkpoint_every=4",
]  # fmt: skip


class Quiet:
    """A watcher that says nothing, but may do something after a logged step."""

    def __init__(self, act: Callable[[Progress], None] = lambda progress: None):
        self.act = act
        self.logged: list[Mapping[str, Any]] = []
        self.messages: list[str] = []

    def trained(self, progress: Progress, total: int, values: Mapping[str, Any]) -> None:
        self.logged.append({"step": progress.step, **values})
        self.act(progress)

    def validated(self, progress: Progress, values: Mapping[str, Any]) -> None:
        self.logged.append({"step": progress.step, "validated": 1.0, **values})

    def said(self, message: str) -> None:
        self.messages.append(message)


def tiny_experiment(*settings: str, task: str = "chain") -> config.Experiment:
    return config.experiment(experiments.override(experiments.load_table(task), [*TINY, *settings]))


def tiny_trainer(run: Path, *settings: str, watcher: Quiet | None = None) -> Trainer:
    prepared = prepare(tiny_experiment(*settings))
    return runs.start(prepared, run, watcher or Quiet())


def saved_model(folder: Path, *settings: str, task: str = "chain") -> Path:
    """Save the model of a tiny run, all its weights random; return the folder."""
    prepared = prepare(tiny_experiment(*settings, task=task))
    networks = roughen(prepared.networks(), scale=0.5)
    checkpoint.save(folder, prepared.experiment, prepared.codec, networks)
    return folder


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run `voi ARGUMENTS` and return its exit code."""
    from voi.cli import main

    monkeypatch.setattr(sys, "argv", ["voi", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0


def settings_of(*settings: str) -> list[str]:
    """Return the tiny settings as arguments of `voi train`."""
    return [part for setting in (*TINY, *settings) for part in ("--set", setting)]
