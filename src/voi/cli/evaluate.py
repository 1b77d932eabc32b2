"""`voi evaluate`: decode a split, score it, and compare runs; or score stored outputs."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from voi.checkpoint import RESULTS
from voi.cli.app import Beam, DeviceOfRuns, app, otherwise, refuse
from voi.cli.console import plain_console
from voi.cli.drawing import print_stacked, say
from voi.cli.watching import EvaluationBar
from voi.data.tasks import check_chosen
from voi.errors import ConfigError
from voi.evaluation import (
    Settings,
    System,
    Table,
    default_metrics,
    evaluate,
    read_outputs,
    read_references,
    score_outputs,
    side_by_side,
    write_table,
)
from voi.evaluation.outputs import References
from voi.evaluation.stored import told_of_several
from voi.evaluation.tables import notes, text_rows
from voi.model import load


@app.command("evaluate")
def command(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run or model folders; the others are compared with the first."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="train, valid or test; default: test.")] = None,
    beam: Beam = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Favours longer targets; default: the run's.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Only the first examples; 0: all.")] = 0,
    metrics: Annotated[
        str, typer.Option(help="Names with commas between them; default: those of the task.")
    ] = "",
    likelihood_samples: Annotated[
        int | None,
        typer.Option(min=0, help="Orders drawn per target for log p(y | x); 0: none; default: 64."),
    ] = None,
    likelihood_limit: Annotated[
        int | None, typer.Option(min=0, help="Likelihoods of the first examples only; 0: of all.")
    ] = None,
    hypotheses: Annotated[
        list[Path] | None,
        typer.Option(help="Score stored outputs instead of runs: .jsonl or .txt; may be repeated."),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(help="For --hypotheses: .txt, .tsv or .jsonl.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of results; default RUN/evaluation/SPLIT-beamK.")
    ] = None,
    device: DeviceOfRuns = None,
) -> None:
    """Score runs on a split, with signatures, likelihoods and paired bootstrap intervals.

    Example: voi evaluate runs/chain runs/chain-l2r --split test --beam 5

    Outputs stored before: voi evaluate --hypotheses a.jsonl --hypotheses b.jsonl --references r.txt
    """
    names = tuple(name.strip() for name in metrics.split(",") if name.strip()) or None
    _check_inputs(bool(runs), bool(hypotheses), references is not None)
    for_runs: dict[str, Any] = {
        "split": split,
        "beam": beam,
        "length_penalty": length_penalty,
        "likelihood_samples": likelihood_samples,
        "likelihood_limit": likelihood_limit,
    }
    given = {name: value for name, value in for_runs.items() if value is not None}
    settings = Settings(limit=limit, metrics=names, **given)
    if likelihood_samples == 0:
        refuse("{} without --likelihood-samples 0", likelihood_limit=likelihood_limit)
    if hypotheses:
        advice = "--hypotheses without {}: stored outputs are scored as they are"
        refuse(advice, **given, device=device)
        _score_stored(hypotheses, references, names, limit, out)
    else:
        _score_runs(runs or [], settings, out, otherwise(device, "cpu"))


def _check_inputs(has_runs: bool, has_hypotheses: bool, has_references: bool) -> None:
    if has_runs == has_hypotheses:
        raise ConfigError("give either run folders or --hypotheses, as in: voi evaluate runs/chain")
    if has_references and not has_hypotheses:
        raise ConfigError("--references goes with --hypotheses: a run knows its own references")


def _score_stored(
    paths: list[Path],
    references: Path | None,
    names: tuple[str, ...] | None,
    limit: int,
    out: Path | None,
) -> None:
    console = plain_console()
    shared = None if references is None else read_references(references)
    if references is not None and (told := told_of_several(references, shared or ())):
        say(told, console)
    table = side_by_side(_stored(paths, shared, names, limit))
    _print(table, console)
    if out is not None:
        _write(table, out, "scores", console)


def _score_runs(runs: list[Path], settings: Settings, out: Path | None, device: str) -> None:
    systems, folders = _evaluated(runs, settings, out, device)
    scores, comparison = settings.table_name("scores"), settings.table_name("comparison")
    for system, folder in zip(systems, folders, strict=True):
        write_table(side_by_side([system]), folder, scores)
    table = side_by_side(systems)
    console = plain_console()
    _print(table, console)
    _write(table, out or folders[0], scores if len(systems) == 1 else comparison, console)


def _stored(
    paths: list[Path], references: References | None, names: tuple[str, ...] | None, limit: int
) -> list[System]:
    systems = []
    for name, path in zip(distinct_names(paths), paths, strict=True):
        outputs = read_outputs(path, name, references, limit)
        scores = score_outputs(outputs, names or default_metrics(outputs))
        systems.append(System(name, outputs, scores))
    return systems


def _evaluated(
    runs: list[Path], settings: Settings, out: Path | None, device: str
) -> tuple[list[System], list[Path]]:
    systems, folders = [], []
    models = [load(run, device) for run in runs]  # a wrong name is told before the work begins
    for run, model in zip(runs, models, strict=True):
        check_chosen(model.task(), settings.split, run)
    for name, run, model in zip(distinct_names(runs), runs, models, strict=True):
        if out is None and not run.is_dir():
            raise ConfigError(f"{run} is no folder to keep results in: choose one with --out")
        folder = run / RESULTS / settings.folder_name(model) if out is None else out
        if out is not None and len(runs) > 1:
            folder = out / name.replace("/", "-")
        with EvaluationBar(name) as bar:
            systems.append(evaluate(model, name, folder, settings, bar.told))
        folders.append(folder)
    return systems, folders


def distinct_names(paths: list[Path]) -> list[str]:
    """Return what tells paths apart: the parts that they do not share.

    >>> distinct_names([Path("runs/a"), Path("runs/b")]), distinct_names([Path("runs/a")])
    (['a', 'b'], ['a'])
    >>> distinct_names([Path("runs/a/test/h.jsonl"), Path("runs/b/test/h.jsonl")])
    ['a', 'b']
    """
    parts = [path.resolve().parts for path in paths]
    if len(set(parts)) < 2:
        return [path.resolve().name for path in paths]
    start = _num_shared(parts)
    end = _num_shared([own[start:][::-1] for own in parts])
    names = ["/".join(own[start : len(own) - end]) for own in parts]
    return names if all(names) else [str(path) for path in paths]


def _num_shared(sequences: Sequence[Sequence[str]]) -> int:
    """Return how many first entries are the same in all of them."""
    columns = zip(*sequences, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def _print(table: Table, console: Console) -> None:
    rows = text_rows(table)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_wide = sum(widths) + 2 * (len(widths) - 1) > console.width
    if console.is_terminal and is_wide:
        print_stacked(rows, console)
        rows = []
    for number, row in enumerate(rows):
        texts = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        style = "" if number else "bold"
        console.print("  ".join(texts).rstrip(), style=style)
    console.print()
    for note in notes(table):
        console.print(note, style="dim")


def _write(table: Table, folder: Path, name: str, console: Console) -> None:
    write_table(table, folder, name)
    say(f"wrote {folder / name}.json, .csv and .md", console)
