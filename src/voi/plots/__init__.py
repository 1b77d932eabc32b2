"""Figures of analysis results and traces; nothing here sees a model (docs/orders.md).

Figures need matplotlib (`pip install 'voi[plots]'`), which is loaded by the first one that is
drawn; the HTML page needs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from voi.extras import load_extra
from voi.plots.inputs import Bar, Curve, bars_of, curves_by_length, l2r_curves_by_length
from voi.plots.page import generation_page

if TYPE_CHECKING:
    from voi.plots.bars import bars_figure
    from voi.plots.canvas import write_figure
    from voi.plots.curves import curves_figure
    from voi.plots.generation import draw_generation
    from voi.plots.grid import grid_figure
    from voi.plots.heatmap import attention_figure, permutation_figure
    from voi.plots.perturbation import draw_perturbation

__all__ = [
    "Bar",
    "Curve",
    "attention_figure",
    "bars_figure",
    "bars_of",
    "curves_by_length",
    "curves_figure",
    "draw_generation",
    "draw_perturbation",
    "generation_page",
    "grid_figure",
    "l2r_curves_by_length",
    "permutation_figure",
    "write_figure",
]

_MODULES = {
    "attention_figure": "heatmap",
    "bars_figure": "bars",
    "curves_figure": "curves",
    "draw_generation": "generation",
    "draw_perturbation": "perturbation",
    "grid_figure": "grid",
    "permutation_figure": "heatmap",
    "write_figure": "canvas",
}


def __getattr__(name: str) -> Any:
    """Import what draws a figure when it is first used, and matplotlib with it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    load_extra("matplotlib", "plots", "a figure")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, whether they were used already or not."""
    return sorted(__all__)
