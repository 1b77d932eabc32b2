"""Does log p(y, z | x) rise as an order comes nearer to the one its decoder was taught?

    python benchmarks/nearness.py --captions captions_val2017.json.gz
    python benchmarks/nearness.py                              captions of the embedded scenes

The decoder is that of `voi bench recovery`, which writes 64 captions, common words first; it is
taught anew unless --decoder names its folder. From the taught order pairs of steps are swapped at
random, more and more of them. Told are the mean distance (NLD) to the taught order, the mean
log p(y, z | x), and the rank correlation of both within a caption.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from scipy.stats import spearmanr
from torch import Tensor

from measure import machine, print_table
from voi.analysis import normalized_levenshtein
from voi.bench.frozen import DecoderSize, Frozen, frozen_decoder

SWAPS = (0, 1, 2, 3, 4, 6, 8, 12, 16)
DRAWS = 4  # orders of each caption for each number of swaps


def swapped(
    orders: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"], count: int
) -> Int[Tensor, "batch n"]:
    """Return orders in which so many pairs of steps, drawn one after the other, are swapped."""
    found = orders.clone()
    for order, n in zip(found, lengths.tolist(), strict=True):
        for _ in range(count if n > 1 else 0):
            a, b = torch.randperm(n)[:2].tolist()
            order[[a, b]] = order[[b, a]]
    return found


@torch.no_grad()
def measured(frozen: Frozen) -> tuple[list[list[str]], float]:
    """Return rows of swaps, distance and log p, and the mean rank correlation of the captions."""
    lengths = frozen.batch.lengths
    counts = [count for count in SWAPS for _ in range(DRAWS)]
    orders = torch.stack([swapped(frozen.common, lengths, count) for count in counts])
    sizes = lengths.expand(orders.shape[:-1])
    distances = np.asarray(normalized_levenshtein(orders, frozen.common, sizes))  # [draws, batch]
    rewards = frozen.networks.decoder.log_prob(frozen.batch, orders).numpy()
    rows = [
        [str(count), f"{distances[chosen].mean():.2f}", f"{rewards[chosen].mean():.1f}"]
        for count in SWAPS
        for chosen in [np.equal(counts, count)]
    ]
    pairs = zip(distances.T, rewards.T, strict=True)
    return rows, float(np.mean([spearmanr(*pair).statistic for pair in pairs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", default="", help="a file of captions; none: scenes")
    parser.add_argument("--decoder", type=Path, help="decoder/ of a voi bench recovery")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    with tempfile.TemporaryDirectory() as taught:
        folder = arguments.decoder or Path(taught) / "decoder"
        frozen = frozen_decoder(folder, DecoderSize(arguments.captions))
    torch.manual_seed(0)
    rows, correlation = measured(frozen)
    title = f"{len(frozen.batch)} captions, {DRAWS} orders each, seed 0"
    print_table(title, ["pairs swapped", "NLD", "log p(y, z | x)"], rows)
    print(f"rank correlation within a caption, mean: {correlation:.2f}")


if __name__ == "__main__":
    main()
