"""The known best order of a task as something to train on: what a learned order can reach."""

import torch
from torch import nn

from voi.batch import Batch
from voi.data import Example, Task
from voi.decoder import SourceStates
from voi.distributions import Delta, OrderLaw
from voi.tokens import Codec


class KnownOrder(nn.Module):
    """Answers a batch with the first order that the task knows to be best for each example.

    The task sees the texts of source and target, as the codec writes them; it must list an order.
    """

    def __init__(self, task: Task, codec: Codec):
        super().__init__()
        self.task, self.codec = task, codec
        self._known: dict[tuple[tuple[int, ...], ...], list[int]] = {}

    def forward(self, batch: Batch, source: SourceStates | None = None) -> OrderLaw:
        assert batch.source is not None, "tasks with known orders have sources of text"
        orders = torch.arange(batch.target.shape[1]).repeat(len(batch), 1)
        rows = zip(
            batch.source.tolist(), batch.target.tolist(), batch.lengths.tolist(), strict=True
        )
        for order, (source_ids, target_ids, n) in zip(orders, rows, strict=True):
            order[:n] = torch.tensor(self._order(tuple(source_ids), tuple(target_ids[:n])))
        return Delta(orders.to(batch.target.device), batch.lengths, validate_args=False)

    def _order(self, source: tuple[int, ...], target: tuple[int, ...]) -> list[int]:
        key = (source, target)
        if key not in self._known:
            texts = [" ".join(self.codec.decode(ids, None)) for ids in key]
            self._known[key] = list(self.task.known_orders(Example(texts[0], texts[1]))[0])
        return self._known[key]
