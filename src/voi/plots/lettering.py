"""Text in figures: what can be shown of a token, which fonts have it, how wide it is."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties, fontManager, get_font

from voi.plots.canvas import DOTS_PER_INCH

BASE_FAMILY = "DejaVu Sans"  # comes with matplotlib
NO_LETTERS = "Last Resort"  # the same, from 3.11 on: boxes for what no other font has
REGULAR = (400, "normal", "regular", "book")
POINTS_PER_INCH = 72
_UNSEEN = {"Cc", "Cs", "Cn", "Zl", "Zp"}  # controls, surrogates, non-characters, separators
_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # turn what follows


def visible(token: str) -> str:
    r"""Return a token as it is drawn: one line, with nothing in it that cannot be seen.

    >>> visible("a\nb"), visible("  "), visible("")
    ('a\\nb', '␣␣', '""')
    """
    if not token:
        return '""'
    if token.isspace() and token.isprintable():
        return "␣" * len(token)
    return "".join(c if _is_shown(c) else c.encode("unicode_escape").decode() for c in token)


def _is_shown(character: str) -> bool:
    kind, direction = unicodedata.category(character), unicodedata.bidirectional(character)
    return kind not in _UNSEEN and direction not in _TURNING


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text belong to a script that is read from the right."""
    kinds = [unicodedata.bidirectional(c) for c in text]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


@cache
def _characters(file: str) -> frozenset[int]:
    """Return the characters of a font file; none if it cannot be used."""
    try:
        font = get_font(file)
        font.set_size(10, POINTS_PER_INCH)  # fonts that are bitmaps refuse
        return frozenset(font.get_charmap())
    except (RuntimeError, OSError, ValueError):
        return frozenset()


@dataclass(frozen=True)
class Lettering:
    """The fonts of a text, first come first served, and the characters that none of them has."""

    families: tuple[str, ...]
    missing: frozenset[str]


def lettering_for(text: str) -> Lettering:
    """Return fonts that together have as much of a text as the installed ones allow.

    >>> lettering_for("plain").families
    ('DejaVu Sans', 'sans-serif')
    """
    return _lettering("".join(sorted(set(text))))


@lru_cache(maxsize=64)
def _lettering(characters: str) -> Lettering:
    families = [BASE_FAMILY]
    missing = {c for c in characters if not c.isspace()}
    missing -= _covered(missing, fontManager.findfont(BASE_FAMILY))
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname)):
        if not missing:
            break
        if NO_LETTERS not in entry.name and entry.style == "normal" and entry.weight in REGULAR:
            covered = _covered(missing, entry.fname)
            missing -= covered
            families += [entry.name] if covered else []
    return Lettering((*families, "sans-serif"), frozenset(missing))


def _covered(characters: Iterable[str], file: str) -> set[str]:
    return {c for c in characters if ord(c) in _characters(file)}


class Ruler:
    """Measures text of one size, in inches, as it will be drawn."""

    def __init__(self, lettering: Lettering, points: float):
        self.lettering = lettering
        self.points = points
        self.em = points / POINTS_PER_INCH
        self.font = FontProperties(family=list(lettering.families), size=points)
        self._renderer = RendererAgg(1, 1, DOTS_PER_INCH)
        self._widths: dict[str, float] = {}

    def width(self, text: str) -> float:
        """Return the width of a line; a wide character without a glyph counts as one em."""
        if text not in self._widths:
            dots, _, _ = self._renderer.get_text_width_height_descent(text, self.font, False)
            wide = sum(c in self.lettering.missing and _is_wide(c) for c in text)
            self._widths[text] = dots / DOTS_PER_INCH + wide * self.em / 2
        return self._widths[text]

    def lines(
        self, words: Sequence[tuple[str, bool]], width: float
    ) -> list[list[tuple[str, bool]]]:
        """Return words in lines that fit a width, each word with its mark.

        A word that is wider than a line is broken.
        """
        lines: list[list[tuple[str, bool]]] = [[]]
        space, used = self.width("n n") - 2 * self.width("n"), 0.0
        for word, mark in words:
            for part in self._parts(word, width):
                if lines[-1] and used + space + self.width(part) > width:
                    lines.append([])
                used = used + space if lines[-1] else 0.0
                used += self.width(part)
                lines[-1].append((part, mark))
        return lines

    def _parts(self, word: str, width: float) -> list[str]:
        if self.width(word) <= width:
            return [word]
        parts = [""]
        for character in word:
            if parts[-1] and self.width(parts[-1] + character) > width:
                parts.append("")
            parts[-1] += character
        return parts

    def folded(self, text: str, width: float) -> str:
        """Return a text with line breaks where it would be wider than `width`."""
        lines = self.lines([(visible(word), False) for word in text.split()], width)
        return "\n".join(" ".join(word for word, _ in line) for line in lines)

    def shortened(self, text: str, width: float) -> str:
        """Return a text in one line, cut to a width."""
        text = visible(text)
        if self.width(text) <= width:
            return text
        while text and self.width(text + "…") > width:
            text = text[:-1]
        return text + "…"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
