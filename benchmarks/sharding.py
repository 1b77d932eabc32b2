"""Peak memory of two processes that divide the networks against two that hold them whole.

    python benchmarks/sharding.py              the paper's translation networks, a small batch
    python benchmarks/sharding.py --quick      small ones

Real updates, then what validation and a checkpoint gather, under torchrun. A peak is the resident
memory of a process (Linux) with all that torch itself needs, the first column without any network.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import machine, memory_of, print_table
from voi.bench.steps import NetworkSize, make_networks, random_batch, updating
from voi.networks import Networks
from voi.tensor_file import gather_all, save_file
from voi.training.sharding import placed, undivided
from voi.world import World

WMT = NetworkSize(width=512, layers=6, heads=8, vocabulary=32000)
SMALL = NetworkSize(width=128, layers=2, heads=4, vocabulary=8000)
STAGES = ("before", "start", "updates", "validation", "checkpoint")
STEPS = 3


class Trained:
    """Networks of one process, the stages of training as methods."""

    def __init__(self, size: NetworkSize, shard: bool, arguments: argparse.Namespace, world: World):
        settings = {"accumulate": world.size, "shard": shard}
        self.size, self.orders, self.world = size, arguments.orders, world
        experiment, networks = make_networks("voi", size, self.orders, settings)
        self.networks = networks = placed(networks, experiment, world)
        self.update = updating(experiment, networks, world)
        self.optimisers = self.update.decoder_optimiser, self.update.order_optimiser
        self.batch = random_batch(arguments.length, arguments.batch, size.vocabulary)
        self.seconds: list[float] = []

    def updates(self) -> None:
        for _ in range(STEPS):
            start = time.perf_counter()
            self.update([self.batch], len(self.batch), 0, 1e-4, 1.0)
            self.seconds.append(time.perf_counter() - start)

    def validation(self) -> None:
        """Gather what the main process validates with; validating comes on top."""
        undivided(self.networks, self._make, self.world)
        self.world.wait()

    def _make(self) -> Networks:
        return make_networks("voi", self.size, self.orders)[1]

    def checkpoint(self) -> None:
        tensors = [self.networks.state_dict(), *(x.tensors() for x in self.optimisers)]
        with tempfile.TemporaryDirectory() as folder:
            for part in tensors:
                if self.world.is_main:
                    save_file(part, Path(folder) / "tensors")
                else:
                    gather_all(part)


def measured(size: NetworkSize, shard: bool, arguments: argparse.Namespace) -> dict[str, float]:
    """Return peaks in MiB and seconds of an update, in this process."""
    world = World.join()
    made: list[Trained] = []
    found = {"before": memory_of(world.wait).peak}
    found["start"] = memory_of(lambda: made.append(Trained(size, shard, arguments, world))).peak
    for stage in STAGES[2:]:
        found[stage] = memory_of(getattr(made[0], stage)).peak
    found["seconds"] = min(made[0].seconds)
    found["parameters"] = sum(p.numel() for p in made[0].networks.parameters())
    world.leave()
    return found


def run(shard: bool, processes: int) -> list[dict[str, float]]:
    """Return what every process measured, the main one first."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    with tempfile.TemporaryDirectory() as folder:
        one = ["--one", "divided" if shard else "whole", "--into", folder]
        command = [sys.executable, *torchrun, __file__, *sys.argv[1:], *one]
        # Otherwise the C library keeps much of what was freed, whole or divided.
        environment = {"MALLOC_MMAP_THRESHOLD_": "65536", **os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, env=environment, capture_output=True)
        return [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--one", choices=["whole", "divided"], help="used under torchrun")
    parser.add_argument("--into", type=Path, help="used under torchrun")
    arguments = parser.parse_args()
    size = SMALL if arguments.quick else WMT
    if arguments.one:
        found = measured(size, arguments.one == "divided", arguments)
        (arguments.into / os.environ["RANK"]).write_text(json.dumps(found))
        return
    print(machine())
    rows = []
    for name, shard in (("whole", False), ("divided", True)):
        values = run(shard, arguments.processes)
        for process, found in zip(("main", "another"), values, strict=False):
            cells = [f"{found[stage]:,.0f}" for stage in STAGES]
            rows.append([f"{name}, {process}", *cells, f"{found['seconds']:.2f}"])
    title = f"{values[0]['parameters'] / 1e6:.0f} M parameters, {arguments.processes} processes: "
    print_table(title + "peak MiB", ["networks", *STAGES, "s per update"], rows)


if __name__ == "__main__":
    main()
