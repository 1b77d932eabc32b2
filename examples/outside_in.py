"""A new order: the first token, the last, the second, the last but one, and so on inwards.

    cd examples && voi train chain --order outside_in:outside_in

An order is a function from a Batch to orders [batch, n]: order[t] is the position that step t
writes. Padding keeps its place at the tail.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from voi.batch import Batch


def outside_in(batch: Batch) -> Int[Tensor, "batch n"]:
    places = torch.arange(batch.target.shape[1])
    from_right = batch.lengths.unsqueeze(1) - 1 - places
    keys = torch.minimum(2 * places, 2 * from_right + 1)  # 0 2 4 .. from the left, 1 3 5 .. right
    keys = torch.where(batch.target_mask, keys, len(places) + places)  # padding: last, in place
    return keys.argsort(-1)
