"""CPU minutes of one epoch of Django: width 128, 2 + 2 layers, all words, batch 32, K = 4.

    python benchmarks/epoch.py --data data/django              some minutes
    python benchmarks/epoch.py --data data/django --quick      a tenth of the epoch

Every update is the trainer's own: sources encoded, orders sampled, both networks moved. Reading the
files and validating are not counted. The authors' program is said to take 27 minutes on
such a machine.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch

from measure import Silent, machine, print_table
from voi import config, experiments, runs
from voi.prepared import prepare
from voi.process import tune_for_training

SETTINGS = [
    "data.tokens={min_count=1}",
    "training.epochs=1",
    "training.max_tokens=0",
    "training.share=true",
    "training.validate_every=1000000",
    "training.checkpoint_every=1000000",
    "training.valid_examples=8",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data/django")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    tune_for_training()  # as `voi train` does
    torch.set_num_threads(arguments.threads)
    table = experiments.load_table("django-small")
    table["training"]["phases"] = [{}]
    share = ["training.epochs=0.1"] if arguments.quick else []
    settings = [f"data.options.folder={arguments.data}", *SETTINGS, *share]
    prepared = prepare(config.experiment(experiments.override(table, settings)))
    with tempfile.TemporaryDirectory() as folder:
        trainer = runs.start(prepared, Path(folder) / "run", Silent())
        wall, cpu = time.perf_counter(), time.process_time()
        trainer.run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(machine())
    size = len(prepared.codec.vocabulary)
    header = ["steps", "words", "CPU min", "min", "ms per step"]
    row = [trainer.total, f"{size:,}", f"{cpu / 60:.2f}", f"{wall / 60:.2f}"]
    row += [f"{1e3 * wall / trainer.total:.0f}"]
    print_table("One epoch of Django", header, [[str(value) for value in row]])


if __name__ == "__main__":
    main()
