"""How long it takes to score many orders: one million of length 20 in under a minute on one core.

    python benchmarks/analysis.py
    python benchmarks/analysis.py --quick      a tenth of the orders

Two lists of uniformly random orders are compared row by row; one round of each metric is timed.
The last column is processor time, which other work on the machine does not stretch.
"""

import argparse
import os
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from measure import machine, print_table
from voi.analysis import (
    kendall_tau,
    normalized_levenshtein,
    order_rank_correlation,
)

METRICS = {
    "normalised Levenshtein": normalized_levenshtein,
    "order rank correlation": order_rank_correlation,
    "Kendall's tau": kendall_tau,
}


def random_orders(num: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """Return uniformly random orders, [num, length]."""
    return rng.permuted(np.tile(np.arange(length), (num, 1)), axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the orders")
    parser.add_argument("--length", type=int, default=20)
    arguments = parser.parse_args()
    num = 100_000 if arguments.quick else 1_000_000
    rng = np.random.default_rng(0)
    w, z = (random_orders(num, arguments.length, rng) for _ in range(2))
    rows, total = [], np.zeros(2)
    for name, metric in METRICS.items():
        start = np.array([time.perf_counter(), time.process_time()])
        value = float(np.mean(metric(w, z)))
        seconds = np.array([time.perf_counter(), time.process_time()]) - start
        total += seconds
        rows.append([name, f"{value:.4f}", *(f"{x:.2f}" for x in seconds)])
    rows.append(["all three", "", *(f"{x:.2f}" for x in total)])
    print(machine())
    title = f"{num:,} pairs of orders of length {arguments.length}, one thread"
    print_table(title, ["metric", "mean", "seconds", "processor seconds"], rows)


if __name__ == "__main__":
    main()
