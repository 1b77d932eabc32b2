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
    from voi.plots.bars import draw_bars
    from voi.plots.curves import draw_curves
    from voi.plots.generation import draw_generation
    from voi.plots.grid import draw_grid
    from voi.plots.heatmap import draw_permutation
    from voi.plots.perturbation import draw_perturbation

__all__ = [
    "Bar",
    "Curve",
    "bars_of",
    "curves_by_length",
    "draw_bars",
    "draw_curves",
    "draw_generation",
    "draw_grid",
    "draw_permutation",
    "draw_perturbation",
    "generation_page",
    "l2r_curves_by_length",
]

_MODULES = {
    "draw_bars": "bars",
    "draw_curves": "curves",
    "draw_generation": "generation",
    "draw_grid": "grid",
    "draw_permutation": "heatmap",
    "draw_perturbation": "perturbation",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    load_extra("matplotlib", "plots", "a figure")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
