"""`voi distill`: make training data of what a model writes."""

import json
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from voi.cli.app import Beam, Device, app, otherwise
from voi.cli.console import plain_console
from voi.cli.drawing import say
from voi.distillation import Distilled, distill
from voi.experiments import load_table
from voi.model import Model, load
from voi.tables import from_table
from voi.tokens import TokensConfig


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
    say(f"{found.num_pairs:,} pairs in {out}", console)
    if found.num_empty:
        _tell_empty(found, console)
    if found.num_empty < found.num_pairs:
        command = shlex.join(["voi", "train", "--data", str(out), *_settings(found, model)])
        say(f"next: {command}", console)


def _tell_empty(found: Distilled, console: Console) -> None:
    empty = f"{found.num_empty:,} of {found.num_pairs:,} targets came out empty"
    rest = ""
    if found.num_empty == found.num_pairs:
        rest = ": nothing is distilled; train the run for longer, or distill another one"
    say(f"{empty} and keep their references{rest}", console, "bold")


def _settings(found: Distilled, model: Model) -> list[str]:
    """Return the options of training on the pairs: tokens and long ones are treated as in the run.

    Tokens are said where those of one's own data would be others.
    """
    plain = load_table("files")["data"]
    skips = model.experiment.data.long_examples == "skip"
    longest = {"max_source_length": found.longest_source, "max_target_length": found.longest_target}
    settings = [f"data.{name}={n}" for name, n in longest.items() if n > plain[name]]
    if settings and skips:
        settings = ["data.long_examples=skip"]
    if model.codec.config != from_table(TokensConfig, plain["tokens"]):
        settings.append(f"data.tokens={_toml(model.codec.config)}")
    if not found.has_sources:
        settings.append('data.options.source_key=""')
    return [part for setting in settings for part in ("--set", setting)]


def _toml(config: TokensConfig) -> str:
    """Return the fields that are not as by default, as an inline table of TOML.

    >>> _toml(TokensConfig(kind="bpe", size=8000))
    '{kind="bpe", size=8000}'
    """
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    plain = {field.name: field.default for field in fields(config)}
    said = {name: value for name, value in values.items() if value != plain[name]}
    parts = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in said.items())
    return f"{{{', '.join(parts)}}}"
