"""Is the known order of `chain` found? Several seeds, 5 and 6 positions, against left to right.

    python benchmarks/chain.py --out runs/bench-chain

Runs that are in the folder already are read, not repeated. Prints a table and writes results.json.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from measure import Silent
from voi import config, experiments, load, plots, runs
from voi.atomic import write_text
from voi.bench.cells import Result, Rows, markdown
from voi.bench.timing import machine
from voi.data.tasks import make_task
from voi.evaluation.identity import notes
from voi.tokens import build_corpus
from voi.validation import Judge, validate

STEPS = {5: 2500, 6: 3500}


def measured(folder: Path, positions: int, order: str, seed: int) -> dict[str, Any]:
    """Return accuracy and distance on the test split of one run, trained if it is not there."""
    result = folder / "result.json"
    if result.exists():
        return json.loads(result.read_text())
    settings = [
        f"data.options.positions={positions}",
        f"training.steps={STEPS[positions]}",
        f"training.seed={seed}",
        f"order.kind={order}",
        *(["training.num_orders=1"] if order == "l2r" else []),
    ]
    prepared = runs.prepare(
        config.experiment(experiments.override(experiments.load_table("chain"), settings))
    )
    trainer = runs.start(prepared, folder, Silent())
    wall, cpu = time.monotonic(), time.process_time()
    trainer.run()
    values = test_values(folder)
    values |= {"positions": positions, "order": order, "seed": seed, "steps": STEPS[positions]}
    values |= {"machine": machine(), **notes()}
    values |= {"seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu}
    write_text(result, json.dumps(values))
    return values


def test_values(run: Path) -> dict[str, Any]:
    model = load(run)
    task = make_task("chain", model.experiment.data.options)
    examples = task.split("test")
    corpus, _ = build_corpus(examples, model.codec, model.experiment.data)
    torch.manual_seed(0)
    found = validate(
        model.networks,
        Judge(task, model.codec, examples, corpus),
        num_orders=4,
        max_length=model.experiment.search.max_length,
    )
    return {"accuracy": found.accuracy, "distance": found.distance, **found.elbo.per_token}


def rows(results: Sequence[Result]) -> Rows:
    """Return the table, one row for each setting, its header first; a seed without run is a -."""
    counted = sorted({result["seed"] for result in results})
    told = f"seeds {', '.join(map(str, counted))}"
    table = [["positions", "order", "steps", f"accuracy, {told}", f"NLD, {told}", "CPU s"]]
    for key, group in settings_of(results).items():
        by_seed = {result["seed"]: result for result in group}
        cpu = statistics.median(result["cpu_seconds"] for result in group)
        values = [
            ", ".join(f"{by_seed[x][name]:.3f}" if x in by_seed else "-" for x in counted)
            for name in ("accuracy", "distance")
        ]
        table.append([*map(str, key), *values, f"{cpu:.0f}"])
    return table


def settings_of(results: Sequence[Result]) -> dict[tuple[int, str, int], list[Result]]:
    """Return the runs of each number of positions, order and number of steps."""
    found: dict[tuple[int, str, int], list[Result]] = {}
    for result in sorted(results, key=lambda x: (x["positions"], x["order"] != "voi", x["steps"])):
        key = (result["positions"], result["order"], result["steps"])
        found.setdefault(key, []).append(result)
    return found


def about(results: Sequence[Result]) -> str:
    """Return what the table is of, in one sentence."""
    return (
        f"Test split of 500 targets, {len(results)} runs: the share that is written right, and the "
        "normalised Levenshtein distance (NLD) of the likeliest orders to the best order."
    )


def draw(results: Sequence[Result], folder: Path) -> dict[str, str]:
    """Draw the accuracies and return what the plot shows, by its file."""
    title = "Share of test targets that are written right"
    shares = {
        f"{order}, {positions} positions, {steps} steps": {
            f"seed {result['seed']}": result["accuracy"]
            for result in sorted(group, key=lambda x: x["seed"])
        }
        for (positions, order, steps), group in settings_of(results).items()
    }
    plots.draw_grid(shares, folder / "chain.svg", title=title)
    return {"chain.svg": title}


def stored(folder: Path) -> list[Result]:
    """Return the runs of a folder's results.json, each with its seed where cells have it."""
    path = folder / "results.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [{**result, "settings": {"seed": result["seed"]}} for result in found]


def joined(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Return the runs of two lists, of equal ones the new one, by setting and seed."""
    names = ("positions", "order", "steps", "seed")
    found = {tuple(result[name] for name in names): result for result in (*old, *new)}
    return [found[key] for key in sorted(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench-chain"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--positions", type=int, nargs="+", default=[5, 6], choices=sorted(STEPS))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = []
    for seed, positions, order in np.ndindex(options.seeds, len(options.positions), 2):
        count, name = options.positions[positions], ("voi", "l2r")[order]
        folder = options.out / f"{name}-{count}-{seed}"
        results.append(measured(folder, count, name, seed))
        print(json.dumps(results[-1]), flush=True)
        write_text(options.out / "results.json", json.dumps(results, indent=1) + "\n")
    print(markdown(rows(results)))


if __name__ == "__main__":
    main()
