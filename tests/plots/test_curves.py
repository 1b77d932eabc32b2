"""Curves: the numbers that went in are the ones drawn, and their names can be read."""

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

from drawn import check_layout, texts
from voi.analysis import Summary
from voi.plots import curves_by_length, l2r_curves_by_length
from voi.plots.canvas import DOTS_PER_INCH, drawing, write_figure
from voi.plots.curves import curves_figure
from voi.plots.theme import THEMES

X = list(range(2, 12))
NAMES = {"xlabel": "length in tokens", "ylabel": "distance"}


def curve(shift, x=X):
    y = np.array([shift + 0.01 * value for value in x])
    return x, y, y - 0.05, y + 0.1


def curves(series, **options):
    with drawing():
        figure = curves_figure(series, **{**NAMES, **options})
        check_layout(figure)
    return figure


def written(figure):
    return [text.get_text() for text in texts(figure)]


def test_curves_and_bands_are_the_numbers_given():
    series = {"l2r": curve(0.1), "tree": curve(0.5), "plain": (X, [0.3] * 10, None, None)}
    figure = curves(series, title="Distance by length")
    (axes,) = figure.axes
    for line, (x, y, _, _) in zip(axes.lines, series.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([x, y], axis=1))
    assert len(axes.collections) == 2
    for band, (_, _, low, high) in zip(axes.collections, series.values(), strict=False):
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == (min(low), max(high))
    assert {"l2r", "tree", "plain", "Distance by length", *NAMES.values()} <= set(written(figure))


def test_curves_differ_without_colour_as_well():
    (axes,) = curves({str(i): curve(0.05 * i) for i in range(9)}).axes
    assert len({(line.get_marker(), line.get_linestyle()) for line in axes.lines}) == 9
    assert len({(to_hex(line.get_color()), line.get_linestyle()) for line in axes.lines}) == 9


def test_a_single_curve_needs_no_legend():
    assert not curves({"only": curve(0.1)}).legends


def test_long_names_stay_in_the_figure():
    name = "a fitted exponent of $2.98$ with an interval from 2.91 to 3.05 over 12 sizes " * 3
    figure = curves(
        {name: curve(0.1), "b": curve(0.2)}, title=name, xlabel=name, ylabel=name, theme="dark"
    )
    named = [text for text in texts(figure) if "exponent" in text.get_text()]
    assert ["".join(text.get_text().split()) for text in named] == ["".join(name.split())] * 4
    assert figure.axes[0].get_window_extent().height > 2.4 * DOTS_PER_INCH
    assert not any(text.get_parse_math() for text in named)  # dollar signs are what they are


def test_logarithmic_axes_have_a_tick_at_each_size():
    sizes = [8, 16, 32, 64, 128]
    series = {"voi": (sizes, [0.001 * n for n in sizes], None, None)}
    figure = curves(series, log_x=True, log_y=True)
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert {"8", "16", "32", "64", "128", "0.01", "0.1"} <= set(written(figure))


def test_less_than_a_decade_still_has_ticks():
    figure = curves({"a": ([1, 2], [0.019, 0.048], None, None)}, log_y=True)
    assert {"0.02", "0.03", "0.04"} <= set(written(figure))


def test_a_gap_is_allowed_and_lengths_are_whole():
    figure = curves({"a": ([1, 2, 3], [0.1, float("nan"), 0.3], None, None)})
    assert {"1", "2", "3"} <= set(written(figure))
    assert not {"1.5", "2.5"} & set(written(figure))


@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ({}, {}, "at least one curve"),
        ({"a": ([], [], None, None)}, {}, "at least 1"),
        ({"a": ([1, 2], [1], None, None)}, {}, r"one length, at least 1, got \[2, 1\]"),
        ({"a": ([1], [1], [0], None)}, {}, "both or neither"),
        ({"a": ([0, 1], [1, 1], None, None)}, {"log_x": True}, "'a' has values of x"),
        ({"a": ([1], [1], [0], [2])}, {"log_y": True}, "'a' has values of y"),
    ],
)
def test_wrong_curves_are_refused(series, options, message):
    with pytest.raises(ValueError, match=message):
        curves_figure(series, **NAMES, **options)


def summary(reference, metric, length, mean):
    return Summary(reference, metric, length, 9, mean, mean - 0.1, mean + 0.1, 0.0)


def test_summaries_become_curves_sorted_by_length():
    rows = [
        summary("l2r", "nld", 5, 0.5),
        summary("l2r", "nld", 3, 0.25),
        summary("l2r", "orc", 3, 0.9),
        summary("tree", "nld", 4, 0.75),
        summary("tree", "nld", None, 0.9),
    ]
    found = curves_by_length(rows, "nld")
    assert list(found) == ["l2r", "tree"]
    assert found["l2r"][:2] == ([3, 5], [0.25, 0.5])
    assert found["tree"][0] == [4]


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_files_are_written(tmp_path, suffix, start):
    write_figure(tmp_path / f"curves.{suffix}", curves_figure, {"a": curve(0.1)}, **NAMES)
    assert (tmp_path / f"curves.{suffix}").read_bytes().startswith(start)


def test_themes_colour_the_axes():
    figure = curves({"a": curve(0.1)}, theme="dark")
    colours = {to_hex(text.get_color()) for text in texts(figure)}
    assert colours == {THEMES["dark"].text.lower()}


def test_a_figure_is_the_same_file_every_time_whatever_the_settings(tmp_path):
    both = {"a": curve(0.1), "b": curve(0.2)}
    write_figure(tmp_path / "a.svg", curves_figure, both, **NAMES)
    settings = {"font.family": "serif", "xtick.direction": "in", "svg.fonttype": "path"}
    with matplotlib.rc_context(settings):
        write_figure(tmp_path / "b.svg", curves_figure, both, **NAMES)
        assert {key: matplotlib.rcParams[key] for key in settings} == settings | {
            "font.family": ["serif"]
        }
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_second_curve_is_dashed_in_the_same_colour():
    both = {"l2r": curve(0.1), "tree": curve(0.3)}
    figure = curves(both, compared={"tree": (X, [0.0] * len(X), None, None)})
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    (dashed,) = (
        x for x in figure.axes[0].lines if x.get_linestyle() == "--" and len(x.get_xdata())
    )
    assert dashed.get_color() == lines["tree"].get_color()
    assert dashed.get_ydata().tolist() == [0.0] * len(X)
    assert "left to right" in [text.get_text() for text in texts(figure)]
    assert len(figure.axes[0].collections) == 2  # bands of the first curves only
    with pytest.raises(ValueError, match="must name curves"):
        curves(both, compared={"r2l": curve(0.1)})


def test_left_to_right_has_curves_of_its_own():
    rows = [
        Summary(
            reference="rare",
            metric=metric,
            length=n,
            num=9,
            mean=0.5,
            low=0.4,
            high=0.6,
            l2r=n / 10,
        )
        for metric in ("nld", "orc")
        for n in (4, 3)
    ]
    assert l2r_curves_by_length(rows, "orc") == {"rare": ([3, 4], [0.3, 0.4], None, None)}
