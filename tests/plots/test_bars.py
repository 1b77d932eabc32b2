"""Bars: sorted, with the intervals and marks that were given, under names that can be read."""

import numpy as np
import pytest

from drawn import check_layout, texts
from voi.analysis import GroupIndex
from voi.plots import bars_of
from voi.plots.bars import bars_figure
from voi.plots.canvas import drawing, write_figure


def bars(values, **options):
    with drawing():
        figure = bars_figure(values, **{"xlabel": "index", **options})
        check_layout(figure)
    return figure


def test_bars_are_sorted_from_the_smallest_down():
    values = {"VERB": (0.5, 0.4, 0.7), "NOUN": (0.2, 0.1, 0.25), "$x$": (0.9, 0.9, 0.9)}
    figure = bars(values)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["NOUN", "VERB", "$x$"]
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    assert [bar.get_width() for bar in axes.patches] == [0.2, 0.5, 0.9]
    assert axes.yaxis_inverted()
    ends = [segment[:, 0].tolist() for segment in axes.collections[0].get_segments()]
    np.testing.assert_allclose(ends, [[0.1, 0.25], [0.4, 0.7], [0.9, 0.9]])


def test_marks_stand_beside_their_bars():
    values = {"VERB": (0.5, 0.4, 0.7), "a very long name without any end " * 3: (0.2, 0.1, 0.3)}
    marks = {name: 10 * value[0] for name, value in values.items()}
    figure = bars(
        values, marks=marks, mark_name="left to right", xlabel="a long label " * 20, theme="dark"
    )
    shown = next(line for line in figure.axes[0].lines if line.get_label() == "left to right")
    assert shown.get_xdata() == pytest.approx([2, 5])
    assert "left to right" in [text.get_text() for text in texts(figure)]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({}, {}, "at least one bar"),
        ({"a": (0.5, 0.6, 0.7)}, {}, "between its low and its high"),
        ({"a": (0.5, 0.4, 0.7)}, {"marks": {"b": 1.0}}, r"\['a', 'b'\]"),
    ],
)
def test_wrong_bars_are_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        bars_figure(values, xlabel="x", **options)


def test_files_are_written(tmp_path):
    groups = [GroupIndex("NOUN", count=9, num=4, mean=0.2, low=0.1, high=0.3, l2r=0.5)]
    write_figure(tmp_path / "bars.svg", bars_figure, bars_of(groups), xlabel="index")
    assert ">NOUN</text>" in (tmp_path / "bars.svg").read_text()


def test_bars_may_keep_their_order():
    values = {"10+": (0.5, 0.4, 0.7), "0": (0.2, 0.1, 0.25), "1-9": (0.9, 0.9, 0.9)}
    figure = bars(values, is_sorted=False, marks=dict.fromkeys(values, 0.5))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["10+", "0", "1-9"]
