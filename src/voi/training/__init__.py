"""The training loop, its updates, schedules, optimisers and log."""

from voi.training.loop import Progress, Trainer, TrainingError, Watcher
from voi.training.update import Scored

__all__ = ["Progress", "Scored", "Trainer", "TrainingError", "Watcher"]
