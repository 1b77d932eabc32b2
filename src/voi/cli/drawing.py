"""Generations drawn in the terminal: one line per step, the new token highlighted."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from voi.search import Hypothesis

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def draw_steps(hypothesis: Hypothesis, console: Console) -> None:
    """Print the partial sentence after every step, or that there was none."""
    if not hypothesis.order:
        console.print("  (nothing is written)", style="dim")
    width = len(str(len(hypothesis.order)))
    for number, (tokens, new) in enumerate(hypothesis.steps(), start=1):
        line = Text(f"  {number:>{width}}  ", style="dim")
        for i, token in enumerate(tokens):
            line.append(visible(token), style="bold reverse" if i == new else "not dim")
            line.append(" ")
        console.print(line)


def visible(text: str) -> str:
    r"""Return a text that a terminal only shows: what would steer it is escaped.

    >>> print(visible("a \x1b[2J \r"))
    a \x1b[2J \r
    """
    return "".join(repr(x)[1:-1] if unicodedata.category(x) == "Cc" else x for x in text)


def say(text: str, console: Console, style: str = "") -> None:
    """Print lines that hold a user's names and texts, whatever characters these have."""
    console.print("\n".join(map(visible, text.split("\n"))), style=style)


def told_apart(tokens: Sequence[str]) -> list[str]:
    """Return tokens of which each repeated one has a small number behind it, its occurrence.

    >>> told_apart(["a", "b", "a"])
    ['a₁', 'b', 'a₂']
    """
    total, seen = Counter(tokens), Counter[str]()
    named = []
    for token in tokens:
        seen[token] += 1
        number = str(seen[token]).translate(_SUBSCRIPTS) if total[token] > 1 else ""
        named.append(token + number)
    return named


def print_stacked(rows: Sequence[Sequence[str]], console: Console) -> None:
    """Print a table that is too wide, its header first: a heading per row, then a line per cell."""
    (_, *names), *others = rows
    for heading, *cells in others:
        console.print(heading, style="bold")
        for name, cell in zip(names, cells, strict=True):
            if cell:
                console.print(f"  {name}: {cell}")
