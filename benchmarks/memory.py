"""Peak memory of real training steps, each setting in a process of its own.

    python benchmarks/memory.py              the paper's translation setting, some minutes
    python benchmarks/memory.py --quick      a small one

The setting is the paper's for WMT16: batch 54, K = 3, 32,000 words, width 512, 6 + 6 layers, all
sources and targets of 100 tokens, which is the longest batch there can be (the paper: 90 GB). The
speed is that of the whole step against the step that keeps all states. `voi train` keeps the memory
it frees; without that the peak is lower, and the steps of middle-sized batches are slower.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

from measure import machine, memory_of, print_table
from voi.bench.steps import NetworkSize, make_networks, random_batch, training_step
from voi.memory import training_memory
from voi.process import keep_freed_memory

WMT = {"width": 512, "layers": 6, "heads": 8, "vocabulary": 32000}
SMALL = {"width": 128, "layers": 2, "heads": 4, "vocabulary": 8000}
SETTINGS = {
    "all states": {},
    "all states, freed memory returned": {},
    "recompute": {"recompute": True},
    "recompute, freed memory returned": {"recompute": True},
    "bfloat16": {"precision": "bfloat16"},
}
SLOW = "bfloat16"  # where the processor does not multiply it: with --quick only


def measured(size: dict[str, int], batch: int, n: int, orders: int, name: str) -> dict[str, float]:
    """Return peak memory in MiB and seconds of a step, in this process."""
    if "returned" not in name:
        keep_freed_memory()
    networks = NetworkSize(**size)
    examples = random_batch(n, batch, networks.vocabulary)
    step = training_step("voi", networks, examples, orders, SETTINGS[name])
    peak = memory_of(step).peak
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    peak = max(peak, memory_of(step).peak)
    estimate = estimated(networks, batch, n, orders, SETTINGS[name])
    return {"peak": peak, "estimate": estimate, "seconds": statistics.median(seconds)}


def estimated(
    size: NetworkSize, batch: int, n: int, orders: int, settings: dict[str, object]
) -> float:
    """Return what `voi train --dry-run` says, in MiB: without torch itself, in float32."""
    experiment, networks = make_networks("voi", size, orders, {**settings, "batch_size": batch})
    lengths = np.full(batch, n)
    return training_memory(experiment, networks, lengths, lengths) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=54)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--one", choices=list(SETTINGS), help="measure it and print JSON only")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    size = SMALL if arguments.quick else WMT
    batch, n, orders = arguments.batch, arguments.length, arguments.orders
    if arguments.one:
        print(json.dumps(measured(size, batch, n, orders, arguments.one)))
        return
    print(machine())
    rows: list[list[str]] = []
    first = 0.0
    for name in [name for name in SETTINGS if arguments.quick or name != SLOW]:
        command = [sys.executable, __file__, *sys.argv[1:], "--one", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found["seconds"]
        speed = first / found["seconds"]
        memory = [f"{found[key]:,.0f}" for key in ("peak", "estimate")]
        rows.append([name, *memory, f"{found['seconds']:.1f}", f"{speed:.2f}"])
    title = f"Batch {batch}, K = {orders}, n = {n}, width {size['width']}"
    print_table(title, ["", "peak MiB", "estimate", "s per step", "speed"], rows)


if __name__ == "__main__":
    main()
