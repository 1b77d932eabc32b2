"""A matrix over steps and positions, and the order chosen from it."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from voi.plots.canvas import new_figure
from voi.plots.frame import POINTS, labelled, plain_axes, ruler_for, set_letters
from voi.plots.lettering import POINTS_PER_INCH, Ruler
from voi.plots.theme import Theme, theme_named

CELL = 0.3  # inches
SMALLEST, LARGEST = 2.4, 9.0  # sides of the matrix, in inches
TOKEN_WIDTH = 1.4  # of a token below its column at most
SMALLEST_POINTS = 5.0


def permutation_figure(
    matrix: Shaped[np.ndarray, "n n"],
    *,
    order: Sequence[int] | None = None,
    tokens: Sequence[str] | None = None,
    value_name: str = "",
    value_range: tuple[float, float] | None = None,
    title: str = "",
    theme: str = "light",
) -> Figure:
    """Return `matrix[t, i]`, how step t goes with final position i, as shades.

    A dot marks `order[t]` in row t; `tokens [n]` stand below their positions while there is room
    to write them; `value_name` says what the shades mean, `value_range` where they begin and end,
    if not at the smallest and the largest value. Steps and positions are numbered from 1, as in
    the other figures. Entries that are not finite are left empty.
    """
    n = len(matrix)
    _check(matrix, order, tokens)
    colours = theme_named(theme)
    ruler = ruler_for([*(tokens or ()), value_name, title, "…"])
    side = min(max(CELL * n, SMALLEST), LARGEST)
    has_names = tokens is not None and side / n >= SMALLEST_POINTS / POINTS_PER_INCH
    names = [ruler.shortened(token, TOKEN_WIDTH) for token in tokens or () if has_names]
    below = max(map(ruler.width, names), default=0.1) + (0.4 if title else 0.0)
    figure = new_figure(side + 1.9, side + below + 0.8, colours, layout="compressed")
    axes = plain_axes(figure, ruler, colours)
    axes.grid(visible=False)
    shown = np.ma.masked_invalid(matrix.astype(np.float64))
    low, high = value_range or (None, None)
    shades = axes.imshow(shown, cmap=_shades(colours), interpolation="nearest", vmin=low, vmax=high)
    _add_scale(axes, shades, ruler, colours, value_name, side)
    if order is not None:
        size = min(60.0, (0.6 * side / n * POINTS_PER_INCH) ** 2)
        axes.scatter(order, np.arange(n), size, "#FFFFFF", edgecolors="#000000", linewidths=1)
    _name_ticks(axes, ruler, colours, side / n, n, names)
    xlabel = "token at its final position" if names else "final position"
    labelled(axes, ruler, colours, xlabel=xlabel, ylabel="step", title=title)
    return figure


def _check(
    matrix: Shaped[np.ndarray, "n n"], order: Sequence[int] | None, tokens: Sequence[str] | None
) -> None:
    n = len(matrix)
    if not np.isfinite(matrix.astype(np.float64)).any():
        raise ValueError(f"matrix [{n}, {n}] must have at least one finite entry")
    if order is not None and sorted(order) != list(range(n)):
        raise ValueError(f"order must be a permutation of 0..{n - 1}, got {list(order)}")
    if tokens is not None and len(tokens) != n:
        raise ValueError(f"expected one token per column, {n}, got {len(tokens)}")


def _shades(theme: Theme) -> Colormap:
    """Return cividis, which runs from dark to light for every kind of colour vision."""
    return colormaps["cividis"].with_extremes(bad=theme.panel)


def _add_scale(
    axes: Axes, shades: AxesImage, ruler: Ruler, theme: Theme, name: str, side: float
) -> None:
    """Say beside the axes which shade is which value."""
    bar = axes.figure.colorbar(shades, ax=axes, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=theme.text, labelsize=POINTS - 1)
    set_letters(bar.ax.set_ylabel(ruler.folded(name, 0.9 * side)), ruler, theme)


def _name_ticks(
    axes: Axes, ruler: Ruler, theme: Theme, cell: float, n: int, names: Sequence[str]
) -> None:
    """Number the steps, and number the positions or write their tokens."""
    numbered = (axes.yaxis,) if names else (axes.yaxis, axes.xaxis)
    for axis in numbered:
        axis.set_ticks(_numbered(n), [str(i + 1) for i in _numbered(n)])
    if not names:
        return
    points = min(POINTS - 1, max(SMALLEST_POINTS, 0.8 * cell * POINTS_PER_INCH))
    axes.set_xticks(range(n), names)
    for label in axes.get_xticklabels():
        set_letters(label, ruler, theme, scale=points / POINTS)
        label.set_rotation(90)


def _numbered(n: int) -> list[int]:
    """Return the indices whose numbers, counted from 1, are shown: the first and round ones.

    >>> _numbered(3), _numbered(21)
    ([0, 1, 2], [0, 4, 9, 14, 19])
    """
    every = next(step for step in (1, 5, 10, 20, 50, 100, n) if n <= 20 * step)
    return sorted({0, *range(every - 1, n, every)})
