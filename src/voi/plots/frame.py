"""What figures with axes share: quiet axes, titles that wrap, a legend below the axes."""

import math
from collections.abc import Iterable
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from voi.plots.lettering import Ruler, lettering_for, visible
from voi.plots.theme import Theme

POINTS = 10.0
TITLE_SCALE = 1.2
LINE = 1.6  # in ems, from one line to the next
HANDLE_WIDTH = 0.75  # inches that a legend entry has beside its text


def ruler_for(texts: Iterable[str]) -> Ruler:
    """Return a ruler with the fonts of these texts."""
    return Ruler(lettering_for("".join(map(visible, texts))), POINTS)


def plain_axes(
    figure: Figure, ruler: Ruler, theme: Theme, grid: Literal["x", "y", "both"] = "both"
) -> Axes:
    """Return axes without a box, on a faint grid."""
    axes = figure.add_subplot(facecolor=theme.background)
    axes.grid(axis=grid, color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.faint)
    axes.tick_params(which="both", colors=theme.text, labelsize=POINTS - 1)
    return axes


def labelled(
    axes: Axes,
    ruler: Ruler,
    theme: Theme,
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    beside: float = 0.6,
) -> None:
    """Set both labels and the title; what is too wide gets several lines and a taller figure.

    `beside` is the room, in inches, that the tick labels take beside the axes.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches() - 0.4
    set_letters(axes.set_ylabel(ruler.folded(ylabel, 0.6 * height)), ruler, theme)
    across = width - beside - LINE * ruler.em * (1 + axes.get_ylabel().count("\n"))
    set_letters(axes.set_xlabel(ruler.folded(xlabel, across)), ruler, theme)
    grow(figure, ruler, axes.get_xlabel().count("\n"))
    if title:
        text = figure.suptitle(ruler.folded(title, width / TITLE_SCALE))
        set_letters(text, ruler, theme, scale=TITLE_SCALE)
        grow(figure, ruler, text.get_text().count("\n"))


def grow(figure: Figure, ruler: Ruler, num_lines: int) -> None:
    """Make room for more lines above or below the axes."""
    figure.set_figheight(figure.get_figheight() + LINE * ruler.em * num_lines)


def set_letters(text: Text, ruler: Ruler, theme: Theme, scale: float = 1.0) -> None:
    """Write a text as it is, dollar signs included, in the fonts it needs."""
    text.set(parse_math=False, color=theme.text, fontproperties=ruler.font)
    text.set_fontsize(ruler.points * scale)


def add_legend(figure: Figure, axes: Axes, ruler: Ruler, theme: Theme) -> None:
    """Explain the curves below the axes, in as many columns as fit."""
    width = figure.get_size_inches()[0] - 0.4
    handles, names = axes.get_legend_handles_labels()
    texts = [ruler.folded(name, width - HANDLE_WIDTH) for name in names]
    widest = max(ruler.width(line) for text in texts for line in text.split("\n"))
    rows = math.ceil(len(texts) / max(1, int(width / (widest + HANDLE_WIDTH))))
    legend = figure.legend(
        handles,
        texts,
        loc="outside lower center",
        ncols=math.ceil(len(texts) / rows),
        frameon=False,
        prop=ruler.font,
    )
    for text in legend.get_texts():
        set_letters(text, ruler, theme)
    grow(figure, ruler, rows * (1 + max(text.count("\n") for text in texts)) - 1)
