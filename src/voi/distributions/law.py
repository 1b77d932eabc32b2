"""What laws over orders share: lengths, support and, where they are learned, scores."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints
from torch.types import _size

from voi.distributions.constraints import finite_matrix, finite_vector, permutation_within
from voi.permutation import token_mask

Lengths = Tensor | Sequence[int] | int  # tokens of each row


def block_mask(lengths: Tensor, size: int) -> Tensor:
    """Return `[*batch, size, size]`, True where both step and position are tokens."""
    is_token = token_mask(lengths, size)
    return is_token.unsqueeze(-1) & is_token.unsqueeze(-2)


def whole_numbers(values: Tensor | Sequence[int] | int) -> Tensor:
    """Return them as a tensor of int64, an empty list too; other numbers stay as they are."""
    tensor = torch.as_tensor(values)
    is_empty = isinstance(values, Sequence) and not tensor.numel()
    is_whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)
    return tensor.long() if is_empty or is_whole else tensor


def batch_lengths(lengths: Lengths | None, batch_shape: _size, like: Tensor) -> Tensor:
    """Return the length of every row, the full size `like.shape[-1]` where none is given."""
    if lengths is None:
        return torch.full(tuple(batch_shape), like.shape[-1], device=like.device)
    lengths = whole_numbers(lengths)
    if lengths.dtype != torch.int64:
        raise ValueError(f"lengths must be integers, got {lengths.dtype}")
    lengths = lengths.to(device=like.device)
    try:
        return lengths.expand(torch.broadcast_shapes(lengths.shape, tuple(batch_shape)))
    except RuntimeError:
        raise ValueError(
            f"lengths must broadcast with the batch shape {list(batch_shape)}, got the shape "
            f"{list(lengths.shape)}"
        ) from None


def _check_kind(logits: Tensor) -> None:
    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating-point numbers, got {logits.dtype}")


def vector_logits(logits: Tensor, lengths: Lengths | None) -> tuple[Tensor, Tensor]:
    """Return scores `[*batch, n]`, zero on the tail, and the length of every row."""
    if logits.ndim < 1:
        raise ValueError("logits must be [*batch, n], a score per position, got a scalar")
    _check_kind(logits)
    n, is_ragged = logits.shape[-1], lengths is not None
    lengths = batch_lengths(lengths, logits.shape[:-1], logits)
    logits = logits.expand(*lengths.shape, n)
    return torch.where(token_mask(lengths, n), logits, 0) if is_ragged else logits, lengths


def square_logits(logits: Tensor, lengths: Lengths | None) -> tuple[Tensor, Tensor]:
    """Return a score matrix per row, zero on the padded tail, and the length of every row."""
    if logits.ndim < 2 or logits.shape[-1] != logits.shape[-2]:
        raise ValueError(
            "logits must be [*batch, n, n], a row per step and a column per position, "
            f"got shape {list(logits.shape)}"
        )
    _check_kind(logits)
    n, is_ragged = logits.shape[-1], lengths is not None
    lengths = batch_lengths(lengths, logits.shape[:-2], logits)
    logits = logits.expand(*lengths.shape, n, n)
    return torch.where(block_mask(lengths, n), logits, 0) if is_ragged else logits, lengths


def log_factorial(lengths: Tensor, dtype: torch.dtype) -> Tensor:
    """Return log n!, the logarithm of the number of orders of each row."""
    return torch.lgamma(lengths.to(dtype) + 1)


class OrderLaw(Distribution):
    """A law over orders `[n]` of rows with `lengths` tokens; the tail is `order[t] = t`.

    A subclass sets its own parameters, with padding that affects no result, before it calls this
    constructor with the lengths.
    """

    has_rsample = False
    lengths: Tensor

    def __init__(self, lengths: Tensor, size: int, validate_args: bool | None = None) -> None:
        self.lengths = lengths
        super().__init__(lengths.shape, torch.Size([size]), validate_args=validate_args)
        if self._validate_args and (lengths > size).any():
            raise ValueError(
                f"lengths must lie between 0 and n = {size}, got {int(lengths.max())}: "
                "a row cannot hold more tokens than its order has steps"
            )

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return permutation_within(self.lengths)

    @property
    def size(self) -> int:
        """n, the padded length of an order."""
        return self.event_shape[0]

    @property
    def is_token(self) -> Tensor:
        """`[*batch, n]`, True on tokens."""
        return token_mask(self.lengths, self.size)

    def log_potential(self, value: Tensor) -> Tensor:
        """Return `log_prob(value)` up to a term that is the same for every order.

        A score-function estimate whose baseline comes from the same samples needs no more: its
        advantages sum to zero, and with them the term left out.
        """
        return self.log_prob(value)

    def entropy(self) -> Tensor:
        """Return the entropy of each row, where the law has a closed form or a near one."""
        raise NotImplementedError(
            f"{type(self).__name__} has no closed form of its entropy: estimate it by "
            "-q.log_prob(q.sample((K,))).mean(0)"
        )

    def rough_entropy(self) -> Tensor:
        """Return the entropy, or what is near it and much sooner computed, without gradient."""
        return self.entropy()

    def proposal(self) -> "OrderLaw":
        """Return a law near this one whose samples and density agree, for importance weights."""
        return self

    def _broadcast(self, value: Tensor) -> Tensor:
        """Check a value and give it all batch dimensions."""
        if self._validate_args:
            self._validate_sample(value)
        shape = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        return value.long().expand(*shape, self.size)


class ScoredLaw(OrderLaw):
    """A law made of scores, `logits`: a matrix of step against final position, or a vector.

    A subclass says which by `logits_shape`: `[*batch, n, n]`, or `[*batch, n]`, one score per
    position. Scores of the padded tail are set to zero. What `sample`, `log_prob` and `mode` need
    beside them is given by keyword, and named in `options` for `expand`; what it must be is said in
    `arg_constraints`, where scores and lengths need not be named.
    """

    logits_shape: Literal["matrix", "vector"] = "matrix"
    logits: Tensor

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = {"logits_shape", "arg_constraints"} & cls.__dict__.keys()
        if not own and isinstance(cls.arg_constraints, dict):
            return  # those of the law it is made from
        finite = finite_vector if cls.logits_shape == "vector" else finite_matrix
        shared = {"logits": finite, "lengths": constraints.nonnegative_integer}
        cls.arg_constraints = {  # type: ignore[method-assign, assignment]
            **shared,
            **cls.__dict__.get("arg_constraints", {}),
        }

    def __init__(
        self, logits: Tensor, lengths: Lengths | None = None, validate_args: bool | None = None
    ) -> None:
        checked = vector_logits if self.logits_shape == "vector" else square_logits
        self.logits, lengths = checked(logits, lengths)
        super().__init__(lengths, logits.shape[-1], validate_args)

    @property
    def options(self) -> dict[str, Any]:
        """The other arguments the law was made with, by name."""
        return {}

    def expand(self, batch_shape: _size, _instance: Any = None) -> "ScoredLaw":
        shape = self.logits.shape[len(self.batch_shape) :]  # of one row
        new = type(self)(
            self.logits.expand(*batch_shape, *shape),
            self.lengths.expand(torch.Size(batch_shape)),
            validate_args=False,
            **self.options,
        )
        new._validate_args = self._validate_args
        return new
