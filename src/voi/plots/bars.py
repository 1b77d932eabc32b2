"""Named bars with their intervals, sorted by value."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from voi.plots.canvas import new_figure
from voi.plots.frame import add_legend, labelled, plain_axes, ruler_for, set_letters
from voi.plots.inputs import Bar
from voi.plots.theme import Theme, theme_named

WIDTH, BAR_HEIGHT = 6.4, 0.3  # inches
LABEL_WIDTH = 2.0  # of a bar's name at most


def bars_figure(
    bars: Mapping[str, Bar],
    *,
    xlabel: str,
    title: str = "",
    marks: Mapping[str, float] | None = None,
    mark_name: str = "left to right",
    is_sorted: bool = True,
    theme: str = "light",
) -> Figure:
    """Return named bars `(value, low, high)` from the smallest down, each with its interval.

    With `is_sorted=False` they stay in the order they are given in, from the top down. `marks`
    holds a second value for each name, drawn as a diamond: what to compare the bar with.
    """
    if not bars:
        raise ValueError("expected at least one bar, got none")
    if marks is not None and marks.keys() != bars.keys():
        raise ValueError(f"marks must name the bars, got {sorted(marks.keys() ^ bars.keys())}")
    colours = theme_named(theme)
    names = sorted(bars, key=lambda name: bars[name][0]) if is_sorted else list(bars)
    ruler = ruler_for([*names, xlabel, title, mark_name, "…"])
    figure = new_figure(WIDTH, 1.3 + BAR_HEIGHT * len(names), colours, layout="constrained")
    axes = plain_axes(figure, ruler, colours, grid="x")
    _draw(axes, np.array([bars[name] for name in names], dtype=np.float64), colours)
    labels = [ruler.shortened(name, LABEL_WIDTH) for name in names]
    axes.set_yticks(range(len(names)), labels)
    for label in axes.get_yticklabels():
        set_letters(label, ruler, colours)
    beside = 0.2 + max(map(ruler.width, labels))
    labelled(axes, ruler, colours, xlabel=xlabel, ylabel="", title=title, beside=beside)
    if marks is not None:
        (dots,) = axes.plot([marks[name] for name in names], range(len(names)), "D", markersize=6)
        dots.set(label=mark_name, color=colours.series[1], markeredgecolor=colours.background)
        add_legend(figure, axes, ruler, colours)
    return figure


def _draw(axes: Axes, values: Float[np.ndarray, "bars 3"], theme: Theme) -> None:
    """Draw a bar and an interval for each row of value, low and high, from the top down."""
    value, low, high = values.T  # [bars] each
    if not ((low <= value) & (value <= high)).all():
        raise ValueError("every bar's value must lie between its low and its high")
    rows = np.arange(len(values))
    axes.barh(rows, value, height=0.7, color=theme.series[0])
    spread = np.stack([value - low, high - value])  # [2, bars]
    axes.errorbar(value, rows, xerr=spread, fmt="none", ecolor=theme.text, capsize=3)
    axes.set_ylim(len(values) - 0.5, -0.5)
