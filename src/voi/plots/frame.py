"""What figures with axes share: quiet axes, titles that wrap, a legend below the axes."""

import math
from collections.abc import Iterable
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from voi.plots.lettering import Ruler, lettering_for, visible
from voi.plots.theme import Theme

POINTS = 10
TITLE_SCALE = 1.2
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
    axes: Axes, ruler: Ruler, theme: Theme, *, xlabel: str, ylabel: str, title: str
) -> None:
    """Name the axes and the whole; what is wider than the figure gets several lines."""
    figure = axes.figure
    width, height = figure.get_size_inches() - 0.4  # type: ignore[union-attr]
    set_letters(axes.set_xlabel(ruler.folded(xlabel, 0.85 * width)), ruler, theme)
    set_letters(axes.set_ylabel(ruler.folded(ylabel, 0.8 * height)), ruler, theme)
    if title:
        text = figure.suptitle(ruler.folded(title, width / TITLE_SCALE))
        set_letters(text, ruler, theme, scale=TITLE_SCALE)


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
