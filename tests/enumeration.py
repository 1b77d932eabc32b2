"""The oracle of the tests: every order of a small length, listed."""

from itertools import permutations
from math import factorial

import torch
from torch import Tensor


def all_orders(n: int) -> Tensor:
    """All orders of n positions, `[n!, n]`, left to right first."""
    return torch.tensor(list(permutations(range(n))), dtype=torch.int64).reshape(factorial(n), n)


def matching_scores(scores: Tensor) -> Tensor:
    """<scores, P> for every order, `[n!, *batch]`, by products with permutation matrices."""
    n = scores.shape[-1]
    matrices = torch.eye(n, dtype=scores.dtype)[all_orders(n)]  # [n!, n, n]
    return torch.einsum("zti,...ti->z...", matrices, scores)


def best_matching(scores: Tensor) -> Tensor:
    """argmax_P <scores, P>, `[*batch, n]`, by trying every order."""
    return all_orders(scores.shape[-1])[matching_scores(scores).argmax(dim=0)]
