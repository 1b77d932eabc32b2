"""One cell of the comparison on Django: an order is trained, then tested."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from voi import checkpoint
from voi.analysis import kendall_tau, normalized_levenshtein, padded, read_traces
from voi.batch import collate, make_batches
from voi.bench.training import train_cell
from voi.config import Experiment
from voi.devices import seeded
from voi.distributions import Uniform
from voi.errors import CheckpointError
from voi.evaluation import Settings, System, default_metrics, evaluate, score_outputs
from voi.evaluation.likelihoods import PerToken
from voi.evaluation.run import HYPOTHESES
from voi.model import Model
from voi.networks import word_counts
from voi.objective import elbo
from voi.orders import make_orders
from voi.prepared import prepare
from voi.tokens import build_corpus
from voi.tokens.limits import ANY_LENGTH

SAMPLES = 4  # orders of each target whose parts and distances are measured
_LIKELIHOODS = ("log_p_bound", "elbo")  # those that every target has


def measure(
    experiment: Experiment, run: Path, test: Settings, is_seen: Sequence[bool]
) -> dict[str, Any]:
    """Train an order and return its values on the test split; an unfinished run is resumed.

    The weights of the last step are tested, none are chosen by validation.
    """
    prepared = prepare(experiment)
    training = train_cell(prepared, run)
    model = last_model(run)
    systems = by_seen(model, tested(model, run, run.name, test), is_seen)
    return {
        "scores": {name: _scores(system) for name, system in systems.items()},
        "log_prob": {name: _log_probs(system) for name, system in systems.items()},
        "num_examples": {name: len(_rows(system)) for name, system in systems.items()},
        "num_bounded": {name: _num_bounded(system) for name, system in systems.items()},
        **order_values(model, test),
        "train_parts": order_values(model, dataclasses.replace(test, split="train"))["parts"],
        "written": _written(_folder(model, run, test) / HYPOTHESES),
        "steps": training.trainer.total,
        "cpu_seconds": training.cpu_seconds,
        "curve": training.curve,
    }


def last_model(run: Path) -> Model:
    """Return the model of a finished run as its last step left it."""
    folder = checkpoint.pointed(run, "last")
    if folder is None:
        raise CheckpointError(f"{run} is gone: it is needed to compare what was written")
    return Model(checkpoint.load(folder))


def _folder(model: Model, run: Path, test: Settings) -> Path:
    return run / "evaluation" / test.folder_name(model)


def tested(model: Model, run: Path, name: str, test: Settings) -> System:
    """Return the scored test split of a run; what was tested before is read."""
    return evaluate(model, name, _folder(model, run, test), test)


def by_seen(model: Model, system: System, is_seen: Sequence[bool]) -> dict[str, System]:
    """Return a system on all test pairs, on those that stand in train as well, and on the others.

    A part without any pair is left out. Likelihoods are of targets no longer than those that were
    trained on: three test targets of 148 to 527 tokens would outweigh all others.
    """
    longest = model.experiment.data.max_target_length
    numbers = range(len(_rows(system)))
    parts = {
        "all": list(numbers),
        "seen": [i for i in numbers if is_seen[i]],
        "unseen": [i for i in numbers if not is_seen[i]],
    }
    return {name: _part(system, rows, longest) for name, rows in parts.items() if rows}


def _rows(system: System) -> Sequence[str]:
    assert system.outputs is not None, "code has metrics, so it is decoded"
    return system.outputs.hypotheses


def _part(system: System, rows: Sequence[int], longest: int) -> System:
    outputs = system.outputs
    assert outputs is not None
    chosen: dict[str, Any] = {
        name: None if (values := getattr(outputs, name)) is None else tuple(values[i] for i in rows)
        for name in ("hypotheses", "references", "published")
    }
    part = dataclasses.replace(outputs, **chosen)
    scores = score_outputs(part, default_metrics(part))
    found = [one for one in system.likelihoods if one.name in _LIKELIHOODS]
    return System(
        system.name, part, scores, tuple(_likelihoods(one, rows, longest) for one in found)
    )


def _likelihoods(found: PerToken, rows: Sequence[int], longest: int) -> PerToken:
    """Return the likelihoods of some targets, as far as they were computed; END is no token."""
    known = [i for i in rows if i < len(found.values) and found.num_tokens[i] <= longest + 1]
    values = tuple(found.values[i] for i in known)
    tokens = tuple(found.num_tokens[i] for i in known)
    return dataclasses.replace(found, values=values, num_tokens=tokens, standard_error=None)


def _scores(system: System) -> dict[str, float | None]:
    return {score.name: score.value for score in system.scores}


def _num_bounded(system: System) -> int:
    return max((len(one.values) for one in system.likelihoods), default=0)


def _log_probs(system: System) -> dict[str, float | None]:
    return {one.name: one.value for one in system.likelihoods if one.name in _LIKELIHOODS}


@torch.no_grad()
def order_values(model: Model, test: Settings) -> dict[str, Any]:
    """Return the parts of the ELBO per token, and how near q(z | x, y) is to two fixed orders.

    The targets are those whose likelihood is bounded. A uniform law has no likeliest order.
    """
    data, networks = model.experiment.data, model.networks
    examples = test.with_likelihoods(model.task().split(test.split))
    corpus, _ = build_corpus(examples, model.codec, ANY_LENGTH)
    chosen = np.flatnonzero(corpus.targets.lengths <= data.max_target_length)
    counts = word_counts(model.codec)
    common = make_orders("common", model.experiment.order, counts, networks.decoder)
    parts, found = [], _Distances()
    with seeded(0, model.device):
        lengths = corpus.targets.lengths[chosen], corpus.source_lengths[chosen]
        for rows in make_batches(*lengths, 64, 2048):
            batch = collate(corpus, chosen[rows])
            source = networks.decoder.encode(batch)
            q = networks.orders(batch, source)
            orders = q.sample(torch.Size([SAMPLES]))
            terms = networks.decoder.step_log_probs(batch, orders, source)
            parts.append(elbo(q, orders, terms, batch.lengths))
            fixed = {"l2r": torch.arange(orders.shape[-1]), "common": common(batch).mode}
            found.add("sampled", orders, fixed, batch.lengths)
            if not isinstance(q, Uniform):
                found.add("mode", q.mode, fixed, batch.lengths)
    return {"parts": sum(parts[1:], parts[0]).per_token, "orders": found.means()}


class _Distances:
    """Distances of sampled and likeliest orders to left to right and to common words first."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}

    def add(
        self,
        kind: str,
        orders: Int[Tensor, "*K batch n"],
        fixed: Mapping[str, Tensor],
        lengths: Int[Tensor, " batch"],
    ) -> None:
        sizes = lengths.expand(orders.shape[:-1])
        for name, reference in fixed.items():
            for metric, distance in _METRICS.items():
                values = np.asarray(distance(orders, reference, sizes)).ravel().tolist()
                self.values.setdefault(f"{kind} {name} {metric}", []).extend(values)

    def means(self) -> dict[str, float]:
        return {name: float(np.mean(values)) for name, values in self.values.items()}


_METRICS = {"nld": normalized_levenshtein, "tau": kendall_tau}


def _written(path: Path) -> Mapping[str, float]:
    """Return how near the orders that beam search wrote in are to left to right."""
    orders = padded([trace.order for trace in read_traces(path)])
    reading = np.arange(orders.orders.shape[1])
    return {
        f"l2r {metric}": float(np.mean(distance(orders.orders, reading, orders.lengths)))
        for metric, distance in _METRICS.items()
    }
