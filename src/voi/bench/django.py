"""Orders of generation on Django: the same decoder, data and budget under every order."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from voi import config, experiments
from voi.bench import django_cell
from voi.bench.cells import Cell, Result, matching, measured
from voi.data.tasks import make_task
from voi.evaluation import Settings
from voi.tables import to_table

BASELINE = "l2r"  # what the others are compared with
METHODS: Mapping[str, Sequence[str]] = {  # the order, and settings of the experiment
    BASELINE: ("l2r",),
    "voi-gumbel-matching": ("voi", "order.law=gumbel-matching"),
    "voi-matrix-plackett-luce": ("voi", "order.law=matrix-plackett-luce"),
    "voi-early-late": ("voi", "order.law=early-late"),
    "r2l": ("r2l",),
    "common": ("common",),
    "rare": ("rare",),
    "random": ("random",),
    "sao": ("sao", "order.weighting=uniform"),  # so that the K orders differ
    "voi-token-dropout": (  # words alone do not say the order
        "voi",
        "order.law=gumbel-matching",
        "order.token_dropout=0.3",
    ),
    "voi-high-entropy": (  # orders stay free until the decoder can write in any of them
        "voi",
        "order.law=gumbel-matching",
        "training.phases.0.entropy_weight=4.0",
        "training.phases.1.entropy_weight=4.0",
    ),
    "voi-fresh-decoder": (  # orders are learned in the first phase, then written by a new decoder
        "voi",
        "order.law=gumbel-matching",
        "training.phases.0.entropy_hold=0.25",
        "training.phases.0.entropy_final=0.05",
        "training.phases.1.freeze_orders=true",
        "training.phases.1.fresh_decoder=true",
    ),
    "voi-paper": (  # the paper's estimator and weights of the entropy
        "voi",
        "order.law=gumbel-matching",
        "order.rows=position",
        "objective.baseline=mean",
        "objective.entropy=gumbel",
        "training.phases.0.entropy_weight=0.5",
        "training.phases.1.entropy_weight=0.5",
        "training.phases.1.entropy_hold=0",
        "training.phases.1.entropy_final=0.002",
    ),
}
QUICK_METHODS = "l2r,voi-gumbel-matching"


@dataclass(frozen=True)
class DjangoSize:
    """How long is trained, and on how much is tested."""

    epochs: float = 20.0  # all phases together
    validate_every: int = 500  # steps
    valid_examples: int = 200
    test: Settings = field(default_factory=lambda: Settings(likelihood_limit=300))
    settings: tuple[str, ...] = ()  # of all experiments, as --set takes them


@dataclass(frozen=True)
class Pairs:
    """What is known of the data before anything is trained."""

    folder: Path
    digest: str  # of all pairs
    is_seen: tuple[bool, ...]  # of each test pair: does it stand in train as well?


def read_pairs(folder: Path) -> Pairs:
    """Return what is known of a folder of pairs."""
    task, digest = make_task("django", {"folder": str(folder)}), hashlib.sha256()
    splits = {}
    for name in ("train", "valid", "test"):
        splits[name] = [(str(example.source), example.target) for example in task.split(name)]
        for pair in splits[name]:
            digest.update("\t".join([name, *pair, "\n"]).encode())
    seen = set(splits["train"])
    return Pairs(folder, digest.hexdigest(), tuple(pair in seen for pair in splits["test"]))


def run(
    folder: Path,
    pairs: Pairs,
    size: DjangoSize,
    *,
    seeds: Sequence[int],
    methods: str = "",
    said: Callable[[str], None] = print,
) -> list[Result]:
    """Return all cells of a folder; the ones that are not there yet are measured."""
    chosen = matching(METHODS, methods, "--methods")
    cells = [_cell(folder, pairs, size, method, seed) for seed in seeds for method in chosen]
    return measured(folder / "cells", cells, lambda result: said(_line(result)))


def _cell(folder: Path, pairs: Pairs, size: DjangoSize, method: str, seed: int) -> Cell:
    made = experiment(pairs.folder, method, seed, size)
    about = {"method": method, "seed": seed, "digest": pairs.digest}
    table = to_table(made)
    del table["data"]["options"]["folder"]  # the digest says what was in it
    settings = {**about, "test": dataclasses.asdict(size.test), "experiment": table}
    path = run_folder(folder, method, seed)

    def measure() -> Mapping[str, Any]:
        return django_cell.measure(made, path, size.test, pairs.is_seen)

    return Cell(path.name, settings, measure)


def run_folder(folder: Path, method: str, seed: int) -> Path:
    """Return where the run of a cell is kept."""
    return folder / "runs" / f"{method}-seed{seed}"


def experiment(data: Path, method: str, seed: int, size: DjangoSize) -> config.Experiment:
    """Return the experiment of a cell: the preset, the order, and the phases all orders have."""
    table = experiments.load_table("django-small")
    table["data"]["options"]["folder"] = str(data)
    table["training"] |= {
        "phases": phases(size.epochs),
        "seed": seed,
        "validate_every": size.validate_every,
        "checkpoint_every": size.validate_every,
        "valid_examples": size.valid_examples,
    }
    kind, *settings = METHODS[method]
    table = experiments.with_order(table, kind, [*settings, *size.settings], copies=True)
    return config.experiment(table)


def phases(epochs: float) -> list[dict[str, Any]]:
    """Return the phases of every order; `share`, `align` and entropy concern learned ones only.

    The weight of the entropy is 1 for five eighths of the time in which orders are learned, and
    then falls slowly. In the end the decoder learns alone, on one order of each target.
    """
    return [
        {"name": "first", "epochs": 0.4 * epochs, "share": True, "entropy_weight": 1.0},
        {
            "name": "second",
            "epochs": 0.4 * epochs,
            "align": 10.0,
            "entropy_weight": 1.0,
            "entropy_hold": 0.25,
            "entropy_final": 0.05,
        },
        {
            "name": "frozen",
            "epochs": 0.2 * epochs,
            "freeze_orders": True,
            "num_orders": 1,
            "batch_size": 64,
            "decay": "linear",
        },
    ]


def _line(result: Result) -> str:
    settings, scores = result["settings"], result["scores"]["all"]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in scores.items() if value is not None)
    return (
        f"{settings['method']}, seed {settings['seed']}: {shown}, log p "
        f"{result['log_prob']['all']['log_p_bound']:.3f} per token, "
        f"{result['cpu_seconds']:.0f} CPU seconds"
    )
