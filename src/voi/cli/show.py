"""`voi show`: draw how one target is written, in the terminal and as a picture."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from voi import plots
from voi.analysis import Trace
from voi.cli.app import Beam, Device, app, refuse, split_keywords
from voi.cli.console import plain_console
from voi.cli.drawing import draw_steps, say, visible
from voi.cli.sources import oddity
from voi.data import Example, ImageTask, Regions, Source
from voi.data.tasks import has_sources
from voi.errors import ConfigError, DataError, VoiError
from voi.model import Model, load
from voi.plots.output import FIGURE_SUFFIXES, PAGE_SUFFIXES, output_path
from voi.search import Hypothesis
from voi.study.attention import attention_of, opacities
from voi.study.perturbation import source_parts
from voi.study.pictures import region_views


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="A run folder or model folder.")],
    source: Annotated[
        str | None,
        typer.Argument(help="The source: a text, or an image's name; none if the task has none."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also a picture: .png, .svg, .pdf, or .html to step through."),
    ] = None,
    attention: Annotated[
        Path | None,
        typer.Option(help="Also a picture of what each step attends to: .png, .svg or .pdf."),
    ] = None,
    beam: Beam = None,
    gaps: Annotated[str | None, typer.Option(help="A text whose gaps ___ are filled.")] = None,
    keywords: Annotated[
        str | None, typer.Option(help="Words that must appear, separated by spaces.")
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A dark picture.")] = False,
    device: Device = "cpu",
) -> None:
    """Draw how one target is written: the partial sentence after every step.

    Example: voi show runs/chain "from-left a b c d e" --out steps.svg

    Of an image: voi show runs/scenes test-12 --out steps.png
    """
    if gaps is not None and keywords is not None:
        raise ConfigError("give --gaps or --keywords, not both")
    words = split_keywords(keywords)
    if out is None and attention is None:
        refuse("--out with {}: a file to draw into", dark=dark)
    _check(out, attention)  # before the work, not after it
    model = load(run, device)
    task = _image_task(model)
    if task is None and source is None:
        _check_sourceless(model)
    given: Source = source if task is None else _image(task, source)
    name = source if task is None else str(given)
    hypothesis = _written(model, given, beam, gaps, words)
    console = plain_console(soft_wrap=False)
    if name is not None:
        say(name, console, "bold")
    draw_steps(hypothesis, console)
    score = Text(f"    log p {hypothesis.score:.2f}", style="dim")
    console.print(Text(visible(hypothesis.text)) + score)
    trace = hypothesis.to_trace(name)
    if out is not None:
        _draw(model, trace, out, dark, given, task)
    if attention is not None:
        _draw_attention(model, given, trace, attention, dark)
    for path in (out, attention):
        if path is not None:
            say(f"wrote {path}", plain_console())
    if isinstance(given, str) and (odd := oddity(model, given)):
        print(f"voi: {odd}", file=sys.stderr)


def _check_sourceless(model: Model) -> None:
    """Raise if the model was trained with sources, as far as its data is still there to tell."""
    try:
        task = model.task()
        example = task.split("valid")[0] if has_sources(task) else None
    except VoiError:
        return
    if example is not None:
        raise ConfigError(f"this run has sources: give one, such as {str(example.source)!r}")


def _image_task(model: Model) -> ImageTask | None:
    """Return the task whose images the model describes; None where sources are no images."""
    if not model.reads_images:
        return None
    task = model.task()
    if not isinstance(task, ImageTask):
        raise DataError(
            f"this run describes images, and its task {model.experiment.data.task} does not name "
            "any: use voi.load(run).generate with regions, then voi.plots.draw_generation"
        )
    return task


def _image(task: ImageTask, name: str | None) -> Regions:
    if name is None:
        example = task.split("valid")[0].source
        raise ConfigError(f"this run describes images: give the name of one, such as {example}")
    return task.source(name)


def _written(
    model: Model, source: Source, beam: int | None, gaps: str | None, keywords: list[str]
) -> Hypothesis:
    """Return the best hypothesis for one source."""
    ((hypothesis, *_),) = model.generate(
        [source],
        beam=beam,
        gaps=None if gaps is None else [gaps],
        keywords=[keywords] if keywords else None,
    )
    return hypothesis


def _check(out: Path | None, attention: Path | None) -> None:
    """Raise if a picture could not be written."""
    if out is not None:
        output_path(out, FIGURE_SUFFIXES + PAGE_SUFFIXES)
    if attention is not None:
        output_path(attention, FIGURE_SUFFIXES)
    if any(path and path.suffix.lower() in FIGURE_SUFFIXES for path in (out, attention)):
        plots.draw_generation  # noqa: B018, says so if its extra is missing


def _draw(
    model: Model, trace: Trace, out: Path, is_dark: bool, source: Source, task: ImageTask | None
) -> None:
    """Draw a trace; the boxes of an image are as opaque as the decoder attends to them."""
    if out.suffix.lower() in PAGE_SUFFIXES:
        title, given = trace.source or "Generation", [Example(source, trace.target)]
        plots.generation_page(
            [trace],
            out,
            title=title,
            theme="dark" if is_dark else "auto",
            views=region_views(model, given, [trace], task.picture) if task else (),
        )
        return
    theme = "dark" if is_dark else "light"
    if task is None or not isinstance(source, Regions):
        plots.draw_generation(trace, out, theme=theme)
    else:
        picture = task.picture(source.image)
        shown = opacities(attention_of(model, source, trace)) if trace.tokens else None
        plots.draw_generation(
            trace, out, theme=theme, image=picture, boxes=source.boxes, opacities=shown
        )


def _draw_attention(model: Model, source: Source, trace: Trace, path: Path, is_dark: bool) -> None:
    """Draw how much each step attends to each word or region of the source."""
    parts = source_parts(model, source)
    if not parts or not trace.tokens:
        raise ConfigError(
            f"--attention draws steps against parts of the source, got {len(trace.tokens)} steps "
            f"and {len(parts)} parts: leave it out, or give another source"
        )
    plots.write_figure(
        path,
        plots.attention_figure,
        attention_of(model, source, trace),
        tokens=[trace.tokens[i] for i in trace.order],
        parts=parts,
        theme="dark" if is_dark else "light",
    )
