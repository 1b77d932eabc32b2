"""`voi show`: draw how one target is written, in the terminal and as a picture."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from voi import plots
from voi.analysis import Trace
from voi.cli.app import app
from voi.cli.drawing import draw_steps, sentence
from voi.errors import DataError
from voi.model import Model, load
from voi.plots.output import FIGURE_SUFFIXES, PAGE_SUFFIXES, output_path
from voi.search import Hypothesis


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="A run folder or model folder.")],
    source: Annotated[
        str | None, typer.Argument(help="The source; leave it out if the task has none.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also a picture: .png, .svg, .pdf, or .html to step through."),
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Hypotheses kept; 1 is greedy; default: the run's.")
    ] = None,
    gaps: Annotated[str | None, typer.Option(help="A text whose gaps ___ are filled.")] = None,
    keywords: Annotated[
        str, typer.Option(help="Words that must appear, separated by spaces.")
    ] = "",
    dark: Annotated[bool, typer.Option("--dark", help="A dark picture.")] = False,
) -> None:
    """Draw how one target is written: the partial sentence after every step.

    Example: voi show runs/chain "from-left a b c d e" --out steps.svg
    """
    if out is not None:
        _check(out)  # before the work, not after it
    hypothesis = _written(load(run), source, beam, gaps, keywords.split())
    console = Console(highlight=False)
    if source is not None:
        console.print(f"[bold]{sentence(source)}[/bold]")
    draw_steps(hypothesis, console)
    console.print(f"{sentence(hypothesis.text)}    [dim]log p {hypothesis.score:.2f}[/dim]")
    if out is not None:
        _draw(hypothesis.to_trace(source), out, dark)
        console.print(f"wrote {sentence(str(out))}", soft_wrap=True)


def _written(
    model: Model, source: str | None, beam: int | None, gaps: str | None, keywords: list[str]
) -> Hypothesis:
    """Return the best hypothesis for one source."""
    if model.networks.decoder.source.regions is not None:
        raise DataError(
            "this run describes images, and voi show takes a text: use voi.load(run).generate with "
            "regions, then voi.plots.draw_generation"
        )
    ((hypothesis, *_),) = model.generate(
        [source],
        beam=beam,
        gaps=None if gaps is None else [gaps],
        keywords=[keywords] if keywords else None,
    )
    return hypothesis


def _check(out: Path) -> None:
    output_path(out, FIGURE_SUFFIXES + PAGE_SUFFIXES)
    if out.suffix.lower() in FIGURE_SUFFIXES:
        plots.draw_generation  # noqa: B018, says so if its extra is missing


def _draw(trace: Trace, out: Path, is_dark: bool) -> None:
    if out.suffix.lower() in PAGE_SUFFIXES:
        title = trace.source or "Generation"
        plots.generation_page([trace], out, title=title, theme="dark" if is_dark else "auto")
    else:
        plots.draw_generation(trace, out, theme="dark" if is_dark else "light")
