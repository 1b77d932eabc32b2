"""`voi bench recovery`: is the order that a frozen decoder was taught recovered?"""

from pathlib import Path
from typing import Annotated

import typer

from voi.bench import recovery as recoveries
from voi.bench import recovery_tables
from voi.bench.frozen import DecoderSize
from voi.cli.app import otherwise
from voi.cli.bench import Threads, bench, print_table, started
from voi.cli.drawing import say

QUICK_STEPS, STEPS = 300, 15_000


@bench.command()
def recovery(
    captions: Annotated[
        Path | None,
        typer.Option(help="A file of captions (.json, .jsonl, .tsv, also .gz); default: scenes."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Captions, one of each image.")] = 64,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of each generator; default: 15000 as in the paper, 300 with --quick."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Generators per cell, seeds 0, 1, ...")] = 1,
    cells: Annotated[
        str, typer.Option(help="Which cells, patterns with commas between: gumbel-matching.xl.*")
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Six cells, about ten minutes.")] = False,
    width: Annotated[int, typer.Option(min=1, help="Width of both networks.")] = 64,
    layers: Annotated[int, typer.Option(min=1, help="Layers of encoder and decoder each.")] = 2,
    threads: Threads = 1,
    out: Annotated[Path, typer.Option(help="Folder for cells, tables and plots.")] = Path(
        "runs/bench-recovery"
    ),
) -> None:
    """Repeat the paper's ablation: recover the order a frozen decoder was taught.

    Cells that are in the folder already are read, not repeated. Processes with the same folder
    share the cells.

    Example: voi bench recovery --quick --out runs/recovery
    """
    console = started(threads)
    results = recoveries.run(
        out,
        DecoderSize(str(captions or ""), batch_size, width, layers),
        steps=otherwise(steps, QUICK_STEPS if quick else STEPS),
        seeds=range(seeds),
        cells=cells or (",".join(recoveries.QUICK) if quick else ""),
        said=lambda text: say(text, console),
    )
    recovery_tables.write(results, out)
    for title, rows in recovery_tables.tables(results).items():
        print_table(title, rows, console)
    say(f"written to {out}", console)
