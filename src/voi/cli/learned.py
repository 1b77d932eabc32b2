"""The end of `voi train`: accuracy, learned orders beside the best ones, targets being written."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from voi.cli.drawing import draw_steps, say, visible
from voi.learned import Learned, Shown, learned
from voi.model import load


def print_learned(run: Path, console: Console) -> None:
    """Print what a run has learned, and how to load it."""
    model = load(run)
    found, beam = learned(model), model.experiment.search.beam
    console.rule("learned")
    console.print(_scores(found))
    console.print(_orders(found.shown))
    console.print(f"\nwhat is written, {'greedily' if beam == 1 else f'with beam {beam}'}:")
    for one in found.shown:
        console.print()
        if one.example.source is not None:
            say(str(one.example.source), console, "bold")
        draw_steps(one.written, console)
    say(f'\nrun folder: {run}    reload: voi.load("{run}")', console)


def _scores(found: Learned) -> str:
    result, distance = found.validation, ""
    if result.distance is not None:
        distance = f", distance to the best order {result.distance:.3f}"
    return (
        f"{found.split} accuracy {result.accuracy:.1%} on {found.num_targets} targets (greedy), "
        f"ELBO {result.elbo.per_token['elbo']:.3f} nats per token{distance}"
    )


def _orders(shown: Sequence[Shown]) -> Table:
    """Return targets with their learned orders, sources where given and best orders if known."""
    columns = {
        "source": [str(one.example.source or "") for one in shown],
        "target": [one.example.target for one in shown],
        "learned order": [_spaced(one.order) for one in shown],
        "best order": [" or ".join(map(_spaced, one.best_orders)) for one in shown],
    }
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    table = Table(*filled, box=None)
    for row in zip(*filled.values(), strict=True):
        table.add_row(*map(visible, row))
    return table


def _spaced(order: Sequence[int]) -> str:
    return " ".join(map(str, order))
