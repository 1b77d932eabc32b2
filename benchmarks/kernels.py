"""The algebra of orders, linear maps and attention against plain references, with the same results.

    python benchmarks/kernels.py            a minute
    python benchmarks/kernels.py --quick    small sizes

Every pair is checked for equality before it is timed.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from measure import interleaved, machine, print_table, ratio
from voi.attention import attend
from voi.bench.timing import Timed
from voi.distributions import GumbelMatching, PlackettLuce, log_permanent_bethe
from voi.distributions.matching import assignment
from voi.linear import linear
from voi.permutation import insertion_neighbours, insertion_slots, relative_positions
from voi.process import tune_for_training

ROWS = 128  # batch 32, K = 4


def plain_assignment(scores: Tensor, lengths: Tensor) -> Tensor:
    """The whole padded matrix of every row, the tail tied to the identity."""
    n = scores.shape[-1]
    solved = []
    for matrix, length in zip(scores.double(), lengths.tolist(), strict=True):
        tied = torch.full((n, n), -1e9, dtype=torch.float64).fill_diagonal_(0)
        tied[:length, :length] = matrix[:length, :length]
        solved.append(linear_sum_assignment(tied.numpy(), maximize=True)[1])
    return torch.from_numpy(np.stack(solved))


def plain_slots(orders: Tensor) -> Tensor:
    rows = [[sum(s < z for s in row[:t]) for t, z in enumerate(row)] for row in orders.tolist()]
    return torch.tensor(rows)


def plain_neighbours(orders: Tensor) -> Tensor:
    """The left neighbours, by keeping the written tokens sorted."""
    found = []
    for row in orders.tolist():
        written: list[int] = []
        left = []
        for place in row:
            below = [s for s in written if s < place]
            left.append(row.index(max(below)) + 1 if below else 0)
            written.append(place)
        found.append(left)
    return torch.tensor(found)


def plain_relations(orders: Tensor) -> Tensor:
    rows = [[[(b > a) - (b < a) for b in row] for a in row] for row in orders.tolist()]
    return torch.tensor(rows)


def plain_bethe(logits: Tensor, iterations: int) -> Tensor:
    """Belief propagation on the matching, message by message, for one matrix."""
    values = []
    for matrix in logits.double():
        n = len(matrix)
        weights = matrix.exp()
        down = torch.ones(n, n, dtype=torch.float64)
        for _ in range(iterations):
            product = weights * down
            up = weights / (product.sum(1, keepdim=True) - product).clamp(min=1e-300)
            down = 1 / (up.sum(0, keepdim=True) - up).clamp(min=1e-300)
        marginals = (weights * down).div((weights * down).sum(1, keepdim=True))
        values.append(marginals)
    return torch.stack(values)


def plain_plackett_luce(logits: Tensor) -> Tensor:
    """Positions drawn one after the other without replacement."""
    return torch.multinomial(logits.softmax(-1), logits.shape[-1])


def learned(function: Callable[..., Tensor], inputs: Sequence[Tensor]) -> Tensor:
    """Return the gradient of the first input, once all gradients are computed."""
    value = function(*inputs)
    return torch.autograd.grad(value, inputs, torch.ones_like(value))[0]


def linear_pairs(n: int) -> dict[str, tuple[Timed, Timed, bool]]:
    """Return linear maps of a feed-forward layer and of the token head, batch 32, one order."""
    torch.manual_seed(0)
    found: dict[str, tuple[Timed, Timed, bool]] = {}
    for width, out in ((64, 64), (64, 256), (128, 512), (512, 2048), (128, 8000)):
        inputs = [
            torch.randn(*shape, requires_grad=True) for shape in ((32 * n, width), (out, width))
        ]
        found[f"linear {width} to {out} and its gradients"] = (
            partial(learned, linear, inputs),
            partial(learned, torch.nn.functional.linear, inputs),
            False,
        )
    return found


def attention_pairs(n: int) -> dict[str, tuple[Timed, Timed, bool]]:
    """Return attention of written tokens to those before them: width 64, 4 heads, batch 64, K = 4.

    The reference is the softmax of torch.
    """
    torch.manual_seed(0)
    visible = torch.ones(n, n).tril().bool()
    inputs = [torch.randn(256, 4, n, 16, requires_grad=True) for _ in "qkv"]
    inputs.append(torch.randn(256, 4, n, n, requires_grad=True))

    def plain(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        logits = queries @ keys.transpose(-1, -2) + bias
        return logits.masked_fill(~visible, -math.inf).softmax(-1) @ values

    def ours(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        return attend(queries, keys, values, visible.expand(1, 1, n, n), bias)

    name = "attention and its gradients"
    return {name: (partial(learned, ours, inputs), partial(learned, plain, inputs), False)}


def pairs(n: int) -> dict[str, tuple[Timed, Timed, bool]]:
    """Return ours, the reference, and whether their results must be equal, by name."""
    torch.manual_seed(0)
    scores, keys = torch.randn(ROWS, n, n), torch.rand(ROWS, n)
    lengths = torch.randint(n // 2, n + 1, (ROWS,))
    orders = keys.argsort(-1)
    steps = torch.arange(n)
    near = 2 * scores - (steps - steps.unsqueeze(1)).abs()
    law = PlackettLuce(torch.randn(ROWS, n), validate_args=False)
    return {
        "assignment, valid blocks": (
            lambda: assignment(scores, lengths),
            lambda: plain_assignment(scores, lengths),
            True,
        ),
        "slots": (lambda: insertion_slots(orders), lambda: plain_slots(orders), True),
        "neighbours": (
            lambda: insertion_neighbours(orders).left,
            lambda: plain_neighbours(orders),
            True,
        ),
        "relations": (lambda: relative_positions(orders), lambda: plain_relations(orders), True),
        "Gumbel top-k (Plackett-Luce)": (
            lambda: law.sample(torch.Size([1]))[0],
            lambda: plain_plackett_luce(law.logits),
            False,
        ),
        "Bethe marginals": (
            lambda: log_permanent_bethe(scores).marginals,
            lambda: plain_bethe(scores, 100),
            False,
        ),
        "entropy for a log line (Gumbel-Matching, near reading order)": (
            lambda: GumbelMatching(near).rough_entropy(),
            lambda: GumbelMatching(near).entropy(),
            False,
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    tune_for_training()  # as training does
    torch.set_num_threads(arguments.threads)
    print(machine())
    rows = []
    sizes = (8,) if arguments.quick else (8, 12, 16, 32, 64)
    for n in sizes:
        found = attention_pairs(n) | (
            pairs(n) | linear_pairs(n) if n >= 16 or arguments.quick else {}
        )
        for name, (ours, plain, is_same) in found.items():
            first, second = ours(), plain()
            assert isinstance(first, Tensor)
            assert isinstance(second, Tensor)
            if is_same:
                assert torch.equal(first, second), name
            elif "Gumbel" not in name:
                assert math.isclose((first - second).abs().max().item(), 0, abs_tol=1e-3), name
            timed = interleaved({"ours": ours, "plain": plain}, 7)
            median = 1e3 * statistics.median(timed["ours"])
            rows.append([f"{name}, n = {n}", f"{median:.2f}", ratio(timed, "plain", "ours")])
    print_table(f"{ROWS} rows", ["", "ms", "times faster than plain"], rows)


if __name__ == "__main__":
    main()
