"""Two processes with one thread each against one process with two threads, on the same run.

    python benchmarks/processes.py

Real runs of `voi train` under torchrun with the same global batch; tokens per second as logged,
the median of the log lines after the first two. The two ways take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import machine, print_table


def tokens_per_second(processes: int, threads: int, width: int, steps: int) -> float:
    """Train a short run and return its speed."""
    sizes = {"width": width, "hidden": 4 * width, "heads": 4}
    settings = [
        f"{part}.{key}={value}" for part in ("decoder", "order") for key, value in sizes.items()
    ]
    settings += [f"training.steps={steps}", "training.accumulate=2", "training.log_every=2"]
    settings += [f"training.validate_every={10 * steps}", "training.valid_examples=8"]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        torchrun = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"]
        command = [sys.executable, "-m", *torchrun, "voi", "train", "chain", "--out", str(run)]
        for setting in settings:
            command += ["--set", setting]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        subprocess.run(command, check=True, env=environment, capture_output=True)
        lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
        speeds = [line["tokens_per_second"] for line in lines if line["kind"] == "train"]
    return statistics.median(speeds[2:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 256])
    arguments = parser.parse_args()
    print(machine())
    rows = []
    for width in arguments.widths:
        turns = [
            [tokens_per_second(*way, width, arguments.steps) for way in ((1, 2), (2, 1))]
            for _ in range(arguments.turns)
        ]
        one, two = (statistics.median(column) for column in zip(*turns, strict=True))
        ratios = [two / one for one, two in turns]
        rows.append([str(width), f"{one:.0f}", f"{two:.0f}", f"{statistics.median(ratios):.2f}"])
    header = ["width", "1 process, 2 threads", "2 processes, 1 thread", "ratio"]
    print_table("Tokens per second of `voi train chain`, 2 batches of 64 per update", header, rows)


if __name__ == "__main__":
    main()
