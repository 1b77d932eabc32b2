"""`voi distill`: make training data of what a model writes."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from voi.cli.app import Device, app
from voi.distillation import distill
from voi.model import load


@app.command("distill")
def command(
    run: Annotated[str, typer.Argument(help="A run folder, a model folder, or a hub id.")],
    out: Annotated[Path, typer.Option(help="Folder for the pairs; goes on if it was stopped.")],
    split: Annotated[str, typer.Option(help="The split that is written anew.")] = "train",
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses kept; 1 is greedy.")] = 5,
    device: Device = "cpu",
) -> None:
    """Write a data folder whose targets are a model's own outputs.

    Example: voi distill runs/wmt16-ro-en-l2r --out data/distilled

    Then: voi train --data data/distilled
    """
    model = load(run, device)
    search, console = replace(model.experiment.search, beam=beam), Console(soft_wrap=True)
    with Progress(console=console) as bar:
        line = bar.add_task(split, total=None)

        def told(what: str, done: int, total: int) -> None:
            bar.update(line, description=what, completed=done, total=total)

        found = distill(model, model.task(), split, out, search, told)
    option = "" if found.has_sources else """ --set 'data.options.source_key=""'"""
    said = f"{found.num_pairs:,} pairs in {out}: voi train --data {out}{option}"
    console.print(said, highlight=False, markup=False)
    if found.num_empty:
        console.print(f"{found.num_empty:,} targets came out empty: their references are kept")
