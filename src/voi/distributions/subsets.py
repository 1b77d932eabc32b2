"""The subsets of n columns by size: the states of dynamic programmes over orders."""

from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class SubsetLevel(NamedTuple):
    """All subsets of k columns; the first of them is {0, ..., k - 1}.

    Writing `column[s, c]` last turns the subset `previous[s, c]` of the level below into subset s.
    """

    members: Bool[Tensor, "subsets n"]
    column: Int[Tensor, "subsets k"]
    previous: Int[Tensor, "subsets k"]


@lru_cache(maxsize=32)
def subset_levels(n: int, device: torch.device) -> tuple[SubsetLevel, ...]:
    """Return the n + 1 levels of subsets of n columns, smallest first.

    >>> subset_levels(2, torch.device("cpu"))[1].column           # {0} and {1}
    tensor([[0],
            [1]])
    """
    with torch.inference_mode(False):  # the levels are kept, and later needed for gradients
        return _levels(n, device)


def _levels(n: int, device: torch.device) -> tuple[SubsetLevel, ...]:
    codes = torch.arange(2**n)
    members = (codes.unsqueeze(-1) >> torch.arange(n)) % 2 == 1  # [2^n, n]
    index = torch.zeros(2**n, dtype=torch.int64)  # of each subset within its level
    levels = []
    for k in range(n + 1):
        level = codes[members.sum(dim=-1) == k]
        index[level] = torch.arange(len(level))
        column = members[level].nonzero()[:, 1].reshape(len(level), k)
        previous = index[level.unsqueeze(-1) - (1 << column)]
        levels.append(SubsetLevel(*(x.to(device) for x in (members[level], column, previous))))
    return tuple(levels)
