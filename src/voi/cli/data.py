"""`voi data`: look at data before training on it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from voi import config
from voi.cli.app import app
from voi.cli.own_data import data_settings
from voi.data.tasks import make_task
from voi.data_report import check as check_data
from voi.data_report import report_rows

data_app = typer.Typer(help="Look at data before training on it.", no_args_is_help=True)
app.add_typer(data_app, name="data")


@data_app.callback()
def group() -> None:
    """Keeps `voi data COMMAND` a group."""


@data_app.command()
def check(
    task: Annotated[str, typer.Argument(help="A preset's name or a TOML file.")] = "",
    data: Annotated[
        Path | None, typer.Option(help="A TSV or JSONL file, or a folder of splits.")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Parallel files: the sources.")] = None,
    target: Annotated[Path | None, typer.Option(help="Parallel files: the targets.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Validation pairs.")] = None,
    test: Annotated[Path | None, typer.Option(help="Test pairs.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one field.")
    ] = None,
) -> None:
    """Print counts, lengths, vocabulary, unknown words, repetitions and the longest examples.

    Example: voi data check --data train.tsv --valid dev.tsv
    """
    changes = data_settings(data, source, target, valid, test) + (settings or [])
    table = config.override(config.load_table(task or ("files" if changes else "chain")), changes)
    experiment = config.experiment(table)
    report = check_data(make_task(experiment.data.task, experiment.data.options), experiment.data)
    console = Console(soft_wrap=True)
    header, *rows = report_rows(report)
    shown = Table(*header, box=None)
    for row in rows:
        shown.add_row(*row)
    console.print(shown)
    for note in report.notes:
        console.print(note, highlight=False)
