"""How fast a training step is: VOI by K, left to right, and Marian of `transformers`.

    python benchmarks/train.py              both widths, a quarter of an hour
    python benchmarks/train.py --quick      some of it, two minutes

Every step is a real update: source encoded, orders sampled, targets scored, gradients, Adam.
Floating-point operations are counted by torch on the same step; a column says which part of the
peak of a large matrix product, measured in the same run, the step reaches. `pip install
transformers` first; it is used in benchmarks only.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from measure import interleaved, machine, print_table
from voi.batch import Batch
from voi.bench.steps import NetworkSize, random_batch, training_step
from voi.process import tune_for_training
from voi.tokens import END, PAD, START

SIZES = {
    128: NetworkSize(width=128, layers=2, heads=4, vocabulary=8000),
    512: NetworkSize(width=512, layers=6, heads=8, vocabulary=8000),
}


def peer(size: NetworkSize, batch: Batch) -> Callable[[], object]:
    """Return an update of Marian of the same size, left to right, with Adam and clipping.

    Its source ends with END, as its tokenizer writes it; ours begins with a state for "nothing".
    """
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError as error:
        raise SystemExit("the peer is missing: pip install transformers") from error
    config = MarianConfig(
        vocab_size=size.vocabulary,
        d_model=size.width,
        encoder_ffn_dim=4 * size.width,
        decoder_ffn_dim=4 * size.width,
        encoder_layers=size.layers,
        decoder_layers=size.layers,
        encoder_attention_heads=size.heads,
        decoder_attention_heads=size.heads,
        dropout=0.0,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=START,
    )
    model = MarianMTModel(config).train()
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    assert batch.source is not None
    labels = torch.nn.functional.pad(batch.target, (0, 1), value=END)
    source = torch.nn.functional.pad(batch.source, (0, 1), value=END)
    mask = torch.ones_like(source)

    def step() -> None:
        adam.zero_grad(set_to_none=True)
        model(input_ids=source, attention_mask=mask, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()

    return step


def voi_step(size: NetworkSize, batch: Batch, num_orders: int) -> Callable[[], object]:
    """Return an update of VOI; on one order of each target the generator is frozen."""
    settings = {"freeze_orders": num_orders == 1}
    return training_step("voi", size, batch, num_orders, settings)


def count_operations(step: Callable[[], object]) -> float:
    """Return the floating-point operations of a step; attention is counted as its products.

    Torch does not count those of oneDNN, which is therefore left out here.
    """
    plain = (sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False))
    with plain[0], plain[1], FlopCounterMode(display=False) as counter:
        step()
    return float(counter.get_total_flops())


def matmul_peak() -> float:
    """Return the operations per second of a large matrix product."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - start)
    return 2 * 2048**3 / statistics.median(seconds[1:])


def table(width: int, count: int, n: int, orders: list[int], repetitions: int) -> list[list[str]]:
    """Return one row per kind of step."""
    size = SIZES[width]
    batch = random_batch(n, count, size.vocabulary)
    steps = {f"voi K={k}": voi_step(size, batch, k) for k in orders}
    steps["l2r"] = training_step("l2r", size, batch, 1)
    steps["l2r without slots"] = training_step("sequential", size, batch, 1)
    steps["marian"] = peer(size, batch)
    operations = {name: count_operations(step) for name, step in steps.items()}
    peaks = [matmul_peak()]
    timed = interleaved(steps, repetitions)
    peaks.append(matmul_peak())
    peak = statistics.mean(peaks)
    rows = []
    for name, seconds in timed.items():
        median = statistics.median(seconds)
        turns = [s / base for s, base in zip(seconds, timed["l2r"], strict=True)]
        counted = operations[name] / operations["l2r"]
        ratio = statistics.median(turns)
        tokens = count * (n + 1) / median
        rows.append(
            [
                f"{width}, batch {count}, n {n}, {name}",
                f"{1e3 * median:.0f}",
                f"{tokens:.0f}",
                f"{ratio:.2f}",
                f"{counted:.2f}",
                f"{ratio / counted:.2f}",
                f"{operations[name] / median / peak:.0%}",
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions, sizes and orders")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--widths", type=int, nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--lengths", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 32])
    parser.add_argument(
        "--orders", type=int, nargs="*", default=[1, 2, 4, 10], help="none: L2R only"
    )
    parser.add_argument("--turns", type=int, help="default 7; width 512 or --quick: 3")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of the peer
    tune_for_training()  # as `voi train` does
    torch.set_num_threads(arguments.threads)
    print(machine())
    header = ["step", "ms", "tokens/s", "times l2r", "operations", "over them", "of the peak"]
    for width in arguments.widths:
        for count in [32] if arguments.quick else arguments.batches:
            rows = []
            for n in [16] if arguments.quick else arguments.lengths:
                repetitions = arguments.turns or (3 if arguments.quick or width > 128 else 7)
                chosen = [4] if arguments.quick else arguments.orders
                rows += table(width, count, n, chosen, repetitions)
            print_table(f"A training step, width {width}, batch {count}", header, rows)


if __name__ == "__main__":
    main()
