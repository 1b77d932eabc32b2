"""`voi distill`: make training data of what a model writes."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from voi.cli.app import Beam, Device, app, otherwise
from voi.cli.console import plain_console
from voi.cli.drawing import say
from voi.distillation import Distilled, distill
from voi.experiments import load_table
from voi.model import load


@app.command("distill")
def command(
    run: Annotated[str, typer.Argument(help="A run folder, a model folder, or a hub id.")],
    out: Annotated[Path, typer.Option(help="Folder for the pairs; goes on if it was stopped.")],
    split: Annotated[str, typer.Option(help="The split that is written anew.")] = "train",
    beam: Beam = None,
    device: Device = "cpu",
) -> None:
    """Write a data folder whose targets are a model's own outputs.

    Example: voi distill runs/wmt16-ro-en-l2r --out data/distilled

    Then: voi train --data data/distilled
    """
    model = load(run, device)
    own, console = model.experiment.search, plain_console()
    search = replace(own, beam=otherwise(beam, own.beam))
    with Progress(console=console, disable=not console.is_terminal) as bar:
        line = bar.add_task(split, total=None)

        def told(what: str, done: int, total: int | None) -> None:
            bar.update(line, description=what, completed=done, total=total)

        found = distill(model, model.task(), split, out, search, told)
    settings = _settings(found, model.experiment.data.long_examples == "skip")
    command = shlex.join(["voi", "train", "--data", str(out), *settings])
    say(f"{found.num_pairs:,} pairs in {out}: {command}", console)
    if found.num_empty:
        console.print(f"targets that came out empty and keep their references: {found.num_empty:,}")


def _settings(found: Distilled, skips: bool) -> list[str]:
    """Return the options that training on the pairs needs; long ones are treated as in the run."""
    limits = load_table("files")["data"]
    longest = {"max_source_length": found.longest_source, "max_target_length": found.longest_target}
    settings = [f"data.{name}={n}" for name, n in longest.items() if n > limits[name]]
    if settings and skips:
        settings = ["data.long_examples=skip"]
    if not found.has_sources:
        settings.append('data.options.source_key=""')
    return [part for setting in settings for part in ("--set", setting)]
