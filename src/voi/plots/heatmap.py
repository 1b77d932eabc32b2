"""Matrices as shades: steps against positions, with the order chosen; steps against a source."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
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
    if order is not None and sorted(order) != list(range(n)):
        raise ValueError(f"order must be a permutation of 0..{n - 1}, got {list(order)}")
    across = _Axis("final position", "token at its final position", tokens)
    shades = _Shades(value_name, value_range)
    figure, axes, cell = _shaded(matrix, _Axis("step"), across, shades, title, theme)
    if order is not None:
        size = min(60.0, (0.6 * cell * POINTS_PER_INCH) ** 2)
        axes.scatter(order, np.arange(n), size, "#FFFFFF", edgecolors="#000000", linewidths=1)
    return figure


def attention_figure(
    weights: Shaped[np.ndarray, "n m"],
    *,
    tokens: Sequence[str],
    parts: Sequence[str],
    title: str = "",
    theme: str = "light",
) -> Figure:
    """Return `weights[t, j]`, how much step t attends to part j of the source, as shades.

    `tokens [n]` are those that the steps write, in the order of the steps; `parts [m]` are the
    words of the source, or the names of its regions.
    """
    down = _Axis("step", "token written, by step", tokens)
    across = _Axis("part of the source", "part of the source", parts)
    shades = _Shades("attention", (0.0, float(np.max(weights, initial=0.0)) or 1.0))
    return _shaded(weights, down, across, shades, title, theme)[0]


@dataclass(frozen=True)
class _Axis:
    """What rows or columns are: they are numbered, or named while there is room."""

    numbered: str  # the label beside numbers
    named: str = ""  # the label beside names
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class _Shades:
    """What shades mean, and the values between which they run."""

    name: str
    value_range: tuple[float, float] | None = None


def _shaded(
    matrix: Shaped[np.ndarray, "n m"],
    down: _Axis,
    across: _Axis,
    shades: _Shades,
    title: str,
    theme: str,
) -> tuple[Figure, Axes, float]:
    """Return a figure of shaded cells, its axes, and the smaller side of a cell in inches."""
    _check(matrix, down, across)
    colours = theme_named(theme)
    ruler = ruler_for([*(down.names or ()), *(across.names or ()), shades.name, title, "…"])
    height, width = (min(max(CELL * count, SMALLEST), LARGEST) for count in matrix.shape)
    cells = height / len(matrix), width / matrix.shape[1]
    left, below = (
        [ruler.shortened(name, TOKEN_WIDTH) for name in axis.names or () if _has_room(cell)]
        for axis, cell in zip((down, across), cells, strict=True)
    )
    beside, under = (max(map(ruler.width, names), default=0.1) for names in (left, below))
    size = width + beside + 1.8, height + under + 0.8 + (0.4 if title else 0.0)
    figure = new_figure(*size, colours, layout="compressed")
    axes = plain_axes(figure, ruler, colours)
    axes.grid(visible=False)
    shown = np.ma.masked_invalid(matrix.astype(np.float64))
    low, high = shades.value_range or (None, None)
    image = axes.imshow(shown, cmap=_colours(colours), interpolation="nearest", vmin=low, vmax=high)
    axes.set_aspect(cells[0] / cells[1])
    _add_scale(axes, image, ruler, colours, shades.name, height)
    _name_ticks(axes.yaxis, ruler, colours, cells[0], len(matrix), left)
    _name_ticks(axes.xaxis, ruler, colours, cells[1], matrix.shape[1], below)
    for label in axes.get_xticklabels() if below else ():
        label.set_rotation(90)
    xlabel, ylabel = (
        axis.named if names else axis.numbered for axis, names in ((across, below), (down, left))
    )
    labelled(axes, ruler, colours, xlabel=xlabel, ylabel=ylabel, title=title, beside=beside + 0.5)
    return figure, axes, min(cells)


def _has_room(cell: float) -> bool:
    """Is a row or column of a height or width in inches enough for a name?"""
    return cell >= SMALLEST_POINTS / POINTS_PER_INCH


def _check(matrix: Shaped[np.ndarray, "n m"], down: _Axis, across: _Axis) -> None:
    n, m = matrix.shape
    if not np.isfinite(matrix.astype(np.float64)).any():
        raise ValueError(f"matrix [{n}, {m}] must have at least one finite entry")
    for axis, count, what in ((down, n, "row"), (across, m, "column")):
        if axis.names is not None and len(axis.names) != count:
            raise ValueError(f"expected one name per {what}, {count}, got {len(axis.names)}")


def _colours(theme: Theme) -> Colormap:
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
    axis: Axis, ruler: Ruler, theme: Theme, cell: float, count: int, names: Sequence[str]
) -> None:
    """Number what stands along an axis, or write its names."""
    if not names:
        axis.set_ticks(_numbered(count), [str(i + 1) for i in _numbered(count)])
        return
    points = min(POINTS - 1, max(SMALLEST_POINTS, 0.8 * cell * POINTS_PER_INCH))
    axis.set_ticks(range(count), names)
    for label in axis.get_ticklabels():
        set_letters(label, ruler, theme, scale=points / POINTS)


def _numbered(n: int) -> list[int]:
    """Return the indices whose numbers, counted from 1, are shown: the first and round ones.

    >>> _numbered(3), _numbered(21)
    ([0, 1, 2], [0, 4, 9, 14, 19])
    """
    every = next(step for step in (1, 5, 10, 20, 50, 100, n) if n <= 20 * step)
    return sorted({0, *range(every - 1, n, every)})
