"""What the parameters and samples of laws over orders must satisfy."""

import torch
from torch import Tensor
from torch.distributions import constraints

from voi.permutation import is_permutation


class _Permutation(constraints.Constraint):
    """Orders `[*batch, n]`; with `lengths`, those that leave the padded tail in place."""

    is_discrete = True
    event_dim = 1

    def __init__(self, lengths: Tensor | None = None) -> None:
        self.lengths = lengths
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        if value.is_floating_point() or value.dtype == torch.bool:
            return torch.zeros(value.shape[:-1], dtype=torch.bool, device=value.device)
        return is_permutation(value, self.lengths)


class _Finite(constraints.Constraint):
    """Real numbers without infinities: every order keeps a positive probability."""

    def __init__(self, event_dim: int) -> None:
        self.event_dim = event_dim  # constraints.independent refuses empty batches

    def check(self, value: Tensor) -> Tensor:
        return value.isfinite().flatten(-self.event_dim).all(-1)


permutation = _Permutation()
finite_vector = _Finite(1)
finite_matrix = _Finite(2)


def permutation_within(lengths: Tensor) -> constraints.Constraint:
    """Return the constraint of orders that permute the first `lengths` steps alone."""
    return _Permutation(lengths)
