"""Runs: a prepared experiment becomes a trainer in a folder, new or where it was stopped."""

import itertools
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from voi import checkpoint
from voi.analysis import order_of_slots
from voi.atomic import clear_drafts, write_text
from voi.config import Experiment
from voi.errors import CheckpointError, DataError
from voi.networks import Networks
from voi.prepared import Prepared, prepare
from voi.search import ids_in_reading_order
from voi.tables import to_table
from voi.trained_on import DIGESTS, digest
from voi.training import Scored, Trainer, Watcher
from voi.validation import Validation, validate
from voi.world import World

SAMPLES = 3  # targets that validation shows


def start(
    prepared: Prepared,
    run: Path,
    watcher: Watcher,
    world: World = World(),
) -> Trainer:
    """Return the trainer of a new run, its folder made by the main process."""
    trainer = _trainer(prepared, prepared.networks(), run, watcher, world)
    if world.is_main:
        _make_folder(prepared, run)
    return trainer


def check_folder(run: Path) -> None:
    """Raise the error for a folder that a new run cannot use; nothing is made."""
    if run.is_dir() and any(run.iterdir()):
        is_run = (run / DIGESTS).is_file()
        if is_run and os.access(run, os.W_OK):
            with checkpoint.claimed(run):
                pass
        advice = "choose another folder with --out"
        if checkpoint.has_checkpoint(run):
            advice = f"continue it with `voi train --resume {shlex.quote(str(run))}`, or {advice}"
        elif is_run:
            advice = f"its run has no checkpoint to continue from; remove it, or {advice}"
        raise CheckpointError(f"{run} is not empty: {advice}")
    nearest = next(path for path in (run, *run.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise _unwritable(run, f"{nearest} is no folder that can be written")


def _make_folder(prepared: Prepared, run: Path) -> None:
    try:
        check_folder(run)
        run.mkdir(parents=True, exist_ok=True)
        table = json.dumps(to_table(prepared.experiment), ensure_ascii=False, indent=1)
        write_text(run / "experiment.json", table + "\n")
        write_text(run / DIGESTS, json.dumps(_digests(prepared)) + "\n")
        write_text(run / "README.md", _readme(run, prepared.experiment))
    except OSError as error:
        raise _unwritable(run, error.strerror or str(error)) from error


def _unwritable(run: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"cannot write the run folder {run}: {reason}; choose another with --out"
    )


def resume(
    run: Path,
    watcher: Watcher,
    world: World = World(),
) -> Trainer:
    """Return the trainer of a run, standing where its last checkpoint stands."""
    if world.is_main and (run / "checkpoints").is_dir():
        with checkpoint.claimed(run):
            clear_drafts(run / "checkpoints", "step-*")
    world.wait()
    folder = _last(run)
    loaded = checkpoint.load(folder)
    prepared = prepare(loaded.experiment, loaded.codec)
    if _stored_digests(run) != _digests(prepared):
        raise DataError(
            f"the data of {run} has changed since it was started: restore the files, or start a "
            f"new run"
        )
    trainer = _trainer(prepared, loaded.networks, run, watcher, world)
    trainer.restore(checkpoint.load_state(folder))
    return trainer


def _stored_digests(run: Path) -> Any:
    path = run / DIGESTS
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"cannot read {path} ({error}): restore it, or start a new run"
        ) from error


def device_of(run: Path) -> str:
    """Return the device a run trains on."""
    return checkpoint.load_experiment(_last(run)).training.device


def _last(run: Path) -> Path:
    """Return the last checkpoint, or the best one of a run that was killed before there was one."""
    folder = checkpoint.pointed(run, "last") or checkpoint.pointed(run, "best")
    if folder is not None:
        return folder
    found = "expected a run folder of `voi train`"
    if (run / "manifest.json").is_file():
        found += ", got a folder of weights alone: give the run that it comes from"
    elif (run / DIGESTS).is_file():
        found = f"it was stopped before its first checkpoint; {checkpoint.way_on(run)}"
    raise CheckpointError(f"nothing to resume in {run}: {found}")


def _trainer(
    prepared: Prepared, networks: Networks, run: Path, watcher: Watcher, world: World
) -> Trainer:
    judge, valid_judge = prepared.judge("train"), prepared.judge("valid")
    config = prepared.experiment

    def validated(networks: Networks) -> dict[str, Any]:
        found = validate(
            networks,
            valid_judge,
            num_orders=max(phase.num_orders for phase in config.training.phases),
            max_length=config.search.max_length,
        )
        return {**found.values, "samples": list(_samples(prepared, found))}

    def distance(scored: Scored) -> float | None:
        if not judge.knows_orders(scored.batch):
            return None
        values = list(judge.distances(scored.q.mode, scored.batch))
        return float(np.mean(values)) if values else None

    return Trainer(
        config,
        networks,
        prepared.train,
        prepared.codec,
        run,
        validate=validated,
        distance=distance,
        watcher=watcher,
        world=world,
    )


def _samples(prepared: Prepared, found: Validation) -> Iterator[dict[str, Any]]:
    """Yield what was written for the first validation examples, for the log."""
    examples = prepared.task.split("valid")
    for row in range(min(SAMPLES, len(found.written))):
        example, best = examples[int(prepared.valid.origin[row])], found.written[row]
        tokens = prepared.codec.decode(ids_in_reading_order(best), example.source)
        yield {
            "source": None if example.source is None else str(example.source),
            "reference": example.target,
            "written": prepared.codec.text(tokens),
            "order": order_of_slots(best.slots),
        }


def _digests(prepared: Prepared) -> dict[str, str]:
    """Return what identifies the data: a digest of the ids of each split."""
    return {name: digest(getattr(prepared, name)) for name in ("train", "valid")}


def _readme(run: Path, experiment: Experiment) -> str:
    return (
        f"A run of voi on {experiment.data.task} with order {experiment.order.kind}. "
        f'Reload it with `voi.load("{run}")`, go on with '
        f"`voi train --resume {shlex.quote(str(run))}`.\n"
    )


@contextmanager
def free_folder(name: str, parent: Path = Path("runs")) -> Iterator[Path]:
    """Yield a new folder: runs/name, or runs/name-2 and so on.

    It is made, so that no other process that starts at the same time takes the same. If it is still
    empty at the end, it goes.
    """
    path = _made_folder(name, parent)
    try:
        yield path
    finally:
        with suppress(OSError):  # it holds something
            path.rmdir()


def _made_folder(name: str, parent: Path) -> Path:
    path, numbers = parent / name, itertools.count(2)
    while True:
        try:
            path.mkdir(parents=True)
            return path
        except OSError as error:
            if not (isinstance(error, FileExistsError) and parent.is_dir()):
                raise _unwritable(path, error.strerror or str(error)) from error
        path = parent / f"{name}-{next(numbers)}"
