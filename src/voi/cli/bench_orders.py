"""`voi bench orders`: tasks with a known best order, and which orders of generation find it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from voi.bench import order_tables
from voi.bench import orders as order_bench
from voi.bench.orders import OrderSize, SplitSize
from voi.cli.app import Changes, otherwise
from voi.cli.bench import Threads, bench, print_table, started
from voi.cli.drawing import say
from voi.errors import ConfigError

QUICK = OrderSize(factor=0.2, valid_examples=100, test=SplitSize(200, 32, 32))


@bench.command()
def orders(
    tasks: Annotated[
        str, typer.Option(help="Which tasks, patterns with commas between: chain-*,sudoku4")
    ] = "",
    methods: Annotated[
        str, typer.Option(help="Which methods, patterns with commas between: voi-*,l2r")
    ] = "",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Runs per cell, seeds 0, 1, ...; default: 3, or 1 with --quick."),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(help="Of the steps of every task; default: 1, or 0.2 with --quick."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Three tasks, three methods, one seed, a fifth of the steps."),
    ] = False,
    settings: Changes = None,
    threads: Threads = 1,
    out: Annotated[Path, typer.Option(help="Folder for runs, cells, table and plot.")] = Path(
        "runs/bench-orders"
    ),
) -> None:
    """Train every order of generation on tasks whose best order is known (OrderBench).

    Cells that are in the folder already are read, not repeated; a run that was stopped goes on.
    Processes with the same folder share the cells.

    Example: voi bench orders --tasks chain-6 --methods 'voi-*,l2r,known' --seeds 1
    """
    base = QUICK if quick else OrderSize()
    size = replace(base, factor=otherwise(factor, base.factor), settings=tuple(settings or ()))
    if not 0 < size.factor <= 1000:
        raise ConfigError(f"--factor must be above 0 and at most 1000, got {factor}")
    console = started(threads)
    results = order_bench.run(
        out,
        size,
        seeds=range(otherwise(seeds, 1 if quick else 3)),
        tasks=tasks or (order_bench.QUICK_TASKS if quick else ""),
        methods=methods or (order_bench.QUICK_METHODS if quick else ""),
        said=lambda text: say(text, console),
    )
    order_tables.write(results, out)
    print_table("OrderBench", order_tables.rows(results), console)
    say(f"written to {out}", console)
