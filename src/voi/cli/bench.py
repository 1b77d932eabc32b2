"""`voi bench`: experiments of the paper and our own, measured here."""

from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from voi.allocator import keep_freed_memory
from voi.bench import runtime as runtimes
from voi.bench.cells import Rows
from voi.bench.steps import NetworkSize
from voi.bench.timing import machine
from voi.cli.app import app
from voi.cli.console import plain_console
from voi.cli.drawing import say
from voi.errors import ConfigError

bench = typer.Typer(
    no_args_is_help=True,
    help="Measure experiments: the paper's, and our own.\n\nExample: voi bench orders --quick",
)
app.add_typer(bench, name="bench")


def started(threads: int) -> Console:
    """Set threads and allocator as `voi train` does, print the machine, return the console."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    console = plain_console()
    console.print(machine())
    return console


def print_table(title: str, rows: Rows, console: Console) -> None:
    """Print a table whose first row is its header."""
    header, *body = rows
    table = Table(*header, title=title, box=None)
    for row in body:
        table.add_row(*row)
    console.print(table)


@bench.command()
def runtime(
    lengths: Annotated[str, typer.Option(help="Target lengths, comma between.")] = (
        "8,16,32,64,128"
    ),
    width: Annotated[int, typer.Option(help="Width of the networks.")] = 128,
    layers: Annotated[int, typer.Option(help="Layers of source encoder and decoder each.")] = 2,
    beam: Annotated[int, typer.Option(help="Beam of the searched order.")] = 8,
    repetitions: Annotated[int, typer.Option(help="Of each measurement; the median counts.")] = 5,
    threads: Annotated[int, typer.Option(help="Threads of torch.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for CSV, JSON and plots.")] = Path(
        "runs/bench-runtime"
    ),
) -> None:
    """Time training steps and order search of L2R, VOI and SAO by target length.

    Example: voi bench runtime --lengths 8,16,32 --out runs/runtime
    """
    try:
        sizes = [int(n) for n in lengths.split(",")]
    except ValueError:
        sizes = []
    if len(sizes) < 2 or min(sizes) < 1 or repetitions < 1:
        raise ConfigError(
            f"--lengths takes two or more positive numbers with commas between, --repetitions at "
            f"least 1; got {lengths!r} and {repetitions}"
        )
    console = started(threads)
    networks = NetworkSize(width=width, layers=layers, beam=beam)
    size = runtimes.RuntimeSize(networks, repetitions=repetitions)
    found = runtimes.measure(sizes, size, lambda text: say(text, console))
    print_table("milliseconds, medians", runtimes.rows(found), console)
    for name, exponent in found.exponents().items():
        console.print(f"{name}: grows as n^{exponent:.2f}")
    runtimes.write(found, size, out)
    say(f"written to {out}", console)
