"""`voi orders`: in which order targets are written, as tables, figures and a page."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, TaskID
from rich.table import Table

from voi import plots
from voi.cli.app import Beam, DeviceOfRuns, app, otherwise, refuse
from voi.cli.console import plain_console
from voi.cli.drawing import say, told_apart, visible
from voi.data import Example, Task
from voi.data.example import source_text
from voi.errors import ConfigError, MissingExtraError
from voi.model import Model, load
from voi.plots.output import FIGURE_SUFFIXES
from voi.pos import make_tagger
from voi.study.closeup import Closeup, closeup_of, write_closeup
from voi.study.collect import examples_of, run_series
from voi.study.figures import study_figures
from voi.study.files import write_study
from voi.study.pictures import picture_of, pictures_of
from voi.study.series import Series, file_series, read_counts
from voi.study.summary import in_words
from voi.study.tables import Study, study
from voi.study.text_tables import TextTable, overall_table

_SHOWN_PARTS = 20
_HANTA = "HanTa, English"

Runs = Annotated[
    list[Path] | None, typer.Argument(metavar="RUN", help="Run folders, side by side.")
]
Traces = Annotated[
    list[Path] | None, typer.Option(help="A trace file of any model; may be given repeatedly.")
]
Counts = Annotated[
    Path | None,
    typer.Option(help='For trace files: {"token": count} of the training targets, JSON.'),
]
Ranks = Annotated[bool, typer.Option("--ranks", help="Compare ranks, as the paper's program does.")]
TaggerName = Annotated[
    str | None,
    typer.Option(
        help="Of parts of speech: hanta (English; default), FILE.json of `voi data tagger`, "
        "module:function, or none."
    ),
]
Split = Annotated[str | None, typer.Option(help="Of the runs' own data; default: test.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Examples; default: the whole split.")]
Samples = Annotated[int | None, typer.Option(min=0, help="Orders sampled per target; default: 4.")]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**63 - 1, help="Of samples and intervals; default: 0.")
]
Perturb = Annotated[
    int | None, typer.Option(min=0, help="Instead: remove parts of this example's source, from 0.")
]
Searched = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="With --perturb: the beam of a search for orders under the decoder, as in the paper's "
        "program; default: the generator's orders.",
    ),
]
Reference = Annotated[
    bool, typer.Option("--reference", help="With --perturb: the reference target is frozen.")
]
Images = Annotated[Path | None, typer.Option(help="The folder that the images of captions are in.")]
Out = Annotated[
    Path | None, typer.Option(help="A folder for report.html, tables, traces and figures.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="Of the figures: svg (default), png or pdf.")
]


@app.command()
def orders(
    runs: Runs = None,
    traces: Traces = None,
    split: Split = None,
    limit: Limit = None,
    samples: Samples = None,
    beam: Beam = None,
    counts: Counts = None,
    ranks: Ranks = False,
    tagger: TaggerName = None,
    seed: Seed = None,
    perturb: Perturb = None,
    reference: Reference = False,
    searched: Searched = None,
    images: Images = None,
    out: Out = None,
    figures: Format = None,
    device: DeviceOfRuns = None,
) -> None:
    """Measure and show the orders that models have learned and that they write in.

    Example: voi orders runs/chain runs/chain-l2r --split test --out orders

    Traces of any model: voi orders --traces mine.jsonl --out orders

    What one source does to an order: voi orders runs/chain --perturb 3 --out closely
    """
    suffix = _suffix(figures, out)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # what cannot be made is told before the work begins
    console = plain_console(soft_wrap=False)
    compare: Literal["orders", "ranks"] = "ranks" if ranks else "orders"
    if perturb is not None:
        advice = "--perturb without {}: it looks at one example alone"
        refuse(advice, limit=limit, samples=samples, counts=counts, tagger=tagger, seed=seed)
        refuse("--reference without {}: no target is written", beam=beam if reference else None)
        model, task = _open(_only_one(runs or (), traces or ()), device, images)
        example = _example(model, task, otherwise(split, "test"), perturb)
        image = picture_of(example, pictures_of(task, images))
        width = otherwise(searched, 0)
        closeup = closeup_of(
            model, example, is_generated=not reference, beam=beam, searched=width, compare=compare
        )
        _print_closeup(closeup, console)
        paths = (
            [] if out is None else write_closeup(model, closeup, out, image=image, suffix=suffix)
        )
    else:
        refuse("--perturb with {}: an example's number", reference=reference, searched=searched)
        tagging = _tagging(tagger)
        of_files = _of_files(traces or (), counts)
        series = _of_runs(runs or (), split, limit, samples, beam, seed, images, device) + of_files
        drawn = otherwise(seed, 0)
        found = study(series, **tagging, compare=compare, seed=drawn)
        _print_study(found, console)
        paths = [] if out is None else _write_study(found, out, suffix, console)
    for path in paths:
        say(f"wrote {path}", plain_console())


def _suffix(figures: str | None, out: Path | None) -> str:
    """Return how the files of figures end; without a folder there are none."""
    suffix = f".{otherwise(figures, 'svg')}"
    if suffix not in FIGURE_SUFFIXES:
        raise ConfigError(f"--format must be svg, png or pdf, got {figures!r}")
    if out is None:
        refuse("--out with {}: a folder for the figures", format=figures)
    if figures is not None:
        plots.write_figure  # noqa: B018, says so if its extra is missing
    return suffix


def _tagging(name: str | None) -> dict[str, Any]:
    """Return what a study is told of its tagger: which one, or why there is none.

    One that was asked for by name must be there, and tags every language.
    """
    if name == "none":
        return {"untagged": "left out by --tagger none"}
    if name is not None:
        return {"tagger": make_tagger(name), "tagged_by": _HANTA if name == "hanta" else name}
    try:
        return {"tagger": make_tagger("hanta"), "tagged_by": _HANTA, "tagged_language": "en"}
    except MissingExtraError as error:
        return {"untagged": str(error)}


def _only_one(runs: Sequence[Path], traces: Sequence[Path]) -> Path:
    if len(runs) != 1 or traces:
        raise ConfigError("--perturb looks at an example of one run: name one, without --traces")
    return runs[0]


def _open(run: Path, device: str | None, images: Path | None) -> tuple[Model, Task]:
    """Return a model and the data it was trained on."""
    model = load(run, otherwise(device, "cpu"))
    if not model.reads_images:
        refuse(f"{run} without {{}}: its sources are no images", images=images)
    return model, model.task()


def _of_runs(
    runs: Sequence[Path],
    split: str | None,
    limit: int | None,
    samples: int | None,
    beam: int | None,
    seed: int | None,
    images: Path | None,
    device: str | None,
) -> list[Series]:
    """Return what the runs have learned and written; a bar on standard error shows the progress."""
    if not runs:
        advice = "a run with {}: trace files are taken as they are"
        refuse(
            advice,
            split=split,
            limit=limit,
            samples=samples,
            beam=beam,
            images=images,
            device=device,
        )
    found: list[Series] = []
    errors = plain_console(stderr=True)
    with Progress(console=errors, disable=not errors.is_terminal, transient=True) as bar:
        for run in runs:
            model, task = _open(run, device, images)
            examples = examples_of(task, otherwise(split, "test"), otherwise(limit, 0), model)
            name = run.resolve().name
            found += run_series(
                name,
                model,
                examples,
                known_orders=task.known_orders,
                samples=otherwise(samples, 4),
                beam=beam,
                seed=otherwise(seed, 0),
                pictures=pictures_of(task, images),
                told=partial(_show, bar, bar.add_task(escape(name), total=None), name),
            )
    return found


def _show(bar: Progress, job: TaskID, name: str, what: str, done: int, total: int | None) -> None:
    bar.update(job, description=escape(f"{name}: {what}"), completed=done, total=total)


def _of_files(paths: Sequence[Path], counts: Path | None) -> list[Series]:
    if not paths:
        refuse("--traces with {}: a run knows its own counts", counts=counts)
    known = None if counts is None else read_counts(counts)
    return [file_series(path, known) for path in paths]


def _print_study(found: Study, console: Console) -> None:
    """Print a small table for each series, and what it says in words."""
    means = overall_table(found, is_compact=True)
    sentences = {paragraph.heading: paragraph.sentences for paragraph in in_words(found)}
    for name in dict.fromkeys(row[0] for row in means.rows):
        say(name, console, "bold")
        console.print(_table(means, name))
        say(" ".join(sentences.pop(name, ())) + "\n", console)
    for others in sentences.values():
        say("\n".join(others) + "\n", console)
    for note in (means.note, *(f"Left out. {reason}" for reason in found.skipped)):
        say(note, console, "dim")


def _table(shown: TextTable, series: str) -> Table:
    """Return the rows of one series, as the terminal prints them."""
    table = Table(box=None, pad_edge=False)
    for i, name in enumerate(shown.header[1:], start=1):
        table.add_column(name, justify="left" if i < shown.num_names else "right", no_wrap=True)
    for row in shown.rows:
        if row[0] == series:
            table.add_row(*map(visible, row[1:]))
    return table


def _write_study(found: Study, out: Path, suffix: str, console: Console) -> list[Path]:
    names = ", ".join(dict.fromkeys(series.run for series in found.series))
    try:
        figures = study_figures(found)
    except MissingExtraError as error:
        figures = []  # the page says so too
        say(f"no figures: {error}", plain_console())
    write_study(found, out, figures=figures, suffix=suffix, title=f"Orders: {names}")
    return [out / "report.html"]


def _example(model: Model, task: Task, split: str, index: int) -> Example:
    """Return an example by its number in the tables."""
    examples = examples_of(task, split, index + 1, model)
    if index >= len(examples):
        raise ConfigError(
            f"--perturb must be below {len(examples)}, the number of examples in {split}, got "
            f"{index}"
        )
    return examples[index]


def _print_closeup(closeup: Closeup, console: Console) -> None:
    found = closeup.perturbation
    source = source_text(closeup.example.source)
    if source is not None:
        say(source, console, "bold")
    tokens = told_apart(list(map(visible, found.tokens)))
    console.print(" ".join(tokens))
    console.print(f"inferred order: {_in_order(tokens, found.order)}", style="dim")
    table = Table("part", "removed", "NLD", "ORC", "tau", "order without it", box=None)
    for removal in found.removals[:_SHOWN_PARTS]:
        values = (f"{value:.3f}" for value in (removal.nld, removal.orc, removal.tau))
        order = _in_order(tokens, removal.order)
        table.add_row(str(removal.part + 1), visible(removal.name), *values, order)
    console.print(table)
    if len(found.removals) > _SHOWN_PARTS:
        console.print(f"and {len(found.removals) - _SHOWN_PARTS} parts with no larger effect")
    console.print(f"Compared are {found.compared}, without the part and with it.", style="dim")


def _in_order(tokens: Sequence[str], order: Sequence[int]) -> str:
    return " ".join(tokens[i] for i in order)
