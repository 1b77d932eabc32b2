"""How long a training step and the search for an order take, by length: L2R, VOI and SAO."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from voi.atomic import write_text
from voi.bench.curves import write_by_length
from voi.bench.inference import searches
from voi.bench.steps import NetworkSize, make_networks, random_batch, training_step
from voi.bench.timing import Timed, growth, machine, medians

NUM_ORDERS = {"l2r": 1, "voi": 4, "sao": 1}


@dataclass(frozen=True)
class RuntimeSize:
    """The networks that are timed, and how often."""

    networks: NetworkSize = field(default_factory=NetworkSize)
    batch_size: int = 8  # of a training step; orders are searched one target at a time
    repetitions: int = 5


@dataclass(frozen=True)
class Runtime:
    """Median seconds by length, of every method."""

    lengths: tuple[int, ...]
    training: Mapping[str, list[float]]  # one step: l2r, voi, sao
    search: Mapping[str, list[float]]  # the order of one target: voi, sao

    @property
    def speedup(self) -> list[float]:
        """How many times faster VOI finds an order than SAO."""
        pairs = zip(self.search["sao"], self.search["voi"], strict=True)
        return [sao / voi for sao, voi in pairs]

    def ratio(self, method: str) -> list[float]:
        """Return how many L2R steps a training step of a method costs."""
        return [a / b for a, b in zip(self.training[method], self.training["l2r"], strict=True)]

    def exponents(self) -> dict[str, float]:
        """Return b of the fitted a n^b of every curve."""
        curves = {f"training {name}": values for name, values in self.training.items()}
        curves |= {f"search {name}": values for name, values in self.search.items()}
        curves["search sao / voi"] = self.speedup
        return {name: growth(self.lengths, values) for name, values in curves.items()}


def measure(
    lengths: Sequence[int], size: RuntimeSize, said: Callable[[str], None] = print
) -> Runtime:
    """Return the times of all methods; a length's methods take turns."""
    training: dict[str, list[float]] = {name: [] for name in NUM_ORDERS}
    search: dict[str, list[float]] = {"voi": [], "sao": []}
    for n in lengths:
        batch = random_batch(n, size.batch_size, size.networks.vocabulary)
        steps = {
            name: training_step(name, size.networks, batch, num_orders)
            for name, num_orders in NUM_ORDERS.items()
        }
        for name, seconds in medians(steps, size.repetitions).items():
            training[name].append(seconds)
        for name, seconds in medians(_searches(n, size), size.repetitions).items():
            search[name].append(seconds)
        parts = [f"{name} {1e3 * values[-1]:.1f} ms" for name, values in training.items()]
        found = [f"{name} {1e3 * values[-1]:.1f} ms" for name, values in search.items()]
        said(f"n = {n}: step {', '.join(parts)}; order {', '.join(found)}")
    return Runtime(tuple(lengths), training, search)


def _searches(n: int, size: RuntimeSize) -> dict[str, Timed]:
    """Return functions that find an order of one target of random tokens."""
    _, networks = make_networks("voi", size.networks, NUM_ORDERS["voi"])
    networks.eval()
    batch = random_batch(n, 1, size.networks.vocabulary)
    return searches(networks, batch, size.networks.beam)


def rows(runtime: Runtime) -> list[list[str]]:
    """Return the table, one row per length, its header first; times in milliseconds."""
    header = ["n", *(f"step {name}" for name in runtime.training)]
    header += ["voi / l2r", "sao / l2r", *(f"order {name}" for name in runtime.search), "sao / voi"]
    table = [header]
    for i, n in enumerate(runtime.lengths):
        step = [f"{1e3 * values[i]:.1f}" for values in runtime.training.values()]
        ratios = [f"{runtime.ratio(name)[i]:.2f}" for name in ("voi", "sao")]
        order = [f"{1e3 * values[i]:.1f}" for values in runtime.search.values()]
        table.append([str(n), *step, *ratios, *order, f"{runtime.speedup[i]:.1f}"])
    return table


def write(runtime: Runtime, size: RuntimeSize, folder: Path) -> None:
    """Write runtime.csv, runtime.json and the two plots."""
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    csv.writer(text).writerows(rows(runtime))
    write_text(folder / "runtime.csv", text.getvalue())
    values = {"machine": machine(), "size": asdict(size), **asdict(runtime)}
    values["exponents"] = runtime.exponents()
    write_text(folder / "runtime.json", json.dumps(values, indent=1) + "\n")
    n = runtime.lengths
    write_by_length(folder / "runtime-training.svg", n, runtime.training, "ms per training step")
    write_by_length(folder / "runtime-search.svg", n, runtime.search, "ms per order")
