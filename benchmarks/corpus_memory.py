"""How much memory millions of pairs need, from files to ids.

    python benchmarks/corpus_memory.py                   one million pairs
    python benchmarks/corpus_memory.py --pairs 5000000   about four minutes of one core

Pairs of words drawn by Zipf's law are written to a temporary folder; another process reads and
checks them, builds the vocabulary and the ids, and makes the batches of an epoch. Its peak holds
everything: Python, the libraries, the pages of the files that are mapped, and the data.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from measure import machine, memory_in_a_process, memory_of, print_table

SOURCE_WORDS, TARGET_WORDS, VOCABULARY = 12, 10, 50_000
LIMIT = 2048  # MiB
BLOCK = 50_000  # pairs drawn at a time


def write_pairs(folder: Path, number: int) -> None:
    """Write train.src and train.tgt."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(VOCABULARY)])
    for side, length in (("src", SOURCE_WORDS), ("tgt", TARGET_WORDS)):
        with (folder / f"train.{side}").open("w") as file:
            for start in range(0, number, BLOCK):
                rows = min(BLOCK, number - start)
                drawn = words[np.minimum(rng.zipf(1.2, (rows, length)), VOCABULARY) - 1]
                file.writelines(" ".join(row) + "\n" for row in drawn)


def read_pairs(folder: str) -> None:
    """Do what a run does with its training pairs before the first update."""
    from voi.batch import make_batches
    from voi.config import DataConfig
    from voi.data.files import FileTask
    from voi.tokens import build_codec, build_corpus

    examples = FileTask(folder=folder).split("train")
    data = DataConfig(task="files", tokens={"min_count": 2})
    corpus, _ = build_corpus(examples, build_codec(data.tokens, examples), data)
    rng = np.random.default_rng(0)
    make_batches(corpus.targets.lengths, corpus.source_lengths, 64, 0, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--read", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        print(*memory_of(lambda: read_pairs(arguments.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_pairs(Path(folder), arguments.pairs)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
        start = time.perf_counter()
        memory = memory_in_a_process(__file__, "--read", folder)
        seconds = time.perf_counter() - start
    print(machine())
    rows = [
        ["files, MiB", f"{size:,.0f}"],
        ["peak of the process, MiB", f"{memory.peak:,.0f}"],
        ["of which for the data, MiB", f"{memory.added:,.0f}"],
        ["bytes per pair", f"{memory.added * 2**20 / arguments.pairs:,.0f}"],
        ["limit, MiB", f"{LIMIT:,}"],
        ["seconds", f"{seconds:,.0f}"],
    ]
    print_table(f"{arguments.pairs:,} pairs", ["", "value"], rows)


if __name__ == "__main__":
    main()
