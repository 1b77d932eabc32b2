"""`voi generate`: write targets for sources from a file or from standard input."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.progress import Progress

from voi.analysis import to_record
from voi.cli.app import Device, app
from voi.cli.drawing import draw_steps
from voi.errors import DataError
from voi.model import load
from voi.search import Hypothesis, Sampling

_LINES_AT_ONCE = 32

Beam = Annotated[
    int, typer.Option(min=0, help="Hypotheses kept per source; 1 is greedy; 0: the run's.")
]
MaxLength = Annotated[int, typer.Option(min=0, help="Longest target in tokens; 0: the run's.")]
Sample = Annotated[int, typer.Option(min=0, help="Draw this many targets instead of searching.")]


@app.command()
def generate(
    run: Annotated[Path, typer.Argument(help="A run folder or model folder.")],
    file: Annotated[
        Path | None, typer.Argument(help="One source per line; standard input if not given.")
    ] = None,
    beam: Beam = 0,
    nbest: Annotated[int, typer.Option(min=1, help="Hypotheses printed per source.")] = 1,
    length_penalty: Annotated[float | None, typer.Option(help="Favours longer targets.")] = None,
    max_length: MaxLength = 0,
    merge: Annotated[bool, typer.Option(help="Add up orders that spell the same text.")] = False,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Lines are SOURCE<tab>TEXT, the text with ___ to fill.")
    ] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Lines are SOURCE<tab>TEXT, the text to continue.")
    ] = False,
    keywords: Annotated[
        str, typer.Option(help="Words that must appear in every target, separated by spaces.")
    ] = "",
    in_order: Annotated[bool, typer.Option(help="The keywords appear in this order.")] = False,
    sample: Sample = 0,
    temperature: Annotated[float, typer.Option(help="Of sampling.")] = 1.0,
    top_p: Annotated[float, typer.Option(help="Nucleus of sampling.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of sampling.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Print every step.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one trace record per line (docs/orders.md).")
    ] = False,
    device: Device = "cpu",
) -> None:
    """Write a target for every source line, in order.

    Example: echo "from-left a b c d e" | voi generate runs/chain --trace
    """
    model = load(run, device)
    options: dict[str, Any] = {
        "beam": beam or None,
        "nbest": nbest,
        "length_penalty": length_penalty,
        "max_length": max_length or None,
        "merge": merge,
        "sample": _sampling(sample, temperature, top_p, seed),
        "keywords_in_order": in_order,
    }
    kind = _rule_kind(gaps, prefix, bool(keywords))
    with ExitStack() as stack:
        lines = _open(file, stack)
        told = _progress(lines, stack)
        first = 0
        for part in _chunks(lines):
            sources, texts = _split(part, kind)
            rules: dict[str, Any] = {kind: texts} if kind else {}
            if keywords:
                rules["keywords"] = [keywords.split()] * len(sources)
            results = model.generate(sources, first=first, **rules, **options)
            for source, hypotheses in zip(sources, results, strict=True):
                _print(source, hypotheses, trace, as_json)
            first += len(part)
            told(len(part))


def _rule_kind(gaps: bool, prefix: bool, has_keywords: bool) -> str:
    """Return what the second column of a line is; empty: there is none."""
    if gaps + prefix + has_keywords > 1:
        raise DataError("give one of --gaps, --prefix and --keywords, not several")
    return "gaps" if gaps else "prefix" if prefix else ""


def _sampling(count: int, temperature: float, top_p: float, seed: int) -> Sampling | None:
    try:
        settings = Sampling(max(count, 1), temperature, top_p, seed)
    except ValueError as error:
        raise DataError(f"{error}: change --temperature, --top-p, --seed or --sample") from error
    return settings if count else None


def _open(file: Path | None, stack: ExitStack) -> TextIO:
    if file is None:
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="strict")  # whatever the locale says
        return sys.stdin
    try:
        return stack.enter_context(file.open(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror}; give a text file") from error


def _progress(lines: TextIO, stack: ExitStack) -> Callable[[int], None]:
    """Return what is told how many more lines are done; of a long file a bar shows it."""
    total = None
    if lines is not sys.stdin:
        with open(lines.name, "rb") as file:  # bytes: what is no text is told of when it is read
            total = sum(1 for _ in file)
    console = Console(stderr=True)
    bar = Progress(console=console, disable=not console.is_terminal or not (total or 0) > 100)
    stack.enter_context(bar)
    task = bar.add_task("generating", total=total)
    return lambda count: bar.advance(task, count)


def _chunks(lines: TextIO) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines that have come, some at a time: who waits for an answer gets it."""
    arrived: Queue[tuple[int, str] | BaseException | None] = Queue(maxsize=_LINES_AT_ONCE)

    def read() -> None:
        try:
            for number, line in enumerate(lines, start=1):
                text = line.removeprefix("\ufeff") if number == 1 else line
                arrived.put((number, text.rstrip("\r\n")))
            arrived.put(None)
        except BaseException as error:  # raised again below, by who asked for the lines
            arrived.put(error)

    Thread(target=read, daemon=True).start()
    part: list[tuple[int, str]] = []
    while True:
        item = arrived.get()
        if isinstance(item, tuple):
            part.append(item)
        if part and (arrived.empty() or len(part) == _LINES_AT_ONCE or not isinstance(item, tuple)):
            yield part
            part = []
        if isinstance(item, UnicodeDecodeError):
            raise DataError(f"{lines.name} is not UTF-8 text: {item}; convert it first")
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return


def _split(lines: list[tuple[int, str]], kind: str) -> tuple[list[str], list[str]]:
    if not kind:
        for number, text in lines:
            if "\t" in text:
                raise DataError(
                    f"line {number} has a tab: expected one source per line; cut off the other "
                    f"columns, or give --gaps or --prefix if a text to fill follows"
                )
        return [text for _, text in lines], []
    sources, texts = [], []
    for number, line in lines:
        source, tab, text = line.partition("\t")
        if not tab:
            raise DataError(f"line {number}: expected SOURCE<tab>TEXT with --{kind}, got {line!r}")
        sources.append(source)
        texts.append(text)
    return sources, texts


def _print(source: str, hypotheses: list[Hypothesis], trace: bool, as_json: bool) -> None:
    for hypothesis in hypotheses:
        if as_json:
            record = to_record(hypothesis.to_trace(source))
            print(json.dumps(record, ensure_ascii=False), flush=True)
        else:
            print(hypothesis.text, flush=True)
        if trace and not as_json:
            draw_steps(hypothesis, Console())
