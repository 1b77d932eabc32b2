"""`voi data`: look at data before training on it; fetch and prepare published data sets."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from voi import config, experiments
from voi.cli.app import Changes, app
from voi.cli.console import plain_console
from voi.cli.drawing import print_stacked, say
from voi.cli.own_data import (
    Data,
    SourceFile,
    TargetFile,
    TestFile,
    ValidFile,
    data_settings,
    own_table,
)
from voi.data.addresses import DOWNLOADS
from voi.data.download import Download, Fetched, fetch, unpack
from voi.data.prepare import prepare as prepare_data
from voi.data.readers import LEFT_OUT, BadLinesError
from voi.data.tasks import make_task
from voi.data_report import DataReport, report_rows
from voi.data_report import check as check_data
from voi.errors import ConfigError, DataError
from voi.tables import unknown_name
from voi.tokens.vocabulary import NO_TARGET_WORDS

_FILE_WIDTH = 160  # columns of a report that goes to a file or a pipe: rows stay on one line

# of data sets without a preset: subwords, and no error at pairs that are too long
_SETTINGS = {
    f"iwslt14-{source}-{target}": (
        f"""--set 'data.tokens={{kind="bpe", size=10000, pretokenizer="moses", """
        f"""source_language="{source}", target_language="{target}"}}' """
        f"--set data.long_examples=skip"
    )
    for source, target in (("de", "en"), ("en", "de"))
}

data_app = typer.Typer(
    help=(
        "Look at data before training on it; fetch and prepare published data sets.\n\n"
        "Example: voi data check --data pairs.tsv"
    ),
    no_args_is_help=True,
)
app.add_typer(data_app, name="data")


@data_app.command()
def check(
    task: Annotated[str, typer.Argument(help="A preset's name or a TOML file.")] = "",
    data: Data = None,
    source: SourceFile = None,
    target: TargetFile = None,
    valid: ValidFile = None,
    test: TestFile = None,
    settings: Changes = None,
) -> None:
    """Print counts, lengths, vocabulary, unknown words, repetitions and the longest examples.

    Example: voi data check --data train.tsv --valid dev.tsv
    """
    own = data_settings(data, source, target, valid, test)
    name = task or ("files" if own else "chain")
    table = own_table(name, own)
    table = experiments.override(table, settings or [])
    data_config = config.experiment(table).data
    if not own:
        others = "" if task else ", as nothing is given; your own pairs with --data pairs.tsv"
        print(f"task {name}{others}")
    report, advice = _report(data_config)
    if advice:
        print("what there is without the lines that cannot be used:")
    _print_report(report)
    used = [split for split in report.splits if split.name != "test"]
    if empty := [split.name for split in used if not split.num_short]:
        raise DataError(
            f"training would stop, as all examples of {' and '.join(empty)} are too long: raise "
            f"data.max_source_length or data.max_target_length"
        )
    if report.splits[0].unknown_targets and not report.num_target_words:
        raise DataError(f"training would stop, as {NO_TARGET_WORDS}")
    is_long = data_config.long_examples == "error" and any(split.too_long for split in used)
    if advice or is_long:
        for_long = "for those that are too long, give one of the settings named there"
        steps = [for_long] * is_long + [advice] * bool(advice)
        raise DataError(f"training would stop at the lines above: {'; '.join(steps)}")


def _report(data: config.DataConfig) -> tuple[DataReport, str]:
    """Return what the data is like, and what to do if training stops at some of its lines."""
    try:
        return check_data(make_task(data.task, data.options), data), ""
    except BadLinesError as error:
        options = {**data.options, "bad_lines": "skip"}
        report = check_data(make_task(data.task, options), data)
        notes = tuple(note.removesuffix(LEFT_OUT) for note in report.notes)
        return replace(report, notes=notes), error.advice


def _print_report(report: DataReport) -> None:
    console = plain_console()
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    header, *rows = report_rows(report)
    shown = Table(*header, box=None)
    for row in rows:
        shown.add_row(*row)
    width = sum(max(map(len, column)) + 2 for column in zip(header, *rows, strict=True))
    if width <= console.width:
        console.print(shown)
    else:
        print_stacked([header, *rows], console)
    say(f"first training pair ({report.first.place}), its tokens:", console)
    for side, tokens in (("source", report.first.source), ("target", report.first.target)):
        if tokens:
            say(f"  {side}  {tokens}", console)
    if report.first.hint:
        say(f"  {report.first.hint}", console)
    for note in report.notes:
        say(note, console)


@data_app.command()
def prepare(
    task: Annotated[
        str, typer.Argument(help="django, gigaword, wmt16-ro-en, iwslt14-de-en or -en-de.")
    ],
    folder: Annotated[Path, typer.Option("--from", help="Holds the files as published.")],
    out: Annotated[Path | None, typer.Option(help="Folder to make; default data/TASK.")] = None,
) -> None:
    """Turn a data set as published into a folder of splits, which its presets read.

    Example: voi data prepare django --from downloads/django
    """
    made = out or Path("data") / task
    prepared = prepare_data(task, folder, made)
    console = plain_console()
    say(f"read {prepared.layout}", console)
    for name, split in prepared.splits.items():
        dropped = f", {split.num_dropped:,} with an empty side dropped" if split.num_dropped else ""
        console.print(f"{name}: {split.num_pairs:,} pairs{dropped}")
    if prepared.note:
        say(prepared.note, console)
    place = f" --data {shlex.quote(str(made))}"
    if task in _SETTINGS:
        command = f"voi train{place} {_SETTINGS[task]}"
    else:
        command = f"voi train {task}-small{place if out else ''}"
    say(f"made {made}; next: {command}", console)


@data_app.command()
def download(
    task: Annotated[str, typer.Argument(help="django, gigaword, wmt16-ro-en or coco.")],
    out: Annotated[Path | None, typer.Option(help="Folder; default downloads/TASK.")] = None,
    sha256: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=HEX", help="Expect this checksum of a file."),
    ] = None,
) -> None:
    """Fetch the files of a data set from where they are published, and unpack them.

    An interrupted download goes on when the command is given again.

    Example: voi data download wmt16-ro-en
    """
    if task not in DOWNLOADS:
        raise unknown_name("data set", task, DOWNLOADS)
    folder = out or Path("downloads") / task
    console = plain_console()
    for item in _with_checksums(DOWNLOADS[task], sha256 or []):
        say(_described(_fetched(item, folder, console)), console)
    if task != "coco":
        made = shlex.quote(str(folder))
        say(f"next: voi data prepare {task} --from {made}", console)


def _with_checksums(items: Sequence[Download], settings: Sequence[str]) -> list[Download]:
    """Return the files with the checksums that a user gave."""
    given = {name: text for name, _, text in (setting.partition("=") for setting in settings)}
    names = [item.name for item in items]
    for name, text in given.items():
        if name not in names:
            raise unknown_name("file in --sha256", name, names)
        if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
            raise ConfigError(f"--sha256 takes NAME=64 hexadecimal digits, got {name}={text!r}")
    return [
        replace(item, sha256=given.get(item.name, item.sha256 or "").lower() or None)
        for item in items
    ]


def _fetched(item: Download, folder: Path, console: Console) -> Fetched:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        line = bar.add_task(item.name, total=None)
        fetched = fetch(
            item, folder, lambda _, done, total: bar.update(line, completed=done, total=total)
        )
        bar.update(line, description=f"unpacking {item.name}")
        unpack(fetched.path)
    return fetched


def _described(fetched: Fetched) -> str:
    state = "checksum right" if fetched.is_checked else f"unchecked, SHA-256 {fetched.sha256}"
    there = "already there, " if fetched.was_there else ""
    return f"{fetched.path}: {fetched.num_bytes:,} bytes, {there}{state}"
