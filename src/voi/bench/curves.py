"""Curves of several seeds as one, for plots."""

from collections.abc import Sequence

import numpy as np

from voi.bench.cells import Result
from voi.plots import Curve


def seed_curve(found: Sequence[Result], name: str) -> Curve:
    """Return the mean curve of the seeds of a cell, with their range where there are several."""
    steps = [point["step"] for point in found[0]["curve"]]
    values = np.array([[point[name] for point in result["curve"]] for result in found])
    if len(found) == 1:
        return steps, values[0], None, None
    return steps, values.mean(0), values.min(0), values.max(0)
