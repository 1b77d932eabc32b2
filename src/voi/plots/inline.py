"""Figures as SVG elements that stand inside an HTML page."""

import io
import re
from dataclasses import astuple

from matplotlib.figure import Figure

from voi.plots.theme import THEMES

_NAME = re.compile(r'(\bid="|url\(#|href="#)')
_COLOUR = re.compile(r"#[0-9a-f]{6}")


def svg_element(figure: Figure, prefix: str) -> str:
    """Return a figure of the light theme as one <svg> element; call within `drawing`.

    On a dark page its colours become those of the dark theme. Texts are escaped by matplotlib.
    Names inside the element get a prefix, because the figures of a page share one set of names;
    the metadata of matplotlib is left out.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].rstrip()
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text, count=2)  # HTML knows them by itself
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    pieces = re.split(r"(<[^>]*>)", text)  # a ">" within an attribute is always escaped
    pieces[1::2] = [_changed(tag, prefix) for tag in pieces[1::2]]
    return "".join(pieces)


def _changed(tag: str, prefix: str) -> str:
    """Return a tag with its names and colours replaced."""
    tag = _NAME.sub(rf"\g<1>{prefix}-", tag)
    return _COLOUR.sub(lambda found: _both(found[0]), tag) if 'style="' in tag else tag


def _both(colour: str) -> str:
    dark = _DARK.get(colour)
    return f"light-dark({colour}, {dark})" if dark else colour


def _colours(name: str) -> list[str]:
    *single, series = astuple(THEMES[name])
    return [colour.lower() for colour in (*series, *reversed(single))]  # a series' colour first


# Later entries win: the colours of a series over the highlight.
_DARK = dict(reversed(list(zip(_colours("light"), _colours("dark"), strict=True))))
