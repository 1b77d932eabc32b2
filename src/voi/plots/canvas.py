"""Drawing with matplotlib: figures without a display, independent of the user's settings."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, ParamSpec

import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from voi.plots.output import FIGURE_SUFFIXES, output_path, picture_file
from voi.plots.theme import Theme

DOTS_PER_INCH = 200
PADDING = 0.1  # inches around axes and their labels
MOST_DOTS = 30_000  # along either side; a raster image has fewer dots per inch above it

Arguments = ParamSpec("Arguments")

_SETTINGS = {
    "text.hinting": "none",  # widths grow with the size exactly, so one measurement serves all
    "svg.fonttype": "none",  # text stays text: it can be searched, and viewers add their fonts
    "svg.hashsalt": "voi",  # the same figure is the same file
}
_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": None}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with matplotlib's own defaults; a character that no font has is a box."""
    log = logging.getLogger("matplotlib.font_manager")  # tells of fonts without a regular weight
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with matplotlib.style.context(["default", _SETTINGS]), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
            yield
    finally:
        log.setLevel(level)


def new_figure(
    width: float,
    height: float,
    theme: Theme,
    layout: Literal["constrained", "compressed"] | None = None,
) -> Figure:
    """Return an empty figure of a size in inches; "compressed" is for axes of fixed proportions."""
    figure = Figure((width, height), DOTS_PER_INCH, facecolor=theme.background, layout=layout)
    FigureCanvasAgg(figure)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(w_pad=PADDING, h_pad=PADDING)
    return figure


def write_figure(
    path: str | os.PathLike[str],
    figure: Callable[Arguments, Figure],
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> None:
    """Write the figure that a function returns for these arguments, as .png, .svg or .pdf."""
    target = output_path(path, FIGURE_SUFFIXES)
    with drawing():
        save(figure(*arguments, **options), target)


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its suffix; call within `drawing`."""
    suffix = path.suffix.lower()
    dots = min(DOTS_PER_INCH, int(MOST_DOTS / max(figure.get_size_inches())))
    with picture_file(path) as draft:
        figure.savefig(draft, format=suffix[1:], dpi=dots, metadata=_UNDATED[suffix])
