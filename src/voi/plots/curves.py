"""Curves with their intervals, and bars sorted by height."""

import os
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, MaxNLocator

from voi.plots.canvas import drawing, new_figure, save
from voi.plots.files import FIGURE_SUFFIXES, output_path
from voi.plots.frame import add_legend, labelled, plain_axes, ruler_for, set_letters
from voi.plots.tables import Bar, Curve, Values
from voi.plots.theme import Theme, theme_named

WIDTH, HEIGHT = 6.4, 4.0  # inches
BAR_HEIGHT = 0.3
LABEL_WIDTH = 2.0  # of a bar's name at most
MARKERS = "osD^vPX"
LINES = ("-", "--", ":", "-.")


def draw_curves(
    series: Mapping[str, Curve],
    path: str | os.PathLike[str],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    theme: str = "light",
) -> None:
    """Draw named curves `(x, y, low, high)`, each `[points]`, with a band from low to high.

    `low` and `high` may both be None. A nan in `y` is a gap. On a logarithmic axis all values must
    be positive.
    """
    target = output_path(path, FIGURE_SUFFIXES)
    with drawing():
        figure = curves_figure(
            series, xlabel=xlabel, ylabel=ylabel, title=title, log_x=log_x, log_y=log_y, theme=theme
        )
        save(figure, target)


def curves_figure(
    series: Mapping[str, Curve],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    theme: str = "light",
) -> Figure:
    """Return the figure that `draw_curves` writes."""
    if not series:
        raise ValueError("expected at least one curve, got none")
    colours = theme_named(theme)
    curves = {name: _checked(name, curve, log_x, log_y) for name, curve in series.items()}
    ruler = ruler_for([*series, xlabel, ylabel, title])
    figure = new_figure(WIDTH, HEIGHT, colours, layout="constrained")
    axes = plain_axes(figure, ruler, colours)
    for number, (name, curve) in enumerate(curves.items()):
        _draw_curve(axes, number, name, curve, colours)
    _scale(axes, [x for x, _, _, _ in curves.values()], log_x, log_y)
    labelled(axes, ruler, colours, xlabel=xlabel, ylabel=ylabel, title=title)
    if len(series) > 1:
        add_legend(figure, axes, ruler, colours)
    return figure


Floats = Float[np.ndarray, " points"]
Arrays = tuple[Floats, Floats, Floats | None, Floats | None]


def _checked(name: str, curve: Curve, log_x: bool, log_y: bool) -> Arrays:
    """Return the four lists of a curve as arrays."""
    x, y, low, high = (_floats(values) for values in curve)
    if x is None or y is None or (low is None) != (high is None):
        raise ValueError(f"curve {name!r} needs x and y, and low and high both or neither")
    sizes = [len(values) for values in (x, y, low, high) if values is not None]
    if len(set(sizes)) > 1 or not sizes[0]:
        raise ValueError(f"curve {name!r} must have lists of one length, at least 1, got {sizes}")
    for is_log, axis, lists in ((log_x, "x", (x,)), (log_y, "y", (y, low, high))):
        if is_log and any((values <= 0).any() for values in lists if values is not None):
            raise ValueError(f"curve {name!r} has values of {axis} that no logarithm exists of")
    return x, y, low, high


def _floats(values: Values | None) -> Floats | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _draw_curve(axes: Axes, number: int, name: str, curve: Arrays, theme: Theme) -> None:
    x, y, low, high = curve
    colour = theme.series[number % len(theme.series)]
    marker = MARKERS[number % len(MARKERS)]
    line = LINES[number // len(theme.series) % len(LINES)]
    axes.plot(x, y, line, color=colour, marker=marker, markersize=4.5, linewidth=1.6, label=name)
    if low is not None and high is not None:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _scale(axes: Axes, all_x: list[Floats], log_x: bool, log_y: bool) -> None:
    if log_x:
        axes.set_xscale("log")
    elif all((x == np.round(x)).all() for x in all_x):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if log_y:
        axes.set_yscale("log")
    for axis, is_log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if is_log:
            axis.set_major_formatter(PlainLogFormatter())
            axis.set_minor_formatter(PlainLogFormatter())
    sizes = np.unique(np.concatenate(all_x))
    if log_x and _are_apart(sizes):
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.set_xticks([], minor=True)


def _are_apart(sizes: Float[np.ndarray, " sizes"]) -> bool:
    """Whether every size can have its own tick on a logarithmic axis."""
    steps = np.diff(np.log(sizes))
    return len(steps) > 0 and bool((steps >= steps.sum() / 12).all())


class PlainLogFormatter(LogFormatter):
    """Writes 0.01 rather than 1e-02; which ticks have a label is left to matplotlib."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def draw_bars(
    bars: Mapping[str, Bar],
    path: str | os.PathLike[str],
    *,
    xlabel: str,
    title: str = "",
    marks: Mapping[str, float] | None = None,
    mark_name: str = "left to right",
    theme: str = "light",
) -> None:
    """Draw named bars `(value, low, high)` from the smallest down, each with its interval.

    `marks` holds a second value for each name, drawn as a diamond: what to compare the bar with.
    """
    target = output_path(path, FIGURE_SUFFIXES)
    with drawing():
        figure = bars_figure(
            bars, xlabel=xlabel, title=title, marks=marks, mark_name=mark_name, theme=theme
        )
        save(figure, target)


def bars_figure(
    bars: Mapping[str, Bar],
    *,
    xlabel: str,
    title: str = "",
    marks: Mapping[str, float] | None = None,
    mark_name: str = "left to right",
    theme: str = "light",
) -> Figure:
    """Return the figure that `draw_bars` writes."""
    if not bars:
        raise ValueError("expected at least one bar, got none")
    if marks is not None and marks.keys() != bars.keys():
        raise ValueError(f"marks must name the bars, got {sorted(marks.keys() ^ bars.keys())}")
    colours = theme_named(theme)
    names = sorted(bars, key=lambda name: bars[name][0])
    value, low, high = np.array([bars[name] for name in names], dtype=np.float64).T  # [bars] each
    if not ((low <= value) & (value <= high)).all():
        raise ValueError("every bar's value must lie between its low and its high")
    ruler = ruler_for([*names, xlabel, title, mark_name, "…"])
    figure = new_figure(WIDTH, 1.3 + BAR_HEIGHT * len(names), colours, layout="constrained")
    axes = plain_axes(figure, ruler, colours, grid="x")
    rows = np.arange(len(names))
    axes.barh(rows, value, height=0.7, color=colours.series[0])
    spread = np.stack([value - low, high - value])
    axes.errorbar(value, rows, xerr=spread, fmt="none", ecolor=colours.text, capsize=3)
    if marks is not None:
        shown = [marks[name] for name in names]
        (dots,) = axes.plot(shown, rows, "D", markersize=6, label=mark_name)
        dots.set(color=colours.series[1], markeredgecolor=colours.background)
    axes.set_yticks(rows, [ruler.shortened(name, LABEL_WIDTH) for name in names])
    for label in axes.get_yticklabels():
        set_letters(label, ruler, colours)
    axes.set_ylim(len(names) - 0.5, -0.5)
    labelled(axes, ruler, colours, xlabel=xlabel, ylabel="", title=title)
    if marks is not None:
        add_legend(figure, axes, ruler, colours)
    return figure
