"""A grid of shares, such as the accuracy of each method on each task, a number in every cell."""

from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from voi.plots.canvas import new_figure
from voi.plots.frame import labelled, plain_axes, ruler_for, set_letters
from voi.plots.theme import theme_named

CELL_WIDTH, CELL_HEIGHT = 0.62, 0.36  # inches
NAME_WIDTH = 2.2  # of a row or a column at most
DARK = 0.55  # shades below it carry white numbers


def grid_figure(
    values: Mapping[str, Mapping[str, float]], *, title: str = "", theme: str = "light"
) -> Figure:
    """Return `values[row][column]`, shares from 0 to 1, as shaded cells with their percentages.

    A cell that is not there stays empty. Rows and columns come in the order they are met.
    """
    rows = list(values)
    columns = list(dict.fromkeys(name for row in values.values() for name in row))
    shares = np.array([[values[row].get(name, np.nan) for name in columns] for row in rows])
    if not shares.size or not ((shares >= 0) & (shares <= 1) | np.isnan(shares)).all():
        raise ValueError("expected at least one row of shares, all of them from 0 to 1")
    colours = theme_named(theme)
    ruler = ruler_for([*rows, *columns, title, "0123456789…"])
    beside, below = (
        max(ruler.width(ruler.shortened(name, NAME_WIDTH)) for name in names)
        for names in (rows, columns)
    )
    width = max(CELL_WIDTH * len(columns) + beside + 0.6, 3.2)
    height = CELL_HEIGHT * len(rows) + below + (1.1 if title else 0.6)
    figure = new_figure(width, height, colours, layout="constrained")
    axes = plain_axes(figure, ruler, colours)
    axes.grid(visible=False)
    shown = np.ma.masked_invalid(shares)
    axes.imshow(
        shown,
        cmap=colormaps["cividis"].with_extremes(bad=colours.panel),
        vmin=0,
        vmax=1,
        aspect="auto",
    )
    for (i, j), share in np.ndenumerate(shares):
        if np.isfinite(share):
            number = axes.text(j, i, f"{100 * share:.0f}", ha="center", va="center")
            set_letters(number, ruler, colours, scale=0.9)
            number.set_color("#FFFFFF" if share < DARK else "#000000")
    for axis, names in ((axes.xaxis, columns), (axes.yaxis, rows)):
        axis.set_ticks(range(len(names)), [ruler.shortened(name, NAME_WIDTH) for name in names])
        for label in axis.get_ticklabels():
            set_letters(label, ruler, colours)
    for label in axes.get_xticklabels():
        label.set_rotation(90)
    labelled(axes, ruler, colours, xlabel="", ylabel="", title=title, beside=beside + 0.2)
    return figure
