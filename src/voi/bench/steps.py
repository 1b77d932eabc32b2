"""Updates without a trainer: of networks a caller has, or of fresh ones on random targets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from voi import config
from voi.batch import Batch
from voi.networks import Networks
from voi.orders import OrderGenerator
from voi.training.optimiser import Optimiser
from voi.training.update import Update
from voi.world import World


@dataclass(frozen=True)
class NetworkSize:
    """The two networks; feed-forward layers are four times as wide."""

    width: int = 128
    layers: int = 2  # of source encoder and decoder each
    heads: int = 4
    vocabulary: int = 1000
    beam: int = 8  # of SAO


def size_table(width: int, layers: int, heads: int = 4) -> dict[str, int]:
    """Return the sizes of a network as a section of an experiment."""
    same = {"width": width, "hidden": 4 * width, "heads": heads}
    return {**same, "layers": layers, "source_layers": layers}


def updating(
    experiment: config.Experiment,
    networks: Networks,
    world: World = World(),
) -> Update:
    """Return the update of the networks in the first phase of an experiment."""
    training, orders = experiment.training, networks.orders
    decoder = Optimiser(networks.decoder, training.decoder_betas, training.clip, world)
    generator = Optimiser(orders, training.order_betas, training.clip, world)
    return Update(experiment, training.phases[0], networks, orders, decoder, generator, world)


def make_networks(
    kind: str, size: NetworkSize, num_orders: int, settings: Mapping[str, object] | None = None
) -> tuple[config.Experiment, Networks]:
    """Return an experiment with an order of that kind and its networks, the same every time.

    "sequential" is left to right by a decoder without slots, which can write in no other order.
    """
    torch.manual_seed(0)
    sizes = size_table(size.width, size.layers, size.heads)
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
    """Return a function that makes one update; a generator shares the decoder's source encoder."""
    experiment, networks = make_networks(kind, size, num_orders, settings)
    if isinstance(networks.orders, OrderGenerator):
        networks.orders.share(networks.decoder)
    update = updating(experiment, networks)
    return lambda: update([batch], len(batch), 0, 1e-4, 1.0)
