"""Text in figures: what can be shown of a token, which fonts have it, how wide it is."""

import unicodedata
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
    kinds = {unicodedata.category(c) for c in token}
    if not kinds:
        return '""'
    if kinds == {"Zs"}:
        return "␣" * len(token)
    if kinds <= {"Zs", "Cf"}:  # spaces without width, and the like
        return token.encode("unicode_escape").decode()
    return "".join(c if _is_shown(c) else c.encode("unicode_escape").decode() for c in token)


def _is_shown(character: str) -> bool:
    kind, direction = unicodedata.category(character), unicodedata.bidirectional(character)
    return kind not in _UNSEEN and direction not in _TURNING


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text belong to a script that is read from the right."""
    kinds = [unicodedata.bidirectional(c) for c in text]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


@dataclass(frozen=True)
class Lettering:
    """The fonts of a text, tried in this order, and the characters that none of them has."""

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
    missing = frozenset(c for c in characters if not c.isspace())
    missing -= _covered(missing, fontManager.findfont(BASE_FAMILY))
    fonts = _fonts_with(missing) if missing else []
    while True:
        name, covered = max(fonts, key=lambda font: len(font[1] & missing), default=("", missing))
        if not covered & missing:
            break
        families.append(name)
        missing -= covered
    return Lettering((*families, "sans-serif"), missing)


def _fonts_with(characters: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """Return upright fonts and which of the characters they have, the regular weights first."""
    entries = [e for e in fontManager.ttflist if e.style == "normal" and NO_LETTERS not in e.name]
    entries.sort(key=lambda entry: (entry.weight not in REGULAR, entry.name, entry.fname))
    return [(entry.name, _covered(characters, entry.fname)) for entry in entries]


def _covered(characters: frozenset[str], file: str) -> frozenset[str]:
    """Return those of the characters that a font file has; none if it cannot be used."""
    try:
        font = get_font(file)
        font.set_size(10, POINTS_PER_INCH)  # fonts that are bitmaps refuse
        known = font.get_charmap()
    except (RuntimeError, OSError, ValueError):
        return frozenset()
    return frozenset(c for c in characters if ord(c) in known)


class Ruler:
    """Measures text of one size, in inches, as it will be drawn."""

    def __init__(self, lettering: Lettering, points: float):
        self.lettering = lettering
        self.points = points
        self.em = points / POINTS_PER_INCH
        self.font = FontProperties(family=list(lettering.families), size=points)
        self._renderer = RendererAgg(1, 1, DOTS_PER_INCH)
        self._ems: dict[str, float] = {}
        self.space = self.width("n n") - 2 * self.width("n")

    def resized(self, points: float) -> "Ruler":
        """Return a ruler for another size, which knows what this one has measured."""
        other = Ruler(self.lettering, points)
        other._ems = self._ems
        return other

    def width(self, text: str) -> float:
        """Return the width of a line; a wide character without a glyph takes an em or more."""
        if text not in self._ems:
            wide = [c for c in text if c in self.lettering.missing and _is_wide(c)]
            rest = "".join(c for c in text if c not in wide)
            self._ems[text] = max(self._measured(text), self._measured(rest) + len(wide))
        return self._ems[text] * self.em

    def _measured(self, text: str) -> float:
        """Return a width in ems."""
        dots, _, _ = self._renderer.get_text_width_height_descent(text, self.font, False)
        return dots / DOTS_PER_INCH / self.em

    def width_of_words(self, words: Sequence[str]) -> float:
        """Return the width of words with spaces between them."""
        return sum(map(self.width, words)) + (len(words) - 1) * self.space

    def lines(
        self, words: Sequence[tuple[str, bool]], width: float
    ) -> list[list[tuple[str, bool]]]:
        """Return words in lines that fit a width, each word with its mark.

        A word that is wider than a line is broken.
        """
        lines: list[list[tuple[str, bool]]] = [[]]
        used = 0.0
        for word, mark in words:
            for part in self._parts(word, width):
                if lines[-1] and used + self.space + self.width(part) > width:
                    lines.append([])
                used = used + self.space if lines[-1] else 0.0
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
        too_long = bisect(range(len(text)), width, key=lambda n: self.width(text[:n] + "…"))
        return text[: max(0, too_long - 1)] + "…"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
