"""Which examples are held out for validation where no valid split is given."""

import numpy as np
from jaxtyping import Int64, UInt64

LEAST, MOST = 20, 1000  # examples


def num_held_out(size: int, share: float) -> int:
    """Return how many of `size` examples to hold out.

    That share of them, at least 20 (a fifth of all, where that is less), at most 1000.

    >>> [num_held_out(size, 0.05) for size in (2, 50, 200, 5000, 1_000_000)]
    [1, 10, 20, 250, 1000]
    """
    return max(1, min(max(round(share * size), min(LEAST, size // 5)), MOST))


def held_out(keys: UInt64[np.ndarray, " examples"], share: float) -> Int64[np.ndarray, " held"]:
    """Return the indices of the examples that are held out, whole groups of equal keys.

    The groups with the smallest keys are taken: the same examples for the same keys, in whatever
    order they stand. Keys are hashes, so these are spread over the whole. A group that alone
    is larger than what is wanted is never taken: where all are, nothing is held out.

    >>> held_out(np.array([9, 3, 7, 3, 8], np.uint64), 0.4).tolist()
    [1, 3]
    """
    wanted = num_held_out(len(keys), share)
    _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    fits = sizes <= wanted
    is_held = fits & (np.cumsum(np.where(fits, sizes, 0)) <= wanted)
    return np.flatnonzero(is_held[group])
