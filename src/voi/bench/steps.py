"""Real updates of freshly made networks on random targets, to be timed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from voi import config
from voi.batch import Batch
from voi.networks import Networks
from voi.orders import OrderGenerator
from voi.training.optimiser import Optimiser
from voi.training.update import Update


@dataclass(frozen=True)
class NetworkSize:
    """The two networks; feed-forward layers are four times as wide."""

    width: int = 128
    layers: int = 2  # of source encoder and decoder each
    heads: int = 4
    vocabulary: int = 1000
    beam: int = 8  # of SAO


def make_networks(
    kind: str, size: NetworkSize, num_orders: int, settings: Mapping[str, object] | None = None
) -> tuple[config.Experiment, Networks]:
    """Return an experiment with an order of that kind and its networks, the same every time.

    "sequential" is left to right by a decoder without slots, which can write in no other order.
    """
    torch.manual_seed(0)
    sizes = {"width": size.width, "hidden": 4 * size.width, "heads": size.heads}
    sizes |= {"layers": size.layers, "source_layers": size.layers}
    is_sequential = kind == "sequential"
    order = {**sizes, "kind": "l2r" if is_sequential else kind, "beam": size.beam}
    decoder = {**sizes, "head": "sequential" if is_sequential else "insertion"}
    training = {"steps": 1, "num_orders": num_orders, **(settings or {})}
    experiment = config.experiment({"decoder": decoder, "order": order, "training": training})
    return experiment, Networks(experiment, torch.ones(size.vocabulary, dtype=torch.long))


def random_batch(n: int, count: int, vocabulary: int) -> Batch:
    """Return targets and sources of n random tokens each; nothing is padded."""
    source, target = (torch.randint(4, vocabulary, (count, n)) for _ in range(2))
    lengths = torch.full((count,), n)
    return Batch(target, lengths, source, source_lengths=lengths)


def training_step(
    kind: str,
    size: NetworkSize,
    batch: Batch,
    num_orders: int,
    settings: Mapping[str, object] | None = None,
) -> Callable[[], object]:
    """Return what takes one update; a generator shares the decoder's source encoder."""
    experiment, networks = make_networks(kind, size, num_orders, settings)
    if isinstance(networks.orders, OrderGenerator):
        networks.orders.share(networks.decoder)
    decoder, orders = networks.decoder, networks.orders
    phase = experiment.training.phases[0]
    decoder_adam, order_adam = (Optimiser(x, (0.9, 0.98), 1.0) for x in (decoder, orders))
    update = Update(experiment, phase, networks, orders, decoder_adam, order_adam)
    return lambda: update([batch], 0, 1e-4, 1.0)
