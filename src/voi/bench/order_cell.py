"""One cell of OrderBench: an order is trained on a task, then tested."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch

from voi.analysis import order_of_slots
from voi.batch import Batch, collate, make_batches
from voi.bench.known import KnownOrder
from voi.bench.training import train_cell
from voi.config import Experiment
from voi.data.example import first
from voi.likelihood import likelihoods
from voi.networks import Networks
from voi.prepared import Prepared, prepare
from voi.search import Found, search
from voi.tokens import build_corpus
from voi.training import Trainer
from voi.validation import Judge

TOLD = 0.95  # accuracy whose first time is told
SAMPLES = 4  # orders of each target whose distance is measured


@dataclass(frozen=True)
class SplitSize:
    """How much of the test split is used."""

    examples: int = 500
    likelihoods: int = 100  # examples whose log p(y | x) is bounded
    likelihood_samples: int = 64


def measure(experiment: Experiment, is_known: bool, run: Path, size: SplitSize) -> dict[str, Any]:
    """Train an order and return its values on the test split; an unfinished run is resumed.

    The weights of the last step are tested, none are chosen by validation.
    """
    prepared = prepare(experiment)
    known = KnownOrder(prepared.task, prepared.codec) if is_known else None
    training = train_cell(prepared, run, known)
    reached = training.reached(TOLD, after=_start_of_decoder(training.trainer))
    torch.manual_seed(0)
    return {
        **tested(training.trainer.networks, prepared, size),
        "steps_to_95": reached["step"],
        "cpu_seconds_to_95": reached["cpu_seconds"],
        "cpu_seconds": training.cpu_seconds,
        "curve": training.curve,
    }


def _start_of_decoder(trainer: Trainer) -> int:
    """Return the step at which the tested decoder was started afresh; 0 if it never was."""
    starts = accumulate(trainer.totals, initial=0)
    phases = zip(trainer.config.phases, starts, strict=False)
    return max((start for phase, start in phases if phase.fresh_decoder), default=0)


@torch.no_grad()
def tested(networks: Networks, prepared: Prepared, size: SplitSize) -> dict[str, Any]:
    """Return accuracy, log p(y | x) per token (END counted) and distances on the test split.

    Distances to the nearest known best order: of orders sampled for the targets, of the likeliest
    ones, and of those in which greedy search wrote, where the length came out right.
    """
    networks.eval()
    examples = first(prepared.task.split("test"), size.examples)
    corpus, _ = build_corpus(examples, prepared.codec, prepared.experiment.data)
    judge = Judge(prepared.task, prepared.codec, examples, corpus)
    max_length = prepared.experiment.search.max_length
    found: dict[str, list[float]] = {}
    for rows in make_batches(corpus.targets.lengths, corpus.source_lengths, 64):
        measured = _of_batch(networks, judge, collate(corpus, rows).to(networks.device), max_length)
        for name, values in measured.items():
            found.setdefault(name, []).extend(values)
    bounded = collate(corpus, np.arange(min(size.likelihoods, len(corpus)))).to(networks.device)
    bounds = likelihoods(networks, bounded, size.likelihood_samples)
    num_tokens = int((bounded.lengths + 1).sum())
    means = {name: float(np.mean(values)) if values else None for name, values in found.items()}
    return {**means, "log_prob": sum(map(float, bounds)) / num_tokens}


def _of_batch(
    networks: Networks, judge: Judge, batch: Batch, max_length: int
) -> Mapping[str, list[float]]:
    assert batch.rows is not None
    source = networks.decoder.encode(batch)
    q = networks.orders(batch, source)
    drawn = q.sample(torch.Size([SAMPLES]))
    found = search(networks.decoder, source, max_length=max_length)
    written = {row: best for row, (best, *_) in zip(batch.rows.tolist(), found, strict=True)}
    return {
        "accuracy": [float(judge.is_right(best, row)) for row, best in written.items()],
        "sampled": [x for orders in drawn for x in judge.distances(orders, batch)],
        "mode": list(judge.distances(q.mode, batch)),
        "written": list(_of_written(judge, written)),
    }


def _of_written(judge: Judge, written: Mapping[int, Found]) -> Iterator[float]:
    """Yield the distances of the orders that targets of the right length were written in."""
    for row, best in written.items():
        if len(best.slots) == len(judge.corpus.targets[row]):
            distance = judge.distance(order_of_slots(best.slots), row)
            if distance is not None:
                yield distance
