"""How far two orders are apart: edit distance, Spearman's and Kendall's rank correlation.

An order is a permutation of 0..n-1. Each function takes one pair of orders and returns a float, or
batches `[*batch, n]` that broadcast and returns an array `[*batch]`. What is handed in is compared:
docs/orders.md, "Orders or ranks", tells when to hand in `generation_ranks(order)` instead.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int, Integer, Shaped
from torch import Tensor

Orders: TypeAlias = Sequence[Any] | Shaped[np.ndarray, "..."] | Shaped[Tensor, "..."]
Lengths: TypeAlias = int | Orders
Scores: TypeAlias = float | Float[np.ndarray, "..."]
Kernel: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

CHUNK_BYTES = 1 << 18  # one operand of one chunk: small enough that a kernel works in the cache


@dataclass(frozen=True, eq=False)
class Padded:
    """Orders of different lengths as one batch."""

    orders: Int[np.ndarray, "batch n"]
    lengths: Int[np.ndarray, " batch"]


def normalized_levenshtein(w: Orders, z: Orders, lengths: Lengths | None = None) -> Scores:
    """Return the edit distance of two orders divided by their length, between 0 and 1.

    NLD(w, z) = lev(w, z) / n                         (docs/orders.md, "Normalised Levenshtein")

    `lengths [*batch]` says how many leading entries of each row count; the rest is padding and is
    ignored. Where only one order exists (n = 0 or 1) the distance is 0.
    Relative to the paper: its recursion lacks the equal-head and the base cases; this is the
    standard one.

    >>> normalized_levenshtein([0, 1, 2, 3], [3, 0, 1, 2])           # delete 3, insert 3
    0.5
    """
    return _scores(lambda a, b, n: _edit_distance(a, b) / np.maximum(n, 1), w, z, lengths)


def order_rank_correlation(w: Orders, z: Orders, lengths: Lengths | None = None) -> Scores:
    """Return Spearman's correlation of two orders, between -1 (z_t = n - 1 - w_t) and 1 (equal).

    ORC(w, z) = 1 - 6 sum_t (w_t - z_t)^2 / (n^3 - n)   (docs/orders.md, "Order rank correlation")

    `lengths` as in `normalized_levenshtein`. Where only one order exists (n = 0 or 1) it is 1.
    Relative to the paper: the square is missing in print, and without it the value is always 1.

    >>> order_rank_correlation([0, 1, 2], [0, 2, 1])
    0.5
    """
    return _scores(
        lambda a, b, n: 1.0 - 6.0 * _squared_difference(a, b) / np.maximum(n**3 - n, 1),
        w,
        z,
        lengths,
    )


def kendall_tau(w: Orders, z: Orders, lengths: Lengths | None = None) -> Scores:
    """Return Kendall's tau of two orders, between -1 (z_t = n - 1 - w_t) and 1 (equal).

    tau(w, z) = 1 - 4 D / (n^2 - n), D the number of pairs s < t that w and z arrange differently
                                                                (docs/orders.md, "Kendall's tau")

    `lengths` as in `normalized_levenshtein`. Where only one order exists (n = 0 or 1) it is 1.

    >>> kendall_tau([0, 1, 2, 3], [3, 0, 1, 2])
    0.0
    """
    return _scores(
        lambda a, b, n: 1.0 - 4.0 * _num_discordant(a, b) / np.maximum(n**2 - n, 1), w, z, lengths
    )


def nearest(
    order: Orders,
    valid_orders: Orders,
    distance: Callable[[Orders, Orders], Scores] = normalized_levenshtein,
) -> float:
    """Return the distance from `order [n]` to the closest of `valid_orders [V, n]`.

    A task may have several best orders; being at any of them is being right. The closest one has
    the smallest distance, or, when `distance` is one of the two correlations, the largest value.

    >>> nearest([2, 1, 0], [[0, 1, 2], [2, 1, 0]])
    0.0
    """
    valid = as_integers(valid_orders, "valid_orders")
    if valid.ndim != 2 or len(valid) == 0:
        raise ValueError(
            f"valid_orders must be at least one order, [V, n], got shape {list(valid.shape)}: "
            "give a list of orders"
        )
    values = np.asarray(distance(order, valid))
    is_similarity = distance in (order_rank_correlation, kendall_tau)
    return float(values.max() if is_similarity else values.min())


def generation_ranks(order: Orders) -> Integer[np.ndarray, "... _"]:
    """Return when each final position is written, the inverse permutation: rank[order[t]] = t.

    >>> generation_ranks([2, 0, 1])
    array([1, 2, 0])
    """
    array = as_integers(order, "order")
    n = array.shape[-1]
    _check_permutations(array.reshape(math.prod(array.shape[:-1]), n), "order")
    return np.argsort(array, axis=-1)


def compared(order: Orders, compare: str) -> Integer[np.ndarray, "... _"]:
    """Return what is compared of orders: `"orders"` themselves, or their `"ranks"`."""
    if compare not in ("orders", "ranks"):
        raise ValueError(f'compare must be "orders" or "ranks", got {compare!r}')
    return generation_ranks(order) if compare == "ranks" else as_integers(order, "order")


def padded(orders: Sequence[Any]) -> Padded:
    """Return orders of different lengths as one batch, with order[t] = t in the padding.

    >>> batch = padded([[1, 0], [2, 0, 1]])
    >>> batch.orders.tolist(), batch.lengths.tolist()
    ([[1, 0, 2], [2, 0, 1]], [2, 3])
    """
    lengths = np.array([len(order) for order in orders], dtype=np.int64)
    batch = np.tile(np.arange(lengths.max(initial=0)), (len(orders), 1))  # [batch, n]
    for row, order in zip(batch, orders, strict=True):
        row[: len(order)] = as_integers(order, "orders")
    return Padded(batch, lengths)


def as_integers(values: Orders | Lengths, name: str) -> Integer[np.ndarray, "..."]:
    """Return lists, arrays or tensors of whole numbers as an array; `name` is for the error."""
    try:
        array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
    except ValueError:
        raise ValueError(
            f"{name} must be orders of one length, got rows of different lengths: "
            "pad them (voi.analysis.padded) and pass lengths="
        ) from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold whole numbers, got {array.dtype}: an order lists final positions, "
            "counted from 0"
        )
    return array


def _scores(kernel: Kernel, w: Orders, z: Orders, lengths: Lengths | None) -> Scores:
    """Return kernel(w, z, lengths), worked out chunk by chunk on columns, in the batch's shape."""
    first, second = as_integers(w, "w"), as_integers(z, "z")
    shape = _common_shape(first, second)
    n = first.shape[-1]
    counts = _row_lengths(lengths, shape, n)  # [rows]
    left, right = (np.broadcast_to(a, (*shape, n)).reshape(len(counts), n) for a in (first, second))
    values = np.empty(len(counts))
    for rows in _chunks(len(counts), n):
        a = _columns(left[rows], counts[rows], "w")
        b = _columns(right[rows], counts[rows], "z")
        values[rows] = kernel(a, b, counts[rows])
    return values.reshape(shape) if shape else float(values[0])


def _common_shape(w: np.ndarray, z: np.ndarray) -> tuple[int, ...]:
    """Return the batch shape `w` and `z` broadcast to."""
    if w.ndim == 0 or z.ndim == 0:
        raise ValueError("w and z must be orders [*batch, n], got a single number: give a sequence")
    if w.shape[-1] != z.shape[-1]:
        raise ValueError(
            f"w and z must order the same number of tokens, got {w.shape[-1]} and {z.shape[-1]}: "
            "compare orders of one target, or pad both (voi.analysis.padded) and pass lengths="
        )
    try:
        return np.broadcast_shapes(w.shape[:-1], z.shape[:-1])
    except ValueError:
        raise ValueError(
            f"the batches of w and z must broadcast, got {list(w.shape)} and {list(z.shape)}: "
            "give as many orders in w as in z, or one order in either"
        ) from None


def _row_lengths(
    lengths: Lengths | None, shape: tuple[int, ...], n: int
) -> Int[np.ndarray, " rows"]:
    """Return the number of tokens of every row of the flattened batch."""
    given = np.asarray(n) if lengths is None else as_integers(lengths, "lengths")
    if given.size and (given.min() < 0 or given.max() > n):
        raise ValueError(
            f"lengths must lie between 0 and {n}, the width of the batch, "
            f"got {given.min()} to {given.max()}: count the tokens of each target"
        )
    try:
        return np.broadcast_to(given, shape).reshape(-1).astype(np.int64)
    except ValueError:
        raise ValueError(
            f"lengths must have the shape of the batch, {list(shape)}, got {list(given.shape)}: "
            "give one length per pair of orders"
        ) from None


def _chunks(num_rows: int, n: int) -> Iterator[slice]:
    """Yield slices of rows whose columns fit the cache."""
    size = max(1, CHUNK_BYTES // (max(n, 1) * _small_dtype(n).itemsize))
    return (slice(start, start + size) for start in range(0, num_rows, size))


def _small_dtype(n: int) -> np.dtype:
    """Return the narrowest signed type that holds n + 1, the largest number a kernel meets."""
    return np.min_scalar_type(-(n + 2))


def _columns(
    rows: Integer[np.ndarray, "rows n"], lengths: Int[np.ndarray, " rows"], name: str
) -> Integer[np.ndarray, "n rows"]:
    """Return checked orders, step first, in a narrow type, with order[t] = t in the padding.

    Equal tails change neither an edit distance, nor a sum of squares, nor a count of discordant
    pairs, so the kernels need no mask.
    """
    steps = np.arange(rows.shape[1])
    if (lengths < rows.shape[1]).any():
        rows = np.where(steps < lengths[:, None], rows, steps)
    _check_permutations(rows, name, lengths)
    return np.ascontiguousarray(rows.T.astype(_small_dtype(rows.shape[1])))


def _check_permutations(
    rows: Integer[np.ndarray, "rows n"],
    name: str,
    lengths: Int[np.ndarray, " rows"] | None = None,
) -> None:
    """Raise a ValueError that shows the first row that is not a permutation of 0..n-1."""
    num_rows, n = rows.shape
    in_range = (rows >= 0) & (rows < n)
    seen = np.zeros((num_rows, n), dtype=bool)
    np.put_along_axis(seen, np.where(in_range, rows, 0).astype(np.int64), True, axis=1)
    is_bad = ~(seen.all(axis=1) & in_range.all(axis=1))
    if is_bad.any():
        row = int(is_bad.argmax())
        length = n if lengths is None else int(lengths[row])
        raise ValueError(
            f"{name} must hold permutations of 0..n-1, got {rows[row, :length].tolist()} for "
            f"n = {length}: list every final position once, and pass lengths= for padded batches"
        )


def _edit_distance(
    w: Integer[np.ndarray, "n rows"], z: Integer[np.ndarray, "n rows"]
) -> Integer[np.ndarray, " rows"]:
    """Return lev(w, z) of every column, one anti-diagonal of the table at a time.

    Cell (i, j) compares the first i entries of w with the first j of z. All cells with i + j = d
    depend on the two diagonals before, so each diagonal is one operation over cells and rows.
    """
    n, num_rows = w.shape
    backwards = z[::-1]  # makes the z entries of a diagonal a slice that runs with i
    older, old, new = (np.zeros((n + 1, num_rows), dtype=w.dtype) for _ in range(3))
    old[:] = 1  # diagonal 1: cells (0, 1) and (1, 0); diagonal 0 is 0
    for d in range(2, 2 * n + 1):
        low, high = max(1, d - n), min(n, d - 1)  # the inner cells' i, from low to high
        if d <= n:
            new[0], new[d] = d, d  # the border: nothing but insertions, nothing but deletions
        is_different = w[low - 1 : high] != backwards[n - d + low : n - d + high + 1]
        inner = np.minimum(old[low - 1 : high], old[low : high + 1], out=new[low : high + 1])
        inner += 1
        np.minimum(inner, older[low - 1 : high] + is_different.view(np.int8), out=inner)
        older, old, new = old, new, older
    return old[n] if n else np.zeros(num_rows, dtype=w.dtype)


def _squared_difference(
    w: Integer[np.ndarray, "n rows"], z: Integer[np.ndarray, "n rows"]
) -> Int[np.ndarray, " rows"]:
    """Return sum_t (w_t - z_t)^2 of every column."""
    difference = np.subtract(w, z, dtype=np.int64)
    return np.einsum("nr,nr->r", difference, difference)


def _num_discordant(
    w: Integer[np.ndarray, "n rows"], z: Integer[np.ndarray, "n rows"]
) -> Int[np.ndarray, " rows"]:
    """Return the number of pairs s < t that w and z arrange differently, for every column."""
    total = np.zeros(w.shape[1], dtype=np.int64)
    for t in range(1, len(w)):
        is_discordant = (w[:t] < w[t]) != (z[:t] < z[t])  # [t, rows]
        total += np.add.reduce(is_discordant.view(np.int8), axis=0, dtype=w.dtype)
    return total
