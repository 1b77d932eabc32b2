"""Is the known order of `chain` found? Several seeds, 5 and 6 positions, against left to right.

    python benchmarks/chain.py --out runs/bench-chain

Runs that are in the folder already are read, not repeated. Prints a table and writes results.json.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from voi import config, load, runs
from voi.atomic import write_text
from voi.data.tasks import make_task
from voi.tokens import build_corpus
from voi.validation import validate

STEPS = {5: 2500, 6: 3500}


class Silent:
    """A watcher that looks away."""

    def trained(self, *_: Any) -> None: ...

    def validated(self, *_: Any) -> None: ...

    def said(self, *_: Any) -> None: ...


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
        config.experiment(config.override(config.load_table("chain"), settings))
    )
    trainer = runs.start(prepared, folder, Silent())
    wall, cpu = time.monotonic(), time.process_time()
    trainer.run()
    values = test_values(folder)
    values |= {"positions": positions, "order": order, "seed": seed, "steps": STEPS[positions]}
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
        corpus,
        num_orders=4,
        max_length=model.experiment.search.max_length,
        known_orders=lambda row: task.known_orders(examples[row]),
    )
    return {"accuracy": found.accuracy, "distance": found.distance, **found.elbo.per_token}


def rows(results: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, one per setting."""
    yield "| positions | order | steps | accuracy by seed | NLD to the best order | CPU s |"
    yield "|---|---|---|---|---|---|"
    for key in sorted({(r["positions"], r["order"]) for r in results}):
        group = [r for r in results if (r["positions"], r["order"]) == key]
        accuracies = ", ".join(f"{r['accuracy']:.3f}" for r in group)
        distances = ", ".join(f"{r['distance']:.3f}" for r in group)
        cpu = statistics.median(r["cpu_seconds"] for r in group)
        steps = group[0]["steps"]
        yield f"| {key[0]} | {key[1]} | {steps} | {accuracies} | {distances} | {cpu:.0f} |"


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
    print("\n".join(rows(results)))


if __name__ == "__main__":
    main()
