"""The console of the command line: it prints what it is given."""

from typing import Any

from rich.console import Console


def plain_console(file: Any = None, *, stderr: bool = False, soft_wrap: bool = True) -> Console:
    """Return a console to which nothing in a user's names and texts is markup: no bracket, `:x:`.

    `file` is a text stream in place of standard output. Lines are styled by `style` or
    `rich.text.Text`; with `soft_wrap` the terminal breaks long ones.
    """
    return Console(
        file=file, stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False, highlight=False
    )
