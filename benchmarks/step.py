"""What an update of both networks spends its time on, part by part.

    python benchmarks/step.py              width 128
    python benchmarks/step.py --width 512
    python benchmarks/step.py --quick      under a minute

The parts are those of voi.training.update, cut at the states between them: each part's gradient is
taken up to the cut. Targets are of equal length, so nothing is padded.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from measure import machine, print_table
from voi.batch import Batch
from voi.bench.steps import NetworkSize, make_networks, random_batch, updating
from voi.decoder import SourceStates, StepLogProbs
from voi.decoder.heads import token_terms
from voi.distributions import GumbelMatching
from voi.networks import Networks
from voi.objective import order_loss
from voi.permutation import Neighbours, insertion_neighbours, relative_positions
from voi.tokens import END
from voi.training.update import Update

VOCABULARY, BATCH, NUM_ORDERS = 8000, 32, 4
RATE = 1e-4
ORDERS = "orders: sampling, algebra, REINFORCE"


@dataclass
class Stopwatch:
    """Seconds of named parts, one value per repetition; a part may be entered several times."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    repetition: int = -1

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        values = self.seconds.setdefault(part, [])
        values += [0.0] * (self.repetition + 1 - len(values))
        values[self.repetition] += time.perf_counter() - start

    def medians(self) -> dict[str, float]:
        """Return the median of each part; the first repetition warms up."""
        return {part: statistics.median(values[1:]) for part, values in self.seconds.items()}


@dataclass
class Training:
    """Networks of one width, their update, and a batch of one length."""

    networks: Networks
    batch: Batch
    update: Update

    @staticmethod
    def make(width: int, length: int) -> "Training":
        size = NetworkSize(width, heads=8, vocabulary=VOCABULARY)
        experiment, networks = make_networks("voi", size, NUM_ORDERS)
        batch = random_batch(length, BATCH, VOCABULARY)
        return Training(networks, batch, updating(experiment, networks))


def cut(x: Tensor) -> Tensor:
    """Return the same values as a leaf that collects its own gradient."""
    return x.detach().requires_grad_()


def step(training: Training, watch: Stopwatch) -> None:
    """Take one step in parts."""
    decoder, generator, batch = training.networks.decoder, training.networks.orders, training.batch
    with watch("source encoding, forward"):
        encoded = decoder.encode(batch)
        source = SourceStates(cut(encoded.states), encoded.mask)
    with watch("generator, forward"):
        q_whole = generator(batch, source)
        logits = cut(q_whole.logits)
        q = GumbelMatching(logits, batch.lengths, validate_args=False)
    with watch(ORDERS):
        orders = q.sample(torch.Size([NUM_ORDERS]))  # [K, batch, n]
        by_example = orders.transpose(0, 1)
        tokens = batch.target.unsqueeze(1).expand_as(by_example).gather(-1, by_example)
        rows, tokens = by_example.flatten(0, 1), tokens.flatten(0, 1)
        relative_positions(rows)  # the decoder does it again: its share is counted twice
        neighbours = insertion_neighbours(rows)
    with watch("decoder, forward"):
        states_whole = decoder.states(tokens, rows, source)
        states = cut(states_whole)
    terms = heads(training, watch, states, tokens, neighbours)
    with watch(ORDERS):
        order_loss(q, orders, terms.joint, 1.0, training.update.experiment.objective).backward()
    with watch("generator, backward"):
        q_whole.logits.backward(logits.grad)
    with watch("decoder, backward"):
        states_whole.backward(states.grad)
    with watch("source encoding, backward"):
        encoded.states.backward(source.states.grad)
    with watch("optimisers"):
        training.update.decoder_optimiser.step(RATE)
        training.update.order_optimiser.step(RATE)


def heads(
    training: Training, watch: Stopwatch, states: Tensor, tokens: Tensor, neighbours: Neighbours
) -> StepLogProbs:
    """Return the terms of log p(y, z | x), their gradient down to the states taken."""
    decoder, shape = training.networks.decoder, (BATCH, NUM_ORDERS, -1)
    assert decoder.slots is not None
    with watch("token head, forward"):
        targets = torch.nn.functional.pad(tokens, (0, 1), value=END).flatten()
        found = token_terms(states.flatten(0, 1), decoder.embedding.weight, targets)
        chosen, means = (x.view(shape).transpose(0, 1) for x in found)  # [K, batch, n + 1]
    with watch("slot head, forward"):
        before, n = states[:, :-1], tokens.shape[1]
        written = torch.ones(n, n, dtype=torch.bool).tril()
        queries = decoder.slots.queries(before, decoder.token_vectors(tokens))
        slots = decoder.slots(queries, decoder.slots.keys(before), written, neighbours)
        slots = slots.view(shape).transpose(0, 1)
    terms = StepLogProbs(chosen, slots, means)
    with watch("token head, backward"):
        (-chosen.sum(-1).mean()).backward()
    with watch("slot head, backward"):
        (-slots.sum(-1).mean()).backward()
    return terms


def measured(width: int, length: int, repetitions: int) -> dict[str, float]:
    """Return the median seconds of the parts, and of whole updates taken between them."""
    training, watch = Training.make(width, length), Stopwatch()
    for watch.repetition in range(repetitions + 1):
        step(training, watch)
        with watch("whole update"):
            training.update([training.batch], len(training.batch), 0, RATE, 1.0)
    return watch.medians()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions and short targets")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    lengths, repetitions = ((16, 32), 2) if arguments.quick else ((16, 32, 64), 7)
    print(machine())
    columns = [measured(arguments.width, n, repetitions) for n in lengths]
    totals = [sum(v for part, v in c.items() if part != "whole update") for c in columns]
    parts = sorted(columns[-1], key=lambda part: -columns[-1][part])
    rows = [[part] for part in parts]
    for column, total in zip(columns, totals, strict=True):
        for row, part in zip(rows, parts, strict=True):
            row.append(f"{1e3 * column[part]:.1f} ({column[part] / total:.1%})")
    title = f"Parts of a step in ms: width {arguments.width}, batch {BATCH}, K = {NUM_ORDERS}"
    print_table(title, ["", *(f"n = {n}" for n in lengths)], rows)


if __name__ == "__main__":
    main()
