"""`voi bench django`: orders of generation on lines of code, under one budget."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from voi.bench import django as django_bench
from voi.bench import django_tables
from voi.bench.django import DjangoSize
from voi.cli.app import Changes, otherwise
from voi.cli.bench import Threads, bench, print_table, started
from voi.cli.drawing import say
from voi.errors import ConfigError
from voi.evaluation import Settings

QUICK = DjangoSize(1.0, 100, 100, Settings(limit=300, likelihood_limit=50))


@bench.command()
def django(
    data: Annotated[
        Path, typer.Option(help="Folder with train, dev and test, as .src and .tgt.")
    ] = Path("data/django"),
    methods: Annotated[
        str, typer.Option(help="Which orders, patterns with commas between: voi-*,l2r")
    ] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Runs per order, seeds 0, 1, ...")] = 1,
    epochs: Annotated[
        float | None,
        typer.Option(help="Of all phases together; default: 20, or 1 with --quick."),
    ] = None,
    likelihoods: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Test pairs whose log p(y | x) is bounded; 0: all; default: 300, or 50 with "
            "--quick.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two orders, one epoch.")] = False,
    settings: Changes = None,
    threads: Threads = 1,
    out: Annotated[Path, typer.Option(help="Folder for runs, cells, tables and plots.")] = Path(
        "runs/bench-django"
    ),
) -> None:
    """Train every order of generation on Django with the same decoder, data and updates.

    Cells that are in the folder already are read, not repeated; a run that was stopped goes on.
    Processes with the same folder share the cells.

    Example: voi bench django --data data/django --methods 'l2r,voi-*' --out runs/django
    """
    size = _size(QUICK if quick else DjangoSize(), epochs, likelihoods, tuple(settings or ()))
    console = started(threads)
    pairs = django_bench.read_pairs(data)
    results = django_bench.run(
        out,
        pairs,
        size,
        seeds=range(seeds),
        methods=methods or (django_bench.QUICK_METHODS if quick else ""),
        said=lambda text: say(text, console),
    )
    kept = django_tables.with_runs(results, out)
    if gone := [result["name"] for result in results if result not in kept]:
        say(f"not compared with left to right, their runs are gone: {', '.join(gone)}", console)
    compared = django_tables.compared(kept, out, size.test, pairs.is_seen)
    django_tables.write(results, compared, out)
    for title, rows in django_tables.tables(results).items():
        print_table(title, rows, console)
    say(f"written to {out}", console)


def _size(
    base: DjangoSize, epochs: float | None, likelihoods: int | None, settings: tuple[str, ...]
) -> DjangoSize:
    """Return the base size, changed by the options that were given."""
    epochs = otherwise(epochs, base.epochs)
    if not 0 < epochs <= 10**6:
        raise ConfigError(f"--epochs must be above 0 and at most {10**6}, got {epochs}")
    limit = otherwise(likelihoods, base.test.likelihood_limit)
    test = replace(base.test, likelihood_limit=limit)
    return replace(base, epochs=epochs, test=test, settings=settings)
