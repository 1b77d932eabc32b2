"""`voi generate`: write targets for sources from a file or from standard input."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from gzip import GzipFile
from io import TextIOWrapper
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Annotated, Any, TextIO

import typer
from rich.progress import Progress

from voi.analysis import to_record
from voi.cli.app import Beam, Device, app, names_of, refuse, split_keywords
from voi.cli.console import plain_console
from voi.cli.drawing import draw_steps, visible
from voi.cli.sources import NO_SOURCE, UNKNOWN_SOURCE, reads_sources
from voi.errors import ConfigError, DataError, VoiError
from voi.lines import is_packed, not_text, to_utf8, unpacked
from voi.model import Model, load
from voi.search import Hypothesis, Sampling, rules_with_keywords

_LINES_AT_ONCE = 32

MaxLength = Annotated[
    int | None, typer.Option(min=1, help="Longest target in tokens; default: the run's.")
]
Merge = Annotated[bool, typer.Option("--merge", help="Add up orders that spell the same text.")]
Keywords = Annotated[
    str | None, typer.Option(help="Words that must appear in every target, separated by spaces.")
]
InOrder = Annotated[bool, typer.Option("--in-order", help="The keywords appear in this order.")]
Sample = Annotated[int, typer.Option(min=0, help="Draw this many targets instead of searching.")]
Temperature = Annotated[float | None, typer.Option(help="Of sampling; default 1.")]
TopP = Annotated[float | None, typer.Option(help="Nucleus of sampling; default 1.")]


@dataclass(frozen=True)
class Line:
    """A line of the input."""

    file: str  # empty: standard input
    number: int  # from 1
    text: str

    @property
    def place(self) -> str:
        """What a user calls it."""
        line = f"line {self.number}"
        return f"{self.file}, {line}" if self.file else f"{line} of standard input"


@app.command()
def generate(
    run: Annotated[Path, typer.Argument(help="A run folder or model folder.")],
    file: Annotated[
        Path | None, typer.Argument(help="One source per line; standard input if not given.")
    ] = None,
    beam: Beam = None,
    nbest: Annotated[int, typer.Option(min=1, help="Hypotheses printed per source.")] = 1,
    length_penalty: Annotated[float | None, typer.Option(help="Favours longer targets.")] = None,
    max_length: MaxLength = None,
    merge: Merge = False,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Lines are SOURCE<tab>TEXT, the text with ___ to fill.")
    ] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Lines are SOURCE<tab>TEXT, the text to continue.")
    ] = False,
    keywords: Keywords = None,
    in_order: InOrder = False,
    sample: Sample = 0,
    temperature: Temperature = None,
    top_p: TopP = None,
    seed: Annotated[int | None, typer.Option(help="Of sampling; default 0.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print every step.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one trace record per line (docs/orders.md).")
    ] = False,
    device: Device = "cpu",
) -> None:
    """Write a target for every source line, in order.

    Example: echo "from-left a b c d e" | voi generate runs/chain --trace
    """
    _check(trace and as_json, "--trace or --json, not both: a record of --json holds every step")
    _check(bool(sample) and nbest > 1, "--sample without --nbest: it says how many are drawn")
    words = split_keywords(keywords)
    _check(in_order and not words, "--keywords with --in-order: it is their order")
    sampling = _sampling(sample, temperature=temperature, top_p=top_p, seed=seed)
    if sampling is not None:
        refuse("--sample without {}: nothing is searched", beam=beam, length_penalty=length_penalty)
    kind = _rule_kind(gaps, prefix, bool(words))
    options: dict[str, Any] = {
        "beam": beam,
        "nbest": nbest,
        "length_penalty": length_penalty,
        "max_length": max_length,
        "merge": merge,
        "sample": sampling,
        "keywords_in_order": in_order,
    }
    model = _ready(load(run, device), options, words)
    with ExitStack() as stack:
        lines = _open(file, kind, stack)
        told, odd = _progress(lines, stack), _OddLines(model, stack, nbest, as_json)
        asks_by_blank = cache(lambda: not kind and not reads_sources(model))
        for part in _without_blank_end(_chunks(lines), asks_by_blank):
            for line, source, hypotheses in _written(model, part, kind, words, options):
                _print(source, hypotheses, trace, as_json)
                odd.add(line, source, hypotheses)
            told(len(part))


def _ready(model: Model, options: dict[str, Any], keywords: Sequence[str]) -> Model:
    """Return the model, or raise what is wrong with the options before a line is read."""
    if model.reads_images:
        raise ConfigError(
            "this run describes images, and lines of text are none: give an image to `voi show`, "
            "or regions to voi.load(run).generate"
        )
    model.generate([], **options)
    if keywords and not model.codec.vocabulary.copies:  # which might be of any word
        rules_with_keywords(keywords, model.codec, None, in_order=False)
    beam = options["beam"] or model.experiment.search.beam
    is_alone = options["merge"] and beam == 1
    _check(is_alone, "--beam with --merge: it adds up the orders that a beam finds")
    return model


class _OddLines:
    """Lines to tell of at the end: answered like the others, though they may be mistakes."""

    def __init__(self, model: Model, stack: ExitStack, nbest: int, as_json: bool):
        stack.callback(self._tell)
        self.model = model
        self.nbest = 1 if as_json else nbest  # a record names its source
        self.as_json = as_json
        self.blank: list[str] = []  # places
        self.unknown: list[str] = []
        self.empty: list[str] = []
        self.fewer: list[str] = []
        self.broken: list[str] = []

    def add(self, line: Line, source: str, hypotheses: Sequence[Hypothesis]) -> None:
        if not source.strip():
            self.blank.append(line.place)
        elif not self.model.codec.knows_any(source):
            self.unknown.append(line.place)
        if not all(hypothesis.text for hypothesis in hypotheses):
            self.empty.append(line.place)
        if len(hypotheses) < self.nbest:
            self.fewer.append(line.place)
        if not self.as_json and any(_in_one_line(one.text) != one.text for one in hypotheses):
            self.broken.append(line.place)

    def _tell(self) -> None:
        found = {"an empty target was written for": self.empty}
        found[f"{UNKNOWN_SOURCE} in"] = self.unknown
        if self.blank and reads_sources(self.model):
            found[f"{NO_SOURCE} in"] = self.blank
        few = f"fewer than {self.nbest} targets were found (--json names the source of each) for"
        found[few] = self.fewer
        found[r"line breaks are written as \n (--json keeps them) for"] = self.broken
        for what, places in found.items():
            if places:
                others = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
                print(f"voi: {what} {places[0]}{others}", file=sys.stderr)


def _check(is_wrong: bool, advice: str) -> None:
    """Raise the error of options that do not go together."""
    if is_wrong:
        raise ConfigError(f"give {advice}")


def _written(
    model: Model, lines: Sequence[Line], kind: str, keywords: list[str], options: dict[str, Any]
) -> Iterator[tuple[Line, str, list[Hypothesis]]]:
    """Yield what is written for some lines; if it cannot be, line by line up to the wrong one."""
    try:
        pairs = [_split(line, kind) for line in lines]
        sources = [source for source, _ in pairs]
        rules: dict[str, Any] = {kind: [text for _, text in pairs]} if kind else {}
        if keywords:
            rules["keywords"] = [keywords] * len(sources)
        found = model.generate(sources, first=lines[0].number - 1, **rules, **options)
    except VoiError as error:
        if len(lines) == 1:
            raise DataError(f"{lines[0].place}: {error}") from error
        for line in lines:
            yield from _written(model, [line], kind, keywords, options)
        return
    yield from zip(lines, sources, found, strict=True)


def _rule_kind(gaps: bool, prefix: bool, has_keywords: bool) -> str:
    """Return what the second column of a line is; empty: there is none."""
    if gaps + prefix + has_keywords > 1:
        raise ConfigError("give one of --gaps, --prefix and --keywords, not several")
    return "gaps" if gaps else "prefix" if prefix else ""


def _sampling(count: int, **given: float | int | None) -> Sampling | None:
    """Return how targets are drawn; options that are not given have their defaults."""
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not count:
        refuse("--sample with {}: how many targets to draw", **settings)
    try:
        return Sampling(count, **settings) if count else None
    except ValueError as error:
        raise ConfigError(f"{error}: change {names_of(settings) or '--sample'}") from error


def _open(file: Path | None, kind: str, stack: ExitStack) -> TextIO:
    """Return the lines, read as UTF-8 whatever the locale says; other bytes are surrogates.

    A carriage return within a line is white space, as in training.
    """
    if file is None or str(file) == "-":
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
        return sys.stdin
    try:
        return stack.enter_context(
            open(  # by its own name, which errors tell
                file,
                encoding="utf-8",
                errors="surrogateescape",
                newline="\n",
                opener=lambda _, flags: os.open(unpacked(file), flags),
            )
        )
    except OSError as error:
        advice = "give a text file"
        if kind:
            advice = f"--{kind} is a flag, the texts stand in the lines of a file: SOURCE<tab>TEXT"
        raise DataError(f"cannot read {file}: {error.strerror}; {advice}") from error


def _progress(lines: TextIO, stack: ExitStack) -> Callable[[int], None]:
    """Return a function to call with the number of further lines done; long files have a bar."""
    total = None
    if lines is not sys.stdin and Path(lines.name).is_file():  # a pipe is read once
        with open(lines.name, "rb") as file:  # bytes: what is no text is told of when it is read
            plain = GzipFile(fileobj=file) if is_packed(Path(lines.name)) else file
            total = sum(1 for _ in plain)
    console = plain_console(stderr=True)
    bar = Progress(console=console, disable=not console.is_terminal or not (total or 0) > 100)
    stack.enter_context(bar)
    task = bar.add_task("generating", total=total)
    return lambda count: bar.advance(task, count)


def _chunks(lines: TextIO) -> Iterator[list[Line]]:
    """Yield lines as soon as they come, several at a time where they are there already."""
    file = "" if lines is sys.stdin else lines.name
    arrived: Queue[Line | BaseException | None] = Queue(maxsize=_LINES_AT_ONCE)

    def read() -> None:
        try:
            for number, line in enumerate(lines, start=1):
                text = line.removeprefix("\ufeff") if number == 1 else line
                arrived.put(Line(file, number, text.rstrip("\r\n")))
            arrived.put(None)
        except BaseException as error:  # raised again below, by who asked for the lines
            arrived.put(error)

    Thread(target=read, daemon=True).start()
    part: list[Line] = []
    while True:
        item = arrived.get()
        if isinstance(item, Line):
            part.append(item)
        if part and (arrived.empty() or len(part) == _LINES_AT_ONCE or not isinstance(item, Line)):
            yield part
            part = []
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return


def _without_blank_end(
    parts: Iterable[list[Line]], asks_by_blank: Callable[[], bool]
) -> Iterator[list[Line]]:
    """Yield the lines without blank ones at the end, as data files are read.

    A blank line waits for one that is not. It does not where blank lines ask for targets, nor
    where there is no other line.
    """
    waiting: list[Line] = []
    is_begun = False
    for part in parts:
        end = max((i for i, line in enumerate(part, start=1) if line.text.strip()), default=0)
        is_begun = is_begun or end > 0
        if not is_begun or (end < len(part) and asks_by_blank()):
            end = len(part)
        if end:
            yield [*waiting, *part[:end]]
            waiting = []
        waiting += part[end:]


def _split(line: Line, kind: str) -> tuple[str, str]:
    """Return the source of a line, and the text behind the tab where there is one."""
    start = line.text.encode("utf-8", "surrogateescape") if line.number == 1 else b""
    if foreign := not_text(start, line.file):
        raise DataError(f"expected UTF-8 text, this is {foreign}")
    if any("\udc80" <= letter <= "\udcff" for letter in line.text):
        raise DataError(f"expected UTF-8 text: {to_utf8(line.file)}")
    source, tab, text = line.text.partition("\t")
    if tab and not kind:
        raise DataError(
            "expected one source per line, got a tab: cut off the other columns, or give --gaps or "
            "--prefix if a text to fill follows"
        )
    if kind and not tab:
        raise DataError(f"expected SOURCE<tab>TEXT with --{kind}, got {line.text!r}")
    if "\t" in text:
        raise DataError(
            f"expected SOURCE<tab>TEXT with --{kind}, got {line.text.count(tab) + 1} columns: cut "
            f"off the others"
        )
    return source, text


def _print(source: str, hypotheses: list[Hypothesis], trace: bool, as_json: bool) -> None:
    for hypothesis in hypotheses:
        if as_json:
            record = to_record(hypothesis.to_trace(source))
            print(json.dumps(record, ensure_ascii=False), flush=True)
        else:
            shown = visible if sys.stdout.isatty() else _in_one_line
            print(shown(hypothesis.text), flush=True)
        if trace and not as_json:
            draw_steps(hypothesis, plain_console(soft_wrap=False))


def _in_one_line(text: str) -> str:
    """Return a text without line breaks, which would be lines of their own in a file."""
    return text.replace("\r", r"\r").replace("\n", r"\n")
