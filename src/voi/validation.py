"""Networks and a split -> how well targets are modelled, written, and in which order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from voi.batch import Batch, collate, make_batches
from voi.data import Example, Task
from voi.data.tasks import accepts_more, is_right, order_distance
from voi.networks import Networks
from voi.objective import Elbo, elbo
from voi.search import Found, ids_in_reading_order, search
from voi.tokens import Codec, Corpus
from voi.tokens.vocabulary import UNK


@dataclass(frozen=True)
class Judge:
    """What a task says of a corpus: which orders are best, and which targets are right."""

    task: Task
    codec: Codec
    examples: Sequence[Example]  # that the corpus was made of
    corpus: Corpus

    def distance(self, order: Sequence[int], row: int) -> float | None:
        """Return the NLD of an order of a target to the nearest best one; None: none is known."""
        return order_distance(self.task, self._example(row), order)

    def knows_orders(self, batch: Batch) -> bool:
        """Return whether a best order of any target of a batch is known."""
        left_to_right = torch.arange(batch.target.shape[1]).expand(len(batch), -1)
        return any(True for _ in self.distances(left_to_right, batch))

    def distances(self, orders: Int[Tensor, "batch n"], batch: Batch) -> Iterator[float]:
        """Yield the distance of each order of a batch, where a best one is known."""
        assert batch.rows is not None
        for order, length, row in zip(orders, batch.lengths, batch.rows, strict=True):
            value = self.distance(order[: int(length)].tolist(), int(row))
            if value is not None:
                yield value

    def is_right(self, written: Found, row: int) -> bool:
        """Return whether a target was written exactly, or as the task accepts it."""
        ids = ids_in_reading_order(written)
        if _is_same(ids, self.corpus.targets[row].tolist()):
            return True
        if not accepts_more(self.task):
            return False
        example = self._example(row)
        text = self.codec.text(self.codec.decode(ids, example.source))
        return is_right(self.task, example, text)

    def _example(self, row: int) -> Example:
        return self.examples[int(self.corpus.origin[row])]


def _is_same(written: list[int], target: list[int]) -> bool:
    """Return whether a target was written exactly; an unknown word may be any word."""
    return UNK not in target and written == target


@dataclass(frozen=True)
class Validation:
    """What a split says of two networks."""

    elbo: Elbo
    accuracy: float  # share of targets written right, greedily
    distance: float | None  # mean NLD of the likeliest orders to the nearest best one
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
    judge: Judge,
    *,
    num_orders: int,
    max_length: int,
    batch_size: int = 64,
) -> Validation:
    """Return ELBO, greedy accuracy and order distance over the whole corpus of a judge."""
    networks.eval()
    corpus = judge.corpus
    parts, distances = [], []
    written: dict[int, Found] = {}
    for rows in make_batches(corpus.targets.lengths, corpus.source_lengths, batch_size):
        batch = collate(corpus, rows).to(networks.device)
        source = networks.decoder.encode(batch)
        q = networks.orders(batch, source)
        orders = q.sample(torch.Size([num_orders]))
        terms = networks.decoder.step_log_probs(batch, orders, source)
        parts.append(elbo(q, orders, terms, batch.lengths))
        found = search(networks.decoder, source, max_length=max_length)
        written |= {int(row): best for (best, *_), row in zip(found, rows, strict=True)}
        distances += list(judge.distances(q.mode, batch))
    mean_distance = float(np.mean(distances)) if distances else None
    accuracy = sum(judge.is_right(best, row) for row, best in written.items()) / len(corpus)
    return Validation(sum(parts[1:], parts[0]), accuracy, mean_distance, written)
