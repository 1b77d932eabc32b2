"""Networks and a split -> how well targets are modelled, written, and in which order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from voi.analysis import nearest, normalized_levenshtein
from voi.batch import Batch, collate, make_batches
from voi.networks import Networks
from voi.objective import Elbo, elbo
from voi.search import Found, ids_in_reading_order, search
from voi.tokens import Corpus
from voi.tokens.vocabulary import UNK

KnownOrders = Callable[[int], Sequence[Sequence[int]]]  # row of the corpus -> equally good orders


@dataclass(frozen=True)
class Validation:
    """What a split says of two networks."""

    elbo: Elbo
    accuracy: float  # share of targets written exactly, greedily
    distance: float | None  # mean NLD of the likeliest orders to the nearest known best one
    written: Mapping[int, Found]  # by row of the corpus

    @property
    def values(self) -> dict[str, float]:
        """The values by name; "score" is the ELBO per token, by which checkpoints are chosen."""
        parts = self.elbo.per_token
        distance = {} if self.distance is None else {"distance": self.distance}
        return {"score": parts["elbo"], **parts, "accuracy": self.accuracy, **distance}


@torch.no_grad()
def validate(
    networks: Networks,
    corpus: Corpus,
    *,
    num_orders: int,
    max_length: int,
    known_orders: KnownOrders,
    device: str = "cpu",
    batch_size: int = 64,
) -> Validation:
    """Return ELBO, greedy accuracy and order distance over a whole corpus."""
    networks.eval()
    parts, distances = [], []
    written: dict[int, Found] = {}
    for rows in make_batches(corpus.targets.lengths, corpus.source_lengths, batch_size):
        batch = collate(corpus, rows).to(device)
        source = networks.decoder.encode(batch)
        q = networks.orders(batch, source)
        orders = q.sample(torch.Size([num_orders]))
        terms = networks.decoder.step_log_probs(batch, orders, source)
        parts.append(elbo(q, orders, terms, batch.lengths))
        found = search(networks.decoder, source, max_length=max_length)
        written |= {int(row): best for (best, *_), row in zip(found, rows, strict=True)}
        distances += list(known_distances(q.mode, batch, known_orders))
    mean_distance = float(np.mean(distances)) if distances else None
    num_right = sum(_is_right(best, corpus.targets[row].tolist()) for row, best in written.items())
    accuracy = num_right / len(corpus)
    return Validation(sum(parts[1:], parts[0]), accuracy, mean_distance, written)


def _is_right(written: Found, target: list[int]) -> bool:
    """Return whether a target was written exactly; an unknown word may be any word."""
    return UNK not in target and ids_in_reading_order(written) == target


def known_distances(
    orders: Int[Tensor, "batch n"], batch: Batch, known_orders: KnownOrders
) -> Iterator[float]:
    """Yield the NLD of each order to the nearest known best one, where one is known."""
    assert batch.rows is not None
    for order, length, row in zip(orders, batch.lengths, batch.rows, strict=True):
        known = known_orders(int(row))
        if known:
            yield float(nearest(order[: int(length)], known, normalized_levenshtein))
