"""Traces to draw, and what can be read off a drawn figure."""

import random
from itertools import combinations

from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from voi.analysis import Trace, slots_of

SENTENCE = """the quick brown fox jumps over a lazy dog and then , without any hesitation
    whatsoever , goes back into its forest where nobody has seen it since last summer"""
WORDS = SENTENCE.split()
SIXTY = (WORDS * 3)[:60]
HOSTILE = ["a$b$c", "$x^2$", "\n", "  ", "", "<b>&amp;", "x" * 150, "\x00\u202e", "\\frac{1}"]
SCRIPTS = ["日本語", "の", "Привет", "नमस्ते", "γειά", "🙂", "\ue000", "e\u0301"]
HEBREW = ["זה", "משפט", "קצר", "בעברית"]


def trace_of(tokens, order=None, source=None, **fields) -> Trace:
    """Return a trace; without an order, of one drawn from a fixed seed."""
    if order is None:
        order = random.Random(0).sample(range(len(tokens)), len(tokens))
    return Trace(
        target=" ".join(tokens),
        tokens=tuple(tokens),
        order=tuple(order),
        slots=slots_of(order),
        kind="generated",
        source=source,
        **fields,
    )


def partial_sentences(trace: Trace) -> list[str]:
    """Return the sentence after every step: the positions written so far, in reading order."""
    steps = range(1, len(trace.order) + 1)
    return [" ".join(trace.tokens[i] for i in sorted(trace.order[:t])) for t in steps]


def texts(figure: Figure) -> list[Text]:
    """Return the texts that can be seen; an axis keeps ticks beyond its ends and hides them."""
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            beyond = [tick for tick in ticks if not low <= tick.get_loc() <= high]
            hidden |= {label for tick in beyond for label in (tick.label1, tick.label2)}
    found = figure.findobj(lambda artist: isinstance(artist, Text) and artist not in hidden)
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def coloured(figure: Figure, colour: str) -> list[str]:
    return [t.get_text() for t in texts(figure) if to_hex(t.get_color()) == colour.lower()]


def check_layout(figure: Figure) -> None:
    """No text leaves the figure, and no two texts overlap by more than rounding."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    boxes = [(text, text.get_window_extent(renderer)) for text in texts(figure)]
    for text, box in boxes:
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text
    for (first, a), (second, b) in combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(width, height) < 1.5, (first, second)  # dots, at 200 an inch
