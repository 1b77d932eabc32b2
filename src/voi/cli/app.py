"""The application that commands register with."""

from importlib.metadata import version
from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")]

app = typer.Typer(
    name="voi",
    help=(
        "Learn the order in which a sequence is generated.\n\n"
        "Example: voi train --data pairs.tsv --out runs/mine"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(is_wanted: bool) -> bool:
    if is_wanted:
        print(version("voi"))
        raise typer.Exit
    return is_wanted


@app.callback()
def root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it."),
    ] = False,
    __: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error; also behind a command."),
    ] = False,
) -> None:
    """List the options that stand before a command; `voi.cli.main` takes --debug away."""
