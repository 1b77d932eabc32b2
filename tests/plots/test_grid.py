"""Grids of shares: numbers stand in their cells and nothing overlaps."""

import numpy as np
import pytest

from drawn import check_layout, texts
from voi.plots.canvas import drawing, write_figure
from voi.plots.grid import grid_figure

VALUES = {"chain-6": {"voi-gumbel-matching": 1.0, "l2r": 0.57}, "sorting": {"l2r": 0.994}}


def grid(values, **options):
    with drawing():
        figure = grid_figure(values, **options)
        check_layout(figure)
    return figure


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cells_hold_their_percentages(theme):
    figure = grid(VALUES, title="Share of targets that are written right", theme=theme)
    axes = figure.axes[0]
    shown = axes.images[0].get_array().filled(np.nan)
    np.testing.assert_array_equal(shown, [[1.0, 0.57], [np.nan, 0.994]])
    placed = {text.get_position(): text.get_text() for text in axes.texts}
    assert placed == {(0, 0): "100", (1, 0): "57", (1, 1): "99"}
    words = {text.get_text() for text in texts(figure)}
    assert {"chain-6", "sorting", "voi-gumbel-matching", "l2r"} <= words


def test_ten_tasks_and_nine_methods_fit():
    methods = {f"voi-matrix-plackett-luce-{j}": j / 9 for j in range(9)}
    grid({f"stargraph-{i}": methods for i in range(10)}, title="accuracy")


def test_values_must_be_shares():
    for wrong in ({}, {"a": {}}, {"a": {"b": 1.5}}):
        with pytest.raises(ValueError, match="shares"):
            grid_figure(wrong)


def test_a_file_is_written(tmp_path):
    write_figure(tmp_path / "grid.svg", grid_figure, VALUES)
    assert "sorting" in (tmp_path / "grid.svg").read_text()
