"""How far long work has come, told to whoever shows it: a bar, a log, or nobody."""

from collections.abc import Callable

Told = Callable[[str, int, int | None], None]
"""Is told what is being done, how much of it is done, and out of how much, if that is known."""


def untold(what: str, done: int, total: int | None) -> None:
    """Show nothing of the progress."""
