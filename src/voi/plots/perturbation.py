"""What each part of a source does to an order: bars, and boxes in an image where there is one."""

import os
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from voi.plots.canvas import new_figure, write_figure
from voi.plots.frame import labelled, plain_axes, ruler_for, set_letters
from voi.plots.inputs import Boxes, Image
from voi.plots.lettering import Ruler
from voi.plots.regions import Picture, checked_picture
from voi.plots.theme import Theme, theme_named

WIDTH, BAR_HEIGHT = 6.4, 0.3  # inches
LABEL_WIDTH = 2.4
IMAGE = (6.0, 4.2)
MARGIN = 0.2
MOST_BARS, MOST_NUMBERS = 30, 10
XLABELS = {
    "orders": "normalised Levenshtein distance of the order without the part to the order with it",
    "ranks": "normalised Levenshtein distance of the ranks without the part to the ranks with it",
}


def draw_perturbation(
    names: Sequence[str],
    effects: Sequence[float],
    path: str | os.PathLike[str],
    *,
    image: Image | None = None,
    boxes: Boxes | None = None,
    compared: str = "orders",
    theme: str = "light",
) -> None:
    """Draw the effect of removing each part of a source, largest first.

    `names [m]` and `effects [m]` are in the order of the source, and so are `boxes [m, 4]`; a box
    is as opaque as its effect is large, and the ten with the largest effects are numbered. The
    effects are distances between what is `compared`, orders or ranks.
    """
    write_figure(
        path,
        perturbation_figure,
        names,
        effects,
        image=image,
        boxes=boxes,
        compared=compared,
        theme=theme,
    )


def perturbation_figure(
    names: Sequence[str],
    effects: Sequence[float],
    *,
    image: Image | None = None,
    boxes: Boxes | None = None,
    compared: str = "orders",
    theme: str = "light",
) -> Figure:
    """Return the figure that `draw_perturbation` writes."""
    values = np.asarray(effects, dtype=np.float64)
    if not names or len(names) != len(values):
        raise ValueError(f"expected an effect for each part, got {len(values)} for {len(names)}")
    if boxes is not None and len(boxes) != len(names):
        raise ValueError(f"expected a box for each part, got {len(boxes)} for {len(names)}")
    colours = theme_named(theme)
    ranked = np.argsort(-values, kind="stable")
    shown = ranked[:MOST_BARS]
    labels = [f"{i + 1}  {names[i]}" for i in shown]
    ruler = ruler_for([*labels, "normalised Levenshtein distance…()"])
    xlabel = XLABELS[compared]
    if len(values) > len(shown):
        xlabel += f" ({len(values) - len(shown)} parts with no larger effect are not shown)"
    figure = _bars(labels, values[shown], xlabel, ruler, colours)
    picture = checked_picture(image, boxes, _opacities(values) if boxes is not None else None, 1)
    if picture is not None:
        numbered = [int(i) for i in ranked[:MOST_NUMBERS] if values[i] > 0]
        _add_picture(figure, picture, numbered, ruler, colours)
    return figure


def _opacities(values: Float[np.ndarray, " m"]) -> Float[np.ndarray, "1 m"]:
    """Return effects as shares of the largest, but never so faint that a box is not seen."""
    largest = values.max()
    return np.clip(values / (largest if largest > 0 else 1.0), 0.12, 1.0)[None]


def _bars(
    labels: Sequence[str],
    values: Float[np.ndarray, " bars"],
    xlabel: str,
    ruler: Ruler,
    theme: Theme,
) -> Figure:
    """Return a figure of bars from the top down."""
    height = 1.0 + BAR_HEIGHT * len(labels)
    figure = new_figure(WIDTH, height, theme, layout="constrained")
    axes = plain_axes(figure, ruler, theme, grid="x")
    axes.barh(np.arange(len(labels)), values, height=0.7, color=theme.series[0])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    for row, value in enumerate(values):
        is_wide = value > 0.85
        text = axes.text(
            value, row, f" {value:.2f} ", va="center", ha="right" if is_wide else "left"
        )
        set_letters(text, ruler, theme)
        text.set_color(theme.background if is_wide else theme.text)
    short = [ruler.shortened(label, LABEL_WIDTH) for label in labels]
    axes.set_yticks(range(len(labels)), short)
    for label in axes.get_yticklabels():
        set_letters(label, ruler, theme)
    beside = 0.2 + max(map(ruler.width, short))
    labelled(axes, ruler, theme, xlabel=xlabel, ylabel="", title="", beside=beside)
    return figure


def _add_picture(
    figure: Figure, picture: Picture, numbered: Sequence[int], ruler: Ruler, theme: Theme
) -> None:
    """Put an image with its boxes above the bars of a figure."""
    width, height = picture.size_within(*IMAGE)
    below = figure.get_figheight()
    figure.set_figheight(below + height + MARGIN)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0, 0, 1, below / figure.get_figheight()))
    picture.draw(figure, ((WIDTH - width) / 2, below, width, height), 0, theme)
    for i in reversed(numbered):  # the largest effect on top
        _number(figure.axes[-1], picture.boxes[i], str(i + 1), ruler, theme)


def _number(
    axes: Axes, box: Float[np.ndarray, "4"], number: str, ruler: Ruler, theme: Theme
) -> None:
    """Write a number into the upper left corner of a box."""
    text = axes.text(box[0], box[1], number, ha="left", va="top", clip_on=True)
    set_letters(text, ruler, theme)
    text.set(color=theme.on_highlight, bbox={"facecolor": theme.highlight, "lw": 0, "pad": 1.5})
