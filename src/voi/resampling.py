"""Sums over examples that are drawn again, with replacement: what every bootstrap begins with."""

import numpy as np
from jaxtyping import Float64

CHUNK_DRAWS = 1 << 20  # examples drawn at once


def resampled_sums(
    values: Float64[np.ndarray, "columns num"], rng: np.random.Generator, num_resamples: int
) -> Float64[np.ndarray, "columns resamples"]:
    """Return the sums of `num_resamples` draws of `num` examples, the same for all columns.

    Where all values of a column are equal, so are its sums, to the last digit: those of the column
    itself.
    """
    num, values = values.shape[1], np.ascontiguousarray(values)
    sums = np.empty((len(values), num_resamples))
    size = max(1, CHUNK_DRAWS // num)
    for start in range(0, num_resamples, size):
        stop = min(start + size, num_resamples)
        drawn = rng.integers(num, size=(stop - start, num))
        for column, own in zip(values, sums, strict=True):
            own[start:stop] = column.take(drawn).sum(axis=1)
    return sums
