"""Named curves with their intervals."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, MaxNLocator

from voi.plots.canvas import new_figure
from voi.plots.frame import add_legend, labelled, plain_axes, ruler_for
from voi.plots.inputs import Curve, Values
from voi.plots.theme import Theme, theme_named

WIDTH, HEIGHT = 6.4, 4.0  # inches
MARKERS = "osD^vPX"
LINES = ("-", "--", ":", "-.")


def curves_figure(
    series: Mapping[str, Curve],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    compared: Mapping[str, Curve] | None = None,
    compared_name: str = "left to right",
    log_x: bool = False,
    log_y: bool = False,
    theme: str = "light",
) -> Figure:
    """Return named curves `(x, y, low, high)`, each `[points]`, with a band from low to high.

    `low` and `high` may both be None. A nan in `y` is a gap. On a logarithmic axis all values must
    be positive. `compared` has a second curve for some of the names, drawn dashed in the same
    colour and without its band: what to compare the first with.
    """
    if not series:
        raise ValueError("expected at least one curve, got none")
    if not (compared or {}).keys() <= series.keys():
        raise ValueError(f"compared must name curves, got {sorted(compared or {})}")
    colours = theme_named(theme)
    curves = {name: _checked(name, curve, log_x, log_y) for name, curve in series.items()}
    ruler = ruler_for([*series, xlabel, ylabel, title, compared_name])
    figure = new_figure(WIDTH, HEIGHT, colours, layout="constrained")
    axes = plain_axes(figure, ruler, colours)
    for number, (name, curve) in enumerate(curves.items()):
        _draw_curve(axes, number, name, curve, colours)
        if compared and name in compared:
            x, y, _, _ = _checked(name, compared[name], log_x, log_y)
            axes.plot(x, y, "--", color=_colour(number, colours), linewidth=1.2)
    if compared:
        axes.plot([], [], "--", color=colours.text, linewidth=1.2, label=compared_name)
    _scale(axes, [x for x, _, _, _ in curves.values()], log_x, log_y)
    labelled(axes, ruler, colours, xlabel=xlabel, ylabel=ylabel, title=title)
    if len(series) > 1 or compared:
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


def _colour(number: int, theme: Theme) -> str:
    return theme.series[number % len(theme.series)]


def _draw_curve(axes: Axes, number: int, name: str, curve: Arrays, theme: Theme) -> None:
    x, y, low, high = curve
    colour = _colour(number, theme)
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
