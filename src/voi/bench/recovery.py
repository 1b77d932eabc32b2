"""The paper's ablation: does a fresh generator recover the order a frozen decoder was taught?"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from voi import config
from voi.analysis import normalized_levenshtein
from voi.bench.cells import Cell, Result, matching, measured
from voi.bench.frozen import DecoderSize, Frozen, batch_digest, frozen_decoder
from voi.bench.steps import size_table, updating
from voi.devices import seeded
from voi.distributions import OrderLaw
from voi.networks import Networks
from voi.tables import to_table
from voi.training.schedule import entropy_weight, rate_factor

POSITIONS = ("xl", "relative", "sinusoid", "sinusoid+attention")
LAWS = ("gumbel-matching", "plackett-luce", "matrix-plackett-luce")
PAPER_LAWS = ("gumbel-matching", "plackett-luce")  # those of the paper's table
PAPER: Mapping[str, Any] = {  # its estimator
    "baseline": "mean",
    "standardize": False,
    "entropy": "gumbel",
    "rows": "position",
}
NUM_ORDERS = (2, 3, 4, 10, 20)
POINTS = 30  # of a curve
CURVE_SAMPLES, FINAL_SAMPLES = 8, 64  # orders of each caption that are drawn to be measured


@dataclass(frozen=True)
class Recipe:
    """How a generator is built and taught; the defaults are those of gumbel-matching.xl.k4."""

    law: str = "gumbel-matching"
    positions: str = "xl"
    num_orders: int = 4
    rows: str = "step"
    estimator: str = "reinforce"
    baseline: str = "leave_one_out"
    standardize: bool = True
    standardize_floor: float = 1.0
    entropy: str = "score"
    entropy_weight: float = 0.2
    entropy_final: float = 0.05
    rate: float = 1e-3


def recipes() -> dict[str, Recipe]:
    """Return every cell by name, the ones that matter most first."""
    base = Recipe()
    grid = [
        dataclasses.replace(base, law=law, positions=positions)
        for positions in POSITIONS
        for law in LAWS
    ]
    by_k = [dataclasses.replace(base, num_orders=k) for k in (10, 2, 3, 20)]
    named = {_name(recipe): recipe for recipe in (grid[0], by_k[0], *grid[1:3], *by_k[1:])}
    named |= {f"{_name(base)}.{name}": recipe for name, recipe in _variants(base).items()}
    named |= {_name(recipe): recipe for recipe in grid}
    return named | {
        f"{_name(recipe)}.paper": dataclasses.replace(recipe, **PAPER)
        for recipe in grid
        if recipe.law in PAPER_LAWS
    }


def _name(recipe: Recipe) -> str:
    return f"{recipe.law}.{recipe.positions}.k{recipe.num_orders}"


def _variants(base: Recipe) -> dict[str, Recipe]:
    """Return the further rows: one choice changed each, and all of the paper's choices at once."""
    changes: dict[str, Mapping[str, Any]] = {
        "mean-baseline": {"baseline": "mean"},
        "raw-rewards": {"standardize": False},
        "no-floor": {"standardize_floor": 1e-6},
        "gumbel-entropy": {"entropy": "gumbel"},
        "no-entropy": {"entropy_weight": 0.0, "entropy_final": -1.0},
        "ppo": {"estimator": "ppo"},
        "position-rows": {"rows": "position"},
    }
    changes["paper"] = PAPER
    return {name: dataclasses.replace(base, **change) for name, change in changes.items()}


QUICK = (
    "gumbel-matching.xl.k4",
    "gumbel-matching.xl.k10",
    "plackett-luce.xl.k4",
    "matrix-plackett-luce.xl.k4",
    "gumbel-matching.sinusoid.k4",
    "gumbel-matching.xl.k4.no-entropy",
)


def run(
    folder: Path,
    size: DecoderSize,
    *,
    steps: int,
    seeds: Sequence[int],
    cells: str = "",
    said: Callable[[str], None] = print,
) -> list[Result]:
    """Return all cells of a folder; the ones that are not there yet are measured."""
    known = recipes()
    chosen = matching(known, cells, "--cells")
    frozen = frozen_decoder(folder / "decoder", size, said)
    wanted = [
        _cell(frozen, name, known[name], size, steps, seed) for seed in seeds for name in chosen
    ]
    return measured(folder / "cells", wanted, lambda result: said(_line(result)))


def _cell(
    frozen: Frozen, name: str, recipe: Recipe, size: DecoderSize, steps: int, seed: int
) -> Cell:
    decoder = {**to_table(size), "captions": Path(size.captions).name}  # the digest is the batch's
    shared = {"steps": steps, "decoder": decoder, "digest": batch_digest(frozen)}
    settings = {**shared, "recipe": to_table(recipe), "cell": name, "seed": seed}

    def measure() -> Mapping[str, Any]:
        return recover(frozen, recipe, size, steps, seed)

    return Cell(f"{name}-seed{seed}", settings, measure)


def _line(result: Result) -> str:
    settings = result["settings"]
    return (
        f"{settings['cell']}, seed {settings['seed']}: distance {result['sampled']:.3f} sampled, "
        f"{result['mode']:.3f} mode, {result['cpu_seconds']:.0f} CPU seconds"
    )


def recover(
    frozen: Frozen, recipe: Recipe, size: DecoderSize, steps: int, seed: int
) -> dict[str, Any]:
    """Return how near a fresh generator comes to the order of a frozen decoder, with its curve.

    Distances are normalised Levenshtein distances to the common order, means over the captions.
    """
    experiment = _experiment(recipe, size, steps)
    torch.manual_seed(seed)
    networks = Networks.of(experiment, frozen.codec, frozen.networks.region_size)
    networks.decoder.load_state_dict(frozen.networks.decoder.state_dict())
    networks.decoder.requires_grad_(False)
    phase, update = experiment.training.phases[0], updating(experiment, networks)
    curve, cpu = [{"step": 0, **_distances(networks, frozen, CURVE_SAMPLES)}], 0.0
    for step in range(steps):
        start = time.process_time()
        factor, beta = rate_factor(phase, step, steps), entropy_weight(phase, step, steps)
        updated = update([frozen.batch], len(frozen.batch), step, factor, beta)
        cpu += time.process_time() - start
        if (step + 1) * POINTS // steps > step * POINTS // steps:
            found = _distances(networks, frozen, CURVE_SAMPLES)
            curve.append({"step": step + 1, "reward": updated.reward, "cpu_seconds": cpu, **found})
    final = _distances(networks, frozen, FINAL_SAMPLES)
    return {**final, **_rewards(networks, frozen), "cpu_seconds": cpu, "curve": curve}


def _experiment(recipe: Recipe, size: DecoderSize, steps: int) -> config.Experiment:
    """Return the experiment of a cell: generator-only steps, so the decoder has no backward."""
    phase = {
        "steps": steps,
        "alternate": [0, 1],
        "num_orders": recipe.num_orders,
        "order_rate": recipe.rate,
        "decay": "linear",
        "decay_hold": 0.6,
        "entropy_weight": recipe.entropy_weight,
        "entropy_final": recipe.entropy_final,
    }
    shared = ("estimator", "baseline", "standardize", "standardize_floor")
    objective = {name: getattr(recipe, name) for name in shared}
    order = {"law": recipe.law, "positions": recipe.positions, "rows": recipe.rows}
    sizes = size_table(size.width, size.layers)
    return config.experiment(
        {
            "decoder": sizes,
            "order": {**sizes, **order},
            "objective": {**objective, "entropy": recipe.entropy},
            "training": phase,
        }
    )


@torch.no_grad()
def _law(networks: Networks, frozen: Frozen) -> OrderLaw:
    networks.orders.eval()
    return networks.orders(frozen.batch)


def _distances(networks: Networks, frozen: Frozen, num_samples: int) -> dict[str, float]:
    """Return the mean distance of sampled orders and of the likeliest ones.

    Training goes on as if nothing had been drawn.
    """
    with seeded(0, frozen.batch.target.device):
        q = _law(networks, frozen)
        drawn = q.sample(torch.Size([num_samples]))
    lengths = frozen.batch.lengths
    sampled = normalized_levenshtein(drawn, frozen.common, lengths.expand(drawn.shape[:-1]))
    mode = normalized_levenshtein(q.mode, frozen.common, lengths)
    return {"sampled": float(np.mean(sampled)), "mode": float(np.mean(mode))}


@torch.no_grad()
def _rewards(networks: Networks, frozen: Frozen) -> dict[str, float]:
    """Return mean log p(y, z | x) in the likeliest orders and in the order that was taught."""
    orders = torch.stack([_law(networks, frozen).mode, frozen.common])
    joint = networks.decoder.eval().log_prob(frozen.batch, orders).mean(1)
    return {"mode_reward": joint[0].item(), "common_reward": joint[1].item()}
