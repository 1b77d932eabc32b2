"""`voi bench`: experiments of the paper and our own, measured here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Column, Table

from voi import plots
from voi.bench import inference
from voi.bench import runtime as runtimes
from voi.bench.cells import Rows
from voi.bench.steps import NetworkSize
from voi.bench.timing import machine
from voi.cli.app import app, otherwise, refuse
from voi.cli.console import plain_console
from voi.cli.drawing import say
from voi.cli.watching import EvaluationBar
from voi.errors import ConfigError
from voi.model import load
from voi.process import tune_for_training

Threads = Annotated[int, typer.Option(min=1, help="Threads of torch.")]

bench = typer.Typer(
    no_args_is_help=True,
    help="Measure experiments: the paper's, and our own.\n\nExample: voi bench orders --quick",
)
app.add_typer(bench, name="bench")


def started(threads: int) -> Console:
    """Set up torch as `voi train` does, and its threads; print the machine; return the console."""
    tune_for_training()
    torch.set_num_threads(threads)
    console = plain_console()
    console.print(machine())
    return console


def print_table(title: str, rows: Rows, console: Console) -> None:
    """Print a table whose first row is its header."""
    header, *body = rows
    columns = [Column(name, overflow="fold") for name in header]  # nothing is cut off
    table = Table(*columns, title=title, box=None)
    for row in body:
        table.add_row(*row)
    console.print(table)


@bench.command()
def runtime(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="Time orders of this run's targets; default: random networks and targets.",
        ),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of RUN's data; default: test.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first targets of RUN; default: all.")
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(help="Without RUN: target lengths, comma between; default: 8,16,32,64,128."),
    ] = None,
    width: Annotated[
        int | None, typer.Option(min=1, help="Without RUN: width of the networks; default: 128.")
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Without RUN: layers of source encoder and decoder each; default: 2."
        ),
    ] = None,
    beam: Annotated[int, typer.Option(min=1, help="Beam of the searched order.")] = 8,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Of each measurement; the median counts.")
    ] = 5,
    threads: Threads = 2,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for CSV, JSON and plots; default: runs/bench-runtime, or "
            "RUN/runtime/SPLIT-beamK."
        ),
    ] = None,
) -> None:
    """Time how VOI and SAO find orders: of a run's targets, or of random ones by length.

    Without RUN training steps of L2R, VOI and SAO are timed too.

    Example: voi bench runtime runs/mine --split test --limit 200 --threads 1

    Random networks and targets: voi bench runtime --lengths 8,16,32 --out runs/runtime
    """
    plots.write_figure  # noqa: B018, says so if its extra is missing
    if run is None:
        refuse("a run with {}: random targets have no split", split=split, limit=limit)
        networks = NetworkSize(otherwise(width, 128), otherwise(layers, 2), beam=beam)
        size = runtimes.RuntimeSize(networks, repetitions=repetitions)
        sizes = _lengths(otherwise(lengths, "8,16,32,64,128"))
        _time_random(sizes, size, threads, otherwise(out, Path("runs/bench-runtime")))
    else:
        advice = "a run without {}: its targets and networks have their own sizes"
        refuse(advice, lengths=lengths, width=width, layers=layers)
        chosen = otherwise(split, "test"), otherwise(limit, 0)
        settings = inference.Settings(str(run), *chosen, beam, repetitions)
        _time_run(run, settings, threads, out)


def _lengths(text: str) -> list[int]:
    """Return the lengths that a user names, two or more."""
    try:
        sizes = [int(n) for n in text.split(",")]
    except ValueError:
        sizes = []
    if len(sizes) < 2 or min(sizes) < 1:
        raise ConfigError(
            f"--lengths takes two or more positive numbers with commas between, got {text!r}"
        )
    return sizes


def _time_random(
    lengths: Sequence[int], size: runtimes.RuntimeSize, threads: int, out: Path
) -> None:
    console = started(threads)
    found = runtimes.measure(lengths, size, lambda text: say(text, console))
    print_table("milliseconds, medians", runtimes.rows(found), console)
    print_growth(found.exponents(), console)
    runtimes.write(found, size, out)
    say(f"written to {out}", console)


def _time_run(run: Path, settings: inference.Settings, threads: int, out: Path | None) -> None:
    model = load(run)
    targets = inference.targets_of(model, settings)
    if out is None and not run.is_dir():
        raise ConfigError(f"{run} is no folder to keep results in: choose one with --out")
    folder = otherwise(out, run / "runtime" / f"{settings.split}-beam{settings.beam}")
    folder.mkdir(parents=True, exist_ok=True)  # what cannot be made is told before the work begins
    console = started(threads)
    with EvaluationBar(run.resolve().name) as bar:
        found = inference.measure(model, targets, settings, bar.told)
    lengths = inference.by_length(found)
    print_table("milliseconds per order, medians", inference.rows(lengths), console)
    print_growth(inference.exponents(lengths), console)
    inference.write(found, settings, folder)
    say(f"written to {folder}", console)


def print_growth(exponents: Mapping[str, float], console: Console) -> None:
    """Print the power laws that times were found to follow."""
    for name, exponent in exponents.items():
        console.print(f"{name}: grows as n^{exponent:.2f}")
