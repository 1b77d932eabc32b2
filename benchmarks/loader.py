"""How much faster batches are made than they are trained on, and how much of them is padding.

    python benchmarks/loader.py                          data/django with the preset django-small
    python benchmarks/loader.py --data DIR --preset django
    python benchmarks/loader.py --quick                  few updates

The loader groups all rows by length and pads every batch of an epoch; the trainer takes updates of
both networks on such batches. Both are counted in target tokens, END included.
"""

import argparse
import statistics
import time

import torch

from measure import machine, print_table
from voi import config, experiments
from voi.batch import Batch, collate
from voi.bench.steps import updating
from voi.config import Phase
from voi.prepared import Prepared, prepare
from voi.training.epochs import epoch_batches


def epoch(prepared: Prepared, phase: Phase, seed: int) -> list[Batch]:
    """Return all batches of an epoch, as the trainer makes them."""
    batches = epoch_batches(prepared.train, phase, seed)
    return [collate(prepared.train, rows) for rows in batches]


def num_tokens(batches: list[Batch]) -> int:
    return sum(int((batch.lengths + 1).sum()) for batch in batches)


def loader_speed(prepared: Prepared, phase: Phase, repetitions: int) -> float:
    """Return tokens per second: the median over epochs."""
    speeds = []
    for seed in range(repetitions):
        start = time.perf_counter()
        batches = epoch(prepared, phase, seed)
        speeds.append(num_tokens(batches) / (time.perf_counter() - start))
    return statistics.median(speeds)


def trainer_speed(prepared: Prepared, phase: Phase, repetitions: int) -> float:
    """Return tokens per second over updates; the first two warm up."""
    update = updating(prepared.experiment, prepared.networks())
    batches = epoch(prepared, phase, 0)[: repetitions + 2]
    for step, batch in enumerate(batches):
        if step == 2:
            start = time.perf_counter()
        update([batch], len(batch), step, 1.0, 1.0)
    return num_tokens(batches[2:]) / (time.perf_counter() - start)


def padding(batches: list[Batch]) -> float:
    """Return the share of padding in sources and targets together, END counted."""
    real = padded = 0
    for batch in batches:
        real += int((batch.lengths + 1).sum()) + int(batch.source_mask.sum())
        padded += len(batch) * (batch.target.shape[1] + 1) + batch.source_mask.numel()
    return 1 - real / padded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="django-small")
    parser.add_argument("--data", default="data/django", help="a folder of splits")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few updates")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    table = experiments.load_table(arguments.preset)
    settings = [f'data.options.folder="{arguments.data}"']
    prepared = prepare(config.experiment(experiments.override(table, settings)))
    phase = prepared.experiment.training.phases[0]
    loader = loader_speed(prepared, phase, 3 if arguments.quick else 9)
    trainer = trainer_speed(prepared, phase, 10 if arguments.quick else 60)
    print(machine())
    rows = [
        ["loader alone, tokens/s", f"{loader:,.0f}"],
        ["trainer, tokens/s", f"{trainer:,.0f}"],
        ["loader over trainer", f"{loader / trainer:,.0f}x"],
        ["padding", f"{padding(epoch(prepared, phase, 0)):.1%}"],
    ]
    print_table(f"{arguments.preset}, {len(prepared.train):,} pairs", ["", "value"], rows)


if __name__ == "__main__":
    main()
