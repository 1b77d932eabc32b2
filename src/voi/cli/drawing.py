"""Generations drawn in the terminal: one line per step, the new token highlighted."""

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from voi.search import Hypothesis


def draw_steps(hypothesis: Hypothesis, console: Console) -> None:
    """Print the partial sentence after every step."""
    width = len(str(len(hypothesis.order)))
    for number, (tokens, new) in enumerate(hypothesis.steps(), start=1):
        line = Text(f"  {number:>{width}}  ", style="dim")
        for i, token in enumerate(tokens):
            line.append(token, style="bold reverse" if i == new else "not dim")
            line.append(" ")
        console.print(line)


def sentence(text: str) -> str:
    """Return a text that the console prints as it is."""
    return escape(text)
