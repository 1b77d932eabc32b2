"""The application that commands register with."""

from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")]

app = typer.Typer(
    name="voi",
    help=(
        "Learn the order in which a sequence is generated. --debug shows full tracebacks.\n\n"
        "Example: voi train --data pairs.tsv --out runs/mine"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def root() -> None:
    """Keeps `voi COMMAND` a group even while it has a single command."""
