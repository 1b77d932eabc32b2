"""OrderBench: tasks whose best order is known, and which orders of generation find it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from voi import config, experiments
from voi.bench import order_cell
from voi.bench.cells import Cell, Result, matching, measured
from voi.bench.order_cell import SplitSize
from voi.tables import merged, to_table

CHECKS = 20  # validations of a run


@dataclass(frozen=True)
class Setting:
    """A task at one size, on its preset."""

    preset: str
    options: Mapping[str, Any]  # of the task, beside the preset's
    steps: int  # decoder updates of every method
    anew: int = 0  # the last of them, in which a learned order is frozen and the decoder fresh
    training: Mapping[str, Any] = field(default_factory=dict)  # [training] of every method
    learned: Mapping[str, Any] = field(default_factory=dict)  # [training] of learned orders


# All chains were measured at this rate. The preset's is lower: at this one some seeds go wrong.
CHAIN: Mapping[str, Any] = {"decoder_rate": 2e-3}
# The decoder learns nothing about long chains before an order is there, which then comes at once.
LONG_CHAIN: Mapping[str, Any] = {
    "order_rate": 5e-4,
    "entropy_hold": 0.5333,
    "entropy_final": 0.26,
    "decay": "constant",
}
TASKS: Mapping[str, Setting] = {
    "chain-5": Setting("chain", {"positions": 5}, 2500, training=CHAIN),
    "chain-6": Setting("chain", {"positions": 6}, 3500, training=CHAIN),
    "addition-3": Setting("addition", {"digits": 3}, 8000),
    "stargraph-2": Setting("stargraph", {"degree": 2, "length": 5}, 4000),
    "sorting": Setting("sorting", {}, 2000),
    "sudoku4": Setting("sudoku4", {}, 6000),
    "chain-10": Setting(
        "chain", {"positions": 10}, 6000, anew=1500, training=CHAIN, learned=LONG_CHAIN
    ),
    "addition-5": Setting(
        "addition", {"digits": 5}, 12000, anew=7000, learned={"decay": "constant"}
    ),
    "stargraph-3": Setting("stargraph", {"degree": 3, "length": 5}, 5000),
    "chain-13": Setting(
        "chain", {"positions": 13}, 8000, anew=1500, training=CHAIN, learned=LONG_CHAIN
    ),
}
METHODS: Mapping[str, Sequence[str]] = {  # the order, and settings of the experiment
    "voi-gumbel-matching": ("voi", "order.law=gumbel-matching"),
    "l2r": ("l2r",),
    "known": ("l2r",),  # replaced by the task's own order
    "voi-plackett-luce": ("voi", "order.law=plackett-luce"),
    "voi-matrix-plackett-luce": ("voi", "order.law=matrix-plackett-luce"),
    "r2l": ("r2l",),
    "tree": ("tree",),
    "random": ("random",),
    "sao": ("sao",),
}
QUICK_TASKS = "chain-6,addition-3,sorting"
QUICK_METHODS = "voi-gumbel-matching,l2r,known"


@dataclass(frozen=True)
class OrderSize:
    """How long is trained, and on how much is tested."""

    factor: float = 1.0  # of the steps of every task
    valid_examples: int = 200
    test: SplitSize = field(default_factory=SplitSize)
    settings: tuple[str, ...] = ()  # of all experiments, as --set takes them


def run(
    folder: Path,
    size: OrderSize,
    *,
    seeds: Sequence[int],
    tasks: str = "",
    methods: str = "",
    said: Callable[[str], None] = print,
) -> list[Result]:
    """Return all cells of a folder; the ones that are not there yet are measured."""
    chosen = matching(TASKS, tasks, "--tasks"), matching(METHODS, methods, "--methods")
    cells = [_cell(folder, size, *place, seed) for seed in seeds for place in product(*chosen)]
    return measured(folder / "cells", cells, lambda result: said(_line(result)))


def _cell(folder: Path, size: OrderSize, task: str, method: str, seed: int) -> Cell:
    name = f"{task}.{method}-seed{seed}"
    made = experiment(task, method, seed, size)
    about = {"task": task, "method": method, "seed": seed, "test": to_table(size.test)}

    def measure() -> Mapping[str, Any]:
        return order_cell.measure(made, method == "known", folder / "runs" / name, size.test)

    return Cell(name, {**about, "experiment": to_table(made)}, measure)


def experiment(task: str, method: str, seed: int, size: OrderSize) -> config.Experiment:
    """Return the experiment of a cell: the preset, the task's size, the order, the budget."""
    setting, (kind, *settings) = TASKS[task], METHODS[method]
    steps = max(2, round(size.factor * setting.steps))
    every = max(1, steps // CHECKS)
    training: dict[str, Any] = {
        "steps": steps,
        "seed": seed,
        "validate_every": every,
        "checkpoint_every": every,
        "valid_examples": size.valid_examples,
        **setting.training,
    }
    if kind == "voi":
        training |= setting.learned
        if setting.anew:
            anew = max(1, round(steps * setting.anew / setting.steps))
            training["phases"] = _phases(steps - anew, anew)
    cell = {"data": {"options": setting.options}, "training": training}
    table = merged(experiments.load_table(setting.preset), cell)
    return config.experiment(experiments.with_order(table, kind, [*settings, *size.settings]))


def _phases(learning: int, anew: int) -> list[dict[str, Any]]:
    """Return two phases of so many steps: orders are learned, then a fresh decoder learns them."""
    fresh = {"share": False, "freeze_orders": True, "fresh_decoder": True, "num_orders": 1}
    return [
        {"name": "orders", "steps": learning},
        {"name": "anew", "steps": anew, **fresh, "decay": "linear", "decay_hold": 0.5},
    ]


def _line(result: Result) -> str:
    settings, told = result["settings"], result["steps_to_95"]
    return (
        f"{settings['task']}, {settings['method']}, seed {settings['seed']}: accuracy "
        f"{result['accuracy']:.3f}, log p {result['log_prob']:.3f} per token, distance "
        f"{result['sampled']:.3f}, 95 % after {told or '-'} steps, "
        f"{result['cpu_seconds']:.0f} CPU seconds"
    )
