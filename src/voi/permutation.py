"""Algebra of orders: an order is a permutation, `order[t] = i` when step t writes final position i.

Functions of orders take any number of leading batch dimensions, and `n = 0` is a valid length.
"""

import math
from itertools import permutations
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor


class Neighbours(NamedTuple):
    """Who stands beside each token at the moment it is written, by generation index.

    Index 0 is the START sentinel and index s + 1 the token written at step s.
    """

    left: Int[Tensor, "*batch n"]
    right: Int[Tensor, "*batch n"]


def steps_like(order: Shaped[Tensor, "*batch n"]) -> Int[Tensor, " n"]:
    """Return 0, 1, ..., n - 1 on the device of `order`: the left-to-right order of its length."""
    return torch.arange(order.shape[-1], device=order.device)


def token_mask(lengths: Int[Tensor, "*batch"], size: int) -> Bool[Tensor, "*batch {size}"]:
    """Return True on the tokens of each row and False on its padded tail.

    >>> token_mask(torch.tensor([2, 0]), 3)
    tensor([[ True,  True, False],
            [False, False, False]])
    """
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(-1)


def inverse(order: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n"]:
    """Return the rank of each position: rank[order[t]] = t.

    >>> inverse(torch.tensor([2, 0, 1]))                          # position 0 is written at step 1
    tensor([1, 2, 0])
    """
    order = order.long()
    return torch.zeros_like(order).scatter_(-1, order, steps_like(order).expand_as(order))


def to_matrix(order: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n n"]:
    """Return the permutation matrix with matrix[t, order[t]] = 1.

    >>> to_matrix(torch.tensor([2, 0, 1]))
    tensor([[0, 0, 1],
            [1, 0, 0],
            [0, 1, 0]])
    """
    return (order.unsqueeze(-1) == steps_like(order)).long()


def from_matrix(P: Shaped[Tensor, "*batch n n"]) -> Int[Tensor, "*batch n"]:
    """Return the order of a permutation matrix, the inverse of `to_matrix`.

    Entries may be off by rounding; a matrix without exactly one 1 in each row and column is an
    error.

    >>> from_matrix(to_matrix(torch.tensor([2, 0, 1])))
    tensor([2, 0, 1])
    """
    is_one = P > 0.5
    if P.shape[-2:-1] != P.shape[-1:] or not ((is_one.sum(-1) == 1) & (is_one.sum(-2) == 1)).all():
        raise ValueError("expected a permutation matrix, with one 1 in each row and each column")
    return (is_one.long() * steps_like(P)).sum(dim=-1)


def all_orders(n: int, size: int | None = None) -> Int[Tensor, "orders size"]:
    """Return the n! orders of n positions, padded in place to `size`, left to right first.

    >>> all_orders(2, 3)
    tensor([[0, 1, 2],
            [1, 0, 2]])
    """
    tail = list(range(n, n if size is None else size))
    rows = [[*order, *tail] for order in permutations(range(n))]
    return torch.tensor(rows, dtype=torch.long).view(math.factorial(n), -1)


def insertion_slots(order: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n"]:
    """Return the slot each token is inserted into.

    slot[t] = #{ s < t : order[s] < order[t] }                    (docs/math.md, "slots")

    >>> insertion_slots(torch.tensor([2, 0, 1]))                  # write position 2, then 0, then 1
    tensor([0, 0, 1])
    """
    stands_left = order.unsqueeze(-2) < order.unsqueeze(-1)  # [*batch, n, n], entry [t, s]
    return stands_left.tril(diagonal=-1).sum(dim=-1)


def from_slots(slots: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n"]:
    """Return the order that inserts into these slots, the inverse of `insertion_slots`.

    An insertion moves every token at or right of its slot one place to the right.

    >>> from_slots(torch.tensor([0, 0, 1]))
    tensor([2, 0, 1])
    """
    steps = torch.arange(slots.shape[-1], device=slots.device)
    if bool(((slots < 0) | (slots > steps)).any()):
        raise ValueError(
            f"slots must lie between 0 and their step, as many tokens are written then, got "
            f"{slots.tolist()}"
        )
    positions = slots.to(torch.int64, copy=True)
    for t in range(1, slots.shape[-1]):
        written = positions[..., :t]
        written += written >= slots[..., t : t + 1]
    return positions


def relative_positions(order: Int[Tensor, "*batch n"]) -> Int[Tensor, "*batch n n"]:
    """Return on which side of step i's token the token of step j stands: -1 left, +1 right.

    R[i, j] = sign(order[j] - order[i])                           (docs/math.md, "relations")

    >>> relative_positions(torch.tensor([2, 0, 1]))
    tensor([[ 0, -1, -1],
            [ 1,  0,  1],
            [ 1, -1,  0]])
    """
    order = order.long()  # differences of unsigned numbers have no sign
    return (order.unsqueeze(-2) - order.unsqueeze(-1)).sign()


def insertion_neighbours(order: Int[Tensor, "*batch n"]) -> Neighbours:
    """Return the tokens between which each token is inserted, on the circle (START, tokens).

    left[t]  = the s < t with the largest  order[s] below order[t], else START
    right[t] = the s < t with the smallest order[s] above order[t], else START
                                                                  (docs/math.md, "neighbours")

    >>> insertion_neighbours(torch.tensor([2, 0, 1]))             # 0 is START, s + 1 is step s
    Neighbours(left=tensor([0, 0, 2]), right=tensor([0, 1, 1]))
    """
    n = order.shape[-1]
    order = order.int()  # the tables below are the largest tensors of an order
    new = order.unsqueeze(-1)  # [*batch, n, 1]
    written = torch.ones(n, n, dtype=torch.bool, device=order.device).tril(diagonal=-1)
    old = order.unsqueeze(-2)  # [*batch, 1, n]
    from_left = torch.where(written & (old < new), old, -2)  # [*batch, n, n], entry [t, s]
    from_right = torch.where(written & (old > new), old, n + 1)
    start = torch.ones_like(new)  # START stands at -1 seen from the left, at n from the right
    return Neighbours(
        left=torch.cat([-start, from_left], dim=-1).argmax(dim=-1),
        right=torch.cat([n * start, from_right], dim=-1).argmin(dim=-1),
    )


def is_permutation(
    order: Int[Tensor, "*shape n"], lengths: Int[Tensor, "..."] | None = None
) -> Bool[Tensor, "..."]:
    """Return which rows are permutations; with `lengths`, also that the padded tail stays put.

    >>> is_permutation(torch.tensor([[1, 0, 2], [1, 1, 2], [0, 2, 1]]))
    tensor([ True, False,  True])
    >>> is_permutation(torch.tensor([[1, 0, 2], [0, 2, 1]]), lengths=torch.tensor([2, 2]))
    tensor([ True, False])
    """
    steps = steps_like(order)
    is_complete = (order.sort(dim=-1).values == steps).all(dim=-1)
    if lengths is None:
        return is_complete
    is_token = token_mask(lengths, order.shape[-1])
    return is_complete & (is_token | (order == steps)).all(dim=-1)
