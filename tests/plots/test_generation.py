"""Figures of generations: every step is there, readable, within the figure, and nowhere else."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyBboxPatch, Rectangle

from drawn import (
    HEBREW,
    HOSTILE,
    SCRIPTS,
    SIXTY,
    WORDS,
    check_layout,
    coloured,
    partial_sentences,
    texts,
    trace_of,
)
from voi.errors import DataError
from voi.plots import draw_generation
from voi.plots.canvas import DOTS_PER_INCH, drawing
from voi.plots.generation import NOTHING, POINTS, TEXT_WIDTH, THUMBNAIL, generation_figure
from voi.plots.lettering import visible
from voi.plots.theme import THEMES

BOXES = np.array([[0.1, 0.1, 0.4, 0.6], [0.5, 0.2, 0.9, 0.9]])
TRACES = {
    "short": trace_of(WORDS[:5], source="from-left a b c d e"),
    "sixty": trace_of(SIXTY, source=" ".join(WORDS)),
    "hostile": trace_of(HOSTILE, source="$a$ _{b} \\ " + "y" * 200),
    "scripts": trace_of(SCRIPTS, source="これは 文 です"),
    "hebrew": trace_of(HEBREW, source="a short sentence"),
    "empty": trace_of([], source="nothing comes of this"),
    "unconditional": trace_of(WORDS[:3]),
}


def figure_of(trace, **options):
    with drawing():
        return generation_figure(trace, **options)


def svg_texts(path):
    root = ElementTree.parse(path).getroot()
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", TRACES)
def test_no_text_is_cut_or_covered(name):
    with drawing():
        figure = generation_figure(TRACES[name])
        check_layout(figure)
    assert figure.get_figwidth() < TEXT_WIDTH + 2


@pytest.mark.parametrize(
    ("name", "start"), [("f.png", b"\x89PNG\r\n\x1a\n"), ("f.pdf", b"%PDF-"), ("f.PNG", b"\x89PNG")]
)
def test_files_are_what_their_suffix_says(tmp_path, name, start):
    draw_generation(TRACES["short"], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["short", "sixty"])
def test_every_partial_sentence_is_text_in_the_svg(tmp_path, name):
    trace = TRACES[name]
    draw_generation(trace, tmp_path / "f.svg")
    written = " ".join(svg_texts(tmp_path / "f.svg"))
    assert written.startswith(f"source {trace.source} 1 ")
    assert written.endswith(" " + partial_sentences(trace)[-1])
    for number, sentence in enumerate(partial_sentences(trace), start=1):
        assert f" {number} {sentence}" in written


@pytest.mark.parametrize("name", ["hostile", "scripts"])
def test_odd_tokens_survive_in_the_svg(tmp_path, name):
    draw_generation(TRACES[name], tmp_path / "f.svg")
    written = "".join(svg_texts(tmp_path / "f.svg"))
    for token in TRACES[name].tokens:
        assert visible(token) in written


@pytest.mark.parametrize(
    ("name", "theme"),
    [("short", "light"), ("sixty", "dark"), ("scripts", "light"), ("hebrew", "dark")],
)
def test_the_new_token_of_each_step_is_highlighted(name, theme):
    trace = TRACES[name]
    figure = figure_of(trace, theme=theme)
    expected = [trace.tokens[i] for i in trace.order]
    assert coloured(figure, THEMES[theme].on_highlight) == expected
    renderer = figure.canvas.get_renderer()
    with drawing():
        boxes = [p.get_window_extent(renderer) for p in figure.findobj(FancyBboxPatch)]
        colour = THEMES[theme].on_highlight
        extents = {t: t.get_window_extent(renderer) for t in texts(figure)}
        new = [extent for text, extent in extents.items() if text.get_color() == colour]
        old = [extent for text, extent in extents.items() if text.get_color() != colour]
    assert len(boxes) == len(new)
    for box, text in zip(boxes, new, strict=True):
        assert box.x0 < text.x0 < text.x1 < box.x1
        assert box.y0 < (text.y0 + text.y1) / 2 < box.y1
        assert not any(box.overlaps(other) for other in old)


def test_a_broken_word_is_highlighted_in_all_its_parts():
    trace = trace_of(["x" * 300])
    assert "".join(coloured(figure_of(trace), THEMES["light"].on_highlight)) == "x" * 300


def test_letters_shrink_to_a_floor_and_the_figure_grows_downwards():
    sizes = {}
    for n in (5, 25, 60):
        figure = figure_of(trace_of(SIXTY[:n]))
        points = {text.get_fontsize() for text in texts(figure)}
        sizes[n] = (*points, *figure.get_size_inches())
        assert len(points) == 1
    assert sizes[5][0] == POINTS[0] > sizes[60][0] == POINTS[-1]
    assert sizes[5][2] < sizes[25][2] < sizes[60][2]
    assert sizes[60][1] < TEXT_WIDTH + 2


def test_text_from_the_right_begins_at_the_right():
    trace = trace_of(HEBREW, order=range(len(HEBREW)), source="latin")
    figure = figure_of(trace)
    renderer = figure.canvas.get_renderer()
    ends = [t.get_window_extent(renderer).x1 for t in texts(figure) if t.get_text()[0] == "ז"]
    assert len(ends) == len(HEBREW)
    assert max(ends) - min(ends) < 3
    assert min(ends) > 0.9 * figure.bbox.x1 - 0.25 * 200
    (latin,) = (t for t in texts(figure) if t.get_text() == "latin")
    assert latin.get_window_extent(renderer).x0 < 0.5 * figure.bbox.x1


def test_nothing_written_is_said():
    assert coloured(figure_of(TRACES["empty"]), THEMES["light"].faint) == ["source", NOTHING]


def test_dark_differs_from_light_in_colour_alone():
    light, dark = (figure_of(TRACES["short"], theme=theme) for theme in ("light", "dark"))
    assert tuple(light.get_size_inches()) == tuple(dark.get_size_inches())
    assert dark.get_facecolor() == to_rgba(THEMES["dark"].background)
    assert [t.get_text() for t in texts(light)] == [t.get_text() for t in texts(dark)]


def test_boxes_are_as_opaque_as_each_step_says(tmp_path):
    opacities = np.array([[0.0, 1.0], [0.25, 0.5], [1.0, 0.125]])
    trace = trace_of(["a", "red", "box"])
    figure = figure_of(
        trace, image=np.zeros((20, 30, 3)), boxes=BOXES, opacities=opacities, theme="dark"
    )
    assert len(figure.axes) == 3
    with drawing():
        check_layout(figure)
    for axes, shown in zip(figure.axes, opacities, strict=True):
        drawn = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert [patch.get_alpha() for patch in drawn] == list(shown)
        assert drawn[1].get_bbox().extents == pytest.approx(BOXES[1])
        width, height = axes.get_window_extent().size
        assert width / height == pytest.approx(30 / 20)
        assert width <= THUMBNAIL[0] * DOTS_PER_INCH + 1
        assert height <= THUMBNAIL[1] * DOTS_PER_INCH + 1


def test_one_image_stands_above_the_steps(tmp_path):
    draw_generation(trace_of(["red"]), tmp_path / "image.png")
    figure = figure_of(TRACES["short"], image=tmp_path / "image.png", boxes=BOXES)
    (axes,) = figure.axes
    (first,) = (t for t in texts(figure) if t.get_text() == "1")
    renderer = figure.canvas.get_renderer()
    assert axes.get_window_extent().y0 > first.get_window_extent(renderer).y1
    with drawing():
        check_layout(figure)


def test_boxes_without_an_image_stand_on_a_panel():
    (axes,) = figure_of(trace_of([]), boxes=BOXES, opacities=np.zeros((0, 2))).axes
    assert axes.get_facecolor() == to_rgba(THEMES["light"].panel)
    assert not axes.images


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opacities": np.ones((5, 2))}, "give both"),
        ({"boxes": BOXES, "opacities": np.ones((4, 2))}, re.escape("[5, 2], got [4, 2]")),
        ({"boxes": BOXES, "opacities": np.full((5, 2), 1.5)}, "between 0 and 1"),
        ({"boxes": BOXES * 100}, "shares"),
        ({"theme": "blue"}, "light"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        figure_of(TRACES["short"], **options)


def test_an_image_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "image.png").write_text("no image")
    for name in ("image.png", "absent.png"):
        with pytest.raises(DataError, match=name):
            figure_of(TRACES["short"], image=tmp_path / name)
