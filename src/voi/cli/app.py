"""The application that commands register with."""

from collections.abc import Iterable
from typing import Annotated, TypeVar

import typer

from voi.errors import ConfigError
from voi.experiments import split_setting
from voi.version import version

T = TypeVar("T")

Beam = Annotated[
    int | None, typer.Option(min=1, help="Hypotheses kept; 1 is greedy; default: the run's.")
]
_DEVICE = typer.Option(help="cpu, cuda, cuda:1, ...")
Device = Annotated[str, _DEVICE]


def _checked(settings: list[str] | None) -> list[str] | None:
    """Raise for a setting without a value: what stands behind it was taken for an argument."""
    for setting in settings or ():
        split_setting(setting)
    return settings


Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        callback=_checked,
        help="Change one field of an experiment.",
    ),
]
DeviceOfRuns = Annotated[str | None, _DEVICE]  # of commands that may have no run; None: cpu

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


def otherwise(value: T | None, default: T) -> T:
    """Return the value of an option, or its default where it was not given."""
    return default if value is None else value


def names_of(options: Iterable[str]) -> str:
    """Return options as a user writes them.

    >>> names_of(["beam", "length_penalty"])
    '--beam, --length-penalty'
    """
    return ", ".join(f"--{name.replace('_', '-')}" for name in options)


def refuse(advice: str, **options: object) -> None:
    """Raise the error of options that were given (not None, not False) and would do nothing.

    >>> refuse("--sample with {}", temperature=None, top_p=0.9, seed=0)
    Traceback (most recent call last):
    voi.errors.ConfigError: give --sample with --top-p, --seed
    """
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        raise ConfigError(f"give {advice.format(names_of(given))}")


def split_keywords(text: str | None) -> list[str]:
    """Return the words of --keywords; given without a word it is an error.

    >>> split_keywords("a b"), split_keywords(None)
    (['a', 'b'], [])
    """
    words = (text or "").split()
    if text is not None and not words:
        raise ConfigError("give words with --keywords: there are none")
    return words


def _print_version(is_wanted: bool) -> bool:
    if is_wanted:
        print(version())
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
