"""Colours of the figures: the palette of Okabe and Ito, on a light and on a dark ground."""

from dataclasses import dataclass

ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"


@dataclass(frozen=True)
class Theme:
    """Colours by what they are for."""

    background: str
    text: str
    faint: str  # labels and numbers beside the text
    grid: str
    panel: str  # the ground of an image that is not there
    highlight: str  # behind the new token
    on_highlight: str
    series: tuple[str, ...]  # those of the palette that stand out from the background


THEMES = {
    "light": Theme(
        background="#FFFFFF",
        text="#1A1A1A",
        faint="#5F6368",
        grid="#DADCE0",
        panel="#EDEEF0",
        highlight=ORANGE,
        on_highlight="#000000",
        series=(BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY_BLUE),
    ),
    "dark": Theme(
        background="#16181C",
        text="#ECEDEE",
        faint="#A6ABB2",
        grid="#3A3F46",
        panel="#2A2E34",
        highlight=ORANGE,
        on_highlight="#000000",
        series=(SKY_BLUE, ORANGE, GREEN, YELLOW, PURPLE, VERMILLION),
    ),
}


def theme_named(name: str) -> Theme:
    """Return a theme.

    >>> theme_named("dark").background
    '#16181C'
    """
    if name not in THEMES:
        raise ValueError(f'theme must be "light" or "dark", got {name!r}')
    return THEMES[name]
