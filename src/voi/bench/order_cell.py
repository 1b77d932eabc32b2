"""One cell of OrderBench: an order is trained on a task, then tested."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch

from voi import runs
from voi.analysis import order_of_slots
from voi.batch import Batch, collate, make_batches
from voi.bench.known import KnownOrder
from voi.bench.stopwatch import Stopwatch
from voi.config import Experiment
from voi.data import Example
from voi.data.example import first
from voi.data.tasks import is_right, order_distance
from voi.likelihood import likelihoods
from voi.networks import Networks
from voi.runs import Prepared
from voi.search import Found, ids_in_reading_order, search
from voi.tokens import build_corpus
from voi.training import Trainer

TOLD = 0.95  # accuracy whose first time is told
SAMPLES = 4  # orders of each target whose distance is measured


@dataclass(frozen=True)
class TestSize:
    """How much of the test split is used."""

    __test__ = False  # no test of pytest's

    examples: int = 500
    likelihoods: int = 100  # examples whose log p(y | x) is bounded
    likelihood_samples: int = 64


def measure(experiment: Experiment, is_known: bool, run: Path, size: TestSize) -> dict[str, Any]:
    """Return what a run finds on the test split; an unfinished run is gone on with.

    The weights of the last step are tested, none are chosen by validation.
    """
    prepared = runs.prepare(experiment)
    watch = Stopwatch(run / "curve.json")
    trainer = trainer_of(prepared, run, watch)
    if is_known:
        trainer.networks.orders = KnownOrder(prepared.task, prepared.codec)
    watch.attach(trainer)
    if not trainer.run():
        raise KeyboardInterrupt
    seconds = watch.seconds
    reached = watch.reached(TOLD, after=_start_of_decoder(trainer))
    torch.manual_seed(0)
    return {
        **tested(trainer.networks, prepared, size),
        "steps_to_95": reached["step"],
        "cpu_seconds_to_95": reached["cpu_seconds"],
        "cpu_seconds": seconds,
        "curve": watch.points,
    }


def _start_of_decoder(trainer: Trainer) -> int:
    """Return after how many updates the decoder that is tested had its first weights."""
    starts = accumulate(trainer.totals, initial=0)
    phases = zip(trainer.config.phases, starts, strict=False)
    return max((start for phase, start in phases if phase.fresh_decoder), default=0)


def trainer_of(prepared: Prepared, run: Path, watch: Stopwatch) -> Trainer:
    """Return the trainer of a cell, standing where its run was stopped if it was."""
    if (run / "last.json").is_file():
        return runs.resume(run, watch)
    if run.exists():  # stopped before the first checkpoint
        shutil.rmtree(run)
    return runs.start(prepared, run, watch)


@torch.no_grad()
def tested(networks: Networks, prepared: Prepared, size: TestSize) -> dict[str, Any]:
    """Return accuracy, log p(y | x) per token (END counted) and distances on the test split.

    Distances to the nearest known best order: of orders sampled for the targets, of the likeliest
    ones, and of those in which greedy search wrote, where the length came out right.
    """
    networks.eval()
    examples = first(prepared.task.split("test"), size.examples)
    corpus, _ = build_corpus(examples, prepared.codec, prepared.experiment.data)
    found: dict[str, list[float]] = {name: [] for name in _MEANS}
    for rows in make_batches(corpus.targets.lengths, corpus.source_lengths, 64):
        batch = collate(corpus, rows)
        chosen = [examples[int(corpus.origin[row])] for row in rows]
        for name, values in _of_batch(networks, prepared, batch, chosen).items():
            found[name] += values
    bounded = collate(corpus, np.arange(min(size.likelihoods, len(corpus))))
    bounds = likelihoods(networks, bounded, size.likelihood_samples)
    num_tokens = int((bounded.lengths + 1).sum())
    means = {name: float(np.mean(values)) if values else None for name, values in found.items()}
    return {**means, "log_prob": sum(map(float, bounds)) / num_tokens}


_MEANS = ("accuracy", "sampled", "mode", "written")


def _of_batch(
    networks: Networks, prepared: Prepared, batch: Batch, examples: list[Example]
) -> Mapping[str, list[float]]:
    source = networks.decoder.encode(batch)
    q = networks.orders(batch, source)
    drawn = q.sample(torch.Size([SAMPLES]))
    best = search(networks.decoder, source, max_length=prepared.experiment.search.max_length)
    values: dict[str, list[float]] = {name: [] for name in _MEANS}
    for i, (example, n) in enumerate(zip(examples, batch.lengths.tolist(), strict=True)):
        written = best[i][0]
        right = is_right(prepared.task, example, _text(prepared, written))
        values["accuracy"].append(float(right))
        orders = {"sampled": drawn[:, i, :n].tolist(), "mode": [q.mode[i, :n].tolist()]}
        orders["written"] = [order_of_slots(written.slots)] if len(written.slots) == n else []
        for name, each in orders.items():
            distances = (order_distance(prepared.task, example, order) for order in each)
            values[name] += [x for x in distances if x is not None]
    return values


def _text(prepared: Prepared, found: Found) -> str:
    return " ".join(prepared.codec.decode(ids_in_reading_order(found), None))
