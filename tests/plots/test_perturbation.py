"""Perturbation: the effects that went in are the bars, and the boxes are as opaque as they say."""

import numpy as np
import pytest

from drawn import HEBREW, HOSTILE, SCRIPTS, SIXTY, check_layout, texts
from voi.plots import draw_perturbation
from voi.plots.canvas import drawing
from voi.plots.perturbation import MOST_BARS, perturbation_figure

BOXES = np.array([[0.1, 0.1, 0.4, 0.5], [0.5, 0.2, 0.9, 0.9], [0.0, 0.0, 1.0, 1.0]])


def drawn(names, effects, **options):
    with drawing():
        figure = perturbation_figure(names, effects, **options)
        check_layout(figure)
    return figure


def test_bars_are_the_effects_largest_first():
    figure = drawn(["a", "$x$", "a"], [0.25, 0.0, 1.0])
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["3  a", "1  a", "2  $x$"]
    assert [bar.get_width() for bar in axes.patches] == [1.0, 0.25, 0.0]
    assert {" 1.00 ", " 0.25 ", " 0.00 "} <= {text.get_text() for text in texts(figure)}
    assert axes.get_xlim() == (0, 1)
    assert "of the order without" in axes.get_xlabel().replace("\n", " ")
    ranks = drawn(["a"], [0.5], compared="ranks").axes[0]
    assert "of the ranks without" in ranks.get_xlabel().replace("\n", " ")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_long_and_strange_sources(theme):
    names = [*SIXTY, *HOSTILE, *SCRIPTS, *HEBREW]
    effects = np.linspace(1, 0, len(names)).tolist()
    figure = drawn(names, effects, theme=theme)
    assert len(figure.axes[0].patches) == MOST_BARS
    assert f"({len(names) - MOST_BARS} parts with no larger effect are not shown)" in (
        figure.axes[0].get_xlabel().replace("\n", " ")
    )
    drawn(HOSTILE + SCRIPTS + HEBREW, [0.5] * len(HOSTILE + SCRIPTS + HEBREW))


def test_boxes_are_as_opaque_as_their_effects():
    image = np.zeros((40, 80, 3), np.uint8)
    figure = drawn(["bus", "tree", "all"], [0.2, 0.4, 0.0], image=image, boxes=BOXES)
    _, picture = figure.axes
    assert [box.get_alpha() for box in picture.patches] == pytest.approx([0.5, 1.0, 0.12])
    numbers = {text.get_text(): text.get_position() for text in picture.texts}
    assert numbers == {"1": (0.1, 0.1), "2": (0.5, 0.2)}  # a region without effect has none
    width, height = figure.get_size_inches()
    place = picture.get_position()
    assert place.width * width / (place.height * height) == pytest.approx(2)  # the image's own


def test_no_effect_at_all_and_no_image():
    figure = drawn(["bus", "tree", "all"], [0.0, 0.0, 0.0], boxes=BOXES)
    assert len(figure.axes) == 2
    assert not figure.axes[1].texts


def test_files_and_faults(tmp_path):
    draw_perturbation(["a"], [0.5], tmp_path / "p.pdf", boxes=BOXES[:1])
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match="2 for 1"):
        perturbation_figure(["a"], [0.5, 0.1])
    with pytest.raises(ValueError, match="0 for 0"):
        perturbation_figure([], [])
    with pytest.raises(ValueError, match="a box for each part"):
        perturbation_figure(["a"], [0.5], boxes=BOXES)
