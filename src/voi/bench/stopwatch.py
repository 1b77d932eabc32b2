"""CPU time of a training run, kept across interruptions: when did it become how good?"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from voi.atomic import write_text
from voi.networks import Networks
from voi.training import Progress, Trainer


class Stopwatch:
    """A watcher that stores accuracy and CPU seconds at every validation.

    Validation itself is not counted. After an interruption the points up to the checkpoint stay.
    """

    def __init__(self, path: Path):
        self.path, self._stop = path, path.with_name("stopped.json")
        self.points: list[dict[str, Any]] = []
        self._spent = self._paused = 0.0
        self._start = time.process_time()
        self._progress = Progress()

    @property
    def seconds(self) -> float:
        """CPU seconds of training so far."""
        return self._spent + time.process_time() - self._start - self._paused

    def attach(self, trainer: Trainer) -> None:
        """Start to count where a trainer stands."""
        if self.path.is_file():
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            self.points = [point for point in stored if point["step"] <= trainer.progress.step]
        self._spent = self.points[-1]["cpu_seconds"] if self.points else 0.0
        if self._stop.is_file():  # by a signal, between two validations
            stop = json.loads(self._stop.read_text(encoding="utf-8"))
            if stop["step"] == trainer.progress.step:
                self._spent = stop["cpu_seconds"]
        self._progress = trainer.progress
        self._start, self._paused = time.process_time(), 0.0
        validate = trainer.validate

        def timed(networks: Networks) -> Mapping[str, float]:
            start = time.process_time()
            values = validate(networks)
            self._paused += time.process_time() - start
            return values

        trainer.validate = timed

    def trained(self, progress: Progress, total: int, values: Mapping[str, Any]) -> None:
        """Nothing is done between validations."""

    def validated(self, progress: Progress, values: Mapping[str, Any]) -> None:
        known = {name: values[name] for name in ("accuracy", "elbo", "distance") if name in values}
        self.points.append({"step": progress.step, "cpu_seconds": self.seconds, **known})
        write_text(self.path, json.dumps(self.points) + "\n")

    def said(self, message: str) -> None:
        """Store what was spent where a signal ends training; nothing is printed."""
        place = {"step": self._progress.step, "cpu_seconds": self.seconds}
        write_text(self._stop, json.dumps(place) + "\n")

    def reached(self, accuracy: float, after: int = 0) -> dict[str, Any]:
        """Return the first point after step `after` that reaches the accuracy.

        Its values are None if none does.
        """
        nothing: dict[str, Any] = {"step": None, "cpu_seconds": None}
        later = (p for p in self.points if p["step"] > after)
        return next((p for p in later if p["accuracy"] >= accuracy), nothing)
