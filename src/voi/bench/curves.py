"""Curves for plots: those of several seeds as one, and times by length."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from voi import plots
from voi.bench.cells import Result
from voi.bench.timing import growth
from voi.plots import Curve


def seed_curve(found: Sequence[Result], name: str) -> Curve:
    """Return the mean curve of the seeds of a cell, with their range where there are several."""
    steps = [point["step"] for point in found[0]["curve"]]
    values = np.array([[point[name] for point in result["curve"]] for result in found])
    if len(found) == 1:
        return steps, values[0], None, None
    return steps, values.mean(0), values.min(0), values.max(0)


def write_by_length(
    path: Path, lengths: Sequence[int], curves: Mapping[str, Sequence[float]], ylabel: str
) -> None:
    """Draw seconds by target length, in milliseconds; a name has the exponent of its curve."""

    def grown(seconds: Sequence[float]) -> str:
        return f", n^{growth(lengths, seconds):.1f}" if len(lengths) > 1 else ""

    series: dict[str, Curve] = {
        f"{name}{grown(seconds)}": (list(lengths), [1e3 * x for x in seconds], None, None)
        for name, seconds in curves.items()
    }
    plots.write_figure(
        path,
        plots.curves_figure,
        series,
        xlabel="target length n",
        ylabel=ylabel,
        log_x=len(lengths) > 1,
        log_y=True,
    )
