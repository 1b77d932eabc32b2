"""How long finding the order of one target takes: a pass of the generator, and SAO's search."""

import csv
import io
import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from voi.atomic import write_text
from voi.batch import Batch, collate
from voi.bench.cells import Rows
from voi.bench.curves import write_by_length
from voi.bench.timing import Timed, growth, machine, medians
from voi.data.example import first
from voi.data.tasks import chosen_split
from voi.devices import seeded
from voi.errors import ConfigError
from voi.model import Model
from voi.networks import Networks
from voi.orders import OrderGenerator, search_orders
from voi.progress import Told, untold
from voi.tokens import Corpus, build_corpus
from voi.tokens.limits import ANY_LENGTH

FILES = "orders-runtime"  # .csv, .json and .svg


def searches(networks: Networks, batch: Batch, beam: int) -> dict[str, Timed]:
    """Return functions that find an order of a batch; each encodes the source itself."""

    @torch.no_grad()
    def one_pass() -> object:
        return networks.orders(batch).sample(torch.Size([1]))

    return {"voi": one_pass, "sao": lambda: search_orders(networks.decoder, batch, beam=beam)}


@dataclass(frozen=True)
class Settings:
    """Which targets of a run are timed, and how often."""

    run: str
    split: str = "test"
    limit: int = 0  # targets; 0: all
    beam: int = 8  # of SAO
    repetitions: int = 5  # of both, for each target


@dataclass(frozen=True)
class TargetTimes:
    """Median seconds in which the order of a target was found."""

    example: int  # its index in the split
    n: int  # tokens
    voi: float
    sao: float


@dataclass(frozen=True)
class LengthTimes:
    """The median seconds of the targets of one length."""

    n: int
    targets: int
    voi: float
    sao: float


def targets_of(model: Model, settings: Settings) -> Corpus:
    """Return the targets to be timed; a run without a generator is an error."""
    _check_generator(model, settings.run)
    examples = chosen_split(model.task(), settings.split)
    chosen = first(examples, settings.limit or len(examples))
    return build_corpus(chosen, model.codec, ANY_LENGTH)[0]


def _check_generator(model: Model, run: str) -> None:
    order, head = model.experiment.order.kind, model.experiment.decoder.head
    if not isinstance(model.networks.orders, OrderGenerator):
        raise ConfigError(
            f'{run} has no order generator to time: expected order.kind = "voi" and decoder.head = '
            f'"insertion", got "{order}" and "{head}"; name a run of `voi train` with --order voi'
        )


def measure(
    model: Model, targets: Corpus, settings: Settings, told: Told = untold
) -> list[TargetTimes]:
    """Return the times of targets, one at a time; generator and search take turns.

    Batches are made before the clock starts.
    """
    found: list[TargetTimes] = []
    with seeded(0, model.device):
        for row in range(len(targets)):
            batch = collate(targets, np.array([row])).to(model.device)
            both = searches(model.networks, batch, settings.beam)
            seconds = medians(both, settings.repetitions)
            found.append(TargetTimes(row, int(batch.lengths[0]), **seconds))
            told("orders", row + 1, len(targets))
    return found


def by_length(times: Sequence[TargetTimes]) -> list[LengthTimes]:
    """Return the medians of each length, the shortest first."""
    groups: dict[int, list[TargetTimes]] = defaultdict(list)
    for target in times:
        groups[target.n].append(target)
    return [
        LengthTimes(
            n,
            len(group),
            statistics.median(target.voi for target in group),
            statistics.median(target.sao for target in group),
        )
        for n, group in sorted(groups.items())
    ]


def exponents(lengths: Sequence[LengthTimes]) -> dict[str, float]:
    """Return b of the a n^b that fits the medians best; nothing if all targets have one length."""
    if len(lengths) < 2:
        return {}
    curves = {
        "voi": [length.voi for length in lengths],
        "sao": [length.sao for length in lengths],
        "sao / voi": [length.sao / length.voi for length in lengths],
    }
    return {name: growth([length.n for length in lengths], y) for name, y in curves.items()}


def rows(lengths: Sequence[LengthTimes]) -> Rows:
    """Return the table, one row per length, its header first; times in milliseconds."""
    table = [["n", "targets", "order voi", "order sao", "sao / voi"]]
    for length in lengths:
        times = [f"{1e3 * seconds:.1f}" for seconds in (length.voi, length.sao)]
        ratio = f"{length.sao / length.voi:.1f}"
        table.append([str(length.n), str(length.targets), *times, ratio])
    return table


def write(times: Sequence[TargetTimes], settings: Settings, folder: Path) -> None:
    """Write a row per target, the medians by length with what they are of, and their plot."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["example", "n", "seconds_voi", "seconds_sao"])
    writer.writerows([x.example, x.n, f"{x.voi:.6f}", f"{x.sao:.6f}"] for x in times)
    write_text(folder / f"{FILES}.csv", text.getvalue())
    lengths = by_length(times)
    values = {
        "machine": machine(),
        "settings": asdict(settings),
        "lengths": [asdict(length) for length in lengths],
        "exponents": exponents(lengths),
    }
    write_text(folder / f"{FILES}.json", json.dumps(values, indent=1) + "\n")
    curves = {name: [asdict(length)[name] for length in lengths] for name in ("voi", "sao")}
    sizes = [length.n for length in lengths]
    write_by_length(folder / f"{FILES}.svg", sizes, curves, "ms per order")
