"""`voi train`: learn an order on a task, with live progress, and show what was learned."""

import signal
import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from voi import config, experiments, runs
from voi.allocator import keep_freed_memory
from voi.cli.app import app
from voi.cli.drawing import draw_steps, sentence, visible
from voi.cli.lasting import lasting_console
from voi.cli.own_data import (
    Data,
    SourceFile,
    TargetFile,
    TestFile,
    ValidFile,
    data_settings,
    own_table,
)
from voi.data import Example, Source, Task
from voi.data.example import first
from voi.data.tasks import split_names
from voi.errors import ConfigError
from voi.memory import training_memory
from voi.model import ANY_LENGTH, Model, load
from voi.runs import Prepared
from voi.tables import to_table
from voi.tokens import build_corpus
from voi.training import Progress as TrainingProgress
from voi.training import Trainer
from voi.validation import Judge, validate
from voi.world import World

SHOWN_EXAMPLES = 3
_BAR, _WIDE = 24, 120  # columns of the bar, and of a terminal that has room for it
_TIME_LEFT = "-:--:--"
_LINE_EVERY = 15  # seconds


@app.command()
def train(
    task: Annotated[
        str,
        typer.Argument(
            help="A preset's name (--presets lists them) or a TOML file; default chain."
        ),
    ] = "",
    data: Data = None,
    source: SourceFile = None,
    target: TargetFile = None,
    valid: ValidFile = None,
    test: TestFile = None,
    order: Annotated[
        str,
        typer.Option(
            help="voi, l2r, r2l, common, rare, random, tree, sao (after l2r) or module:function."
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one field of the experiment."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder; default runs/TASK.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with a run from its last checkpoint.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the experiment and its size; train nothing.")
    ] = False,
    is_list: Annotated[
        bool, typer.Option("--presets", help="Print the presets and what they are; train nothing.")
    ] = False,
) -> None:
    """Train on a task and show what was learned.

    Example: voi train chain --set training.steps=3000 --out runs/my-chain

    Your own pairs: voi train --data train.tsv --valid dev.tsv
    """
    if is_list:
        _print_presets(Console(soft_wrap=True))
        return
    if resume is not None:
        if task or order or settings or out or data or source or target or valid or test or dry_run:
            raise ConfigError(
                "--resume goes on with a run as it was started: give it alone, or start a new run"
            )
        _resume(resume, lasting_console())
        return
    own = data_settings(data, source, target, valid, test)
    task = task or ("files" if own else "chain")
    experiment = _experiment(own_table(task, own), order, settings or [])
    if dry_run:
        _print_plan(runs.prepare(experiment), Console(soft_wrap=True))
    else:
        _start(task, experiment, out, lasting_console())


def _say(text: str, console: Console) -> None:
    """Print a text as it is: brackets of a user's names and lines are no markup."""
    shown = "\n".join(map(visible, text.split("\n")))
    console.print(shown, highlight=False, markup=False)


def _print_presets(console: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, about in experiments.presets().items():
        table.add_row(name, escape(about))
    console.print(table)


def _resume(run: Path, console: Console) -> None:
    world = World.join(runs.device_of(run))
    console.quiet = not world.is_main
    with Watch(console) as watch:
        trainer = runs.resume(run, watch, world)
        if trainer.progress.step == trainer.total:
            _say(f"{run} is finished; to train longer, start a new run with more steps", console)
        else:
            _say(f"resuming {run} at step {trainer.progress.step:,}", console)
        _run(trainer, run, watch, console)


def _start(task: str, experiment: config.Experiment, out: Path | None, console: Console) -> None:
    world = World.join(experiment.training.device)
    console.quiet = not world.is_main
    if out is None and world.size > 1:
        raise ConfigError("several processes need one run folder: give it with --out")
    if out is not None and world.is_main:
        runs.check_folder(out)  # before the data is read
    prepared = runs.prepare(experiment)
    run = out or runs.free_folder(_run_name(task, prepared))
    _print_data(prepared, console)
    watch = Watch(console)
    trainer = runs.start(prepared, run, watch, world)
    with watch:
        _run(trainer, run, watch, console)


def _print_data(prepared: Prepared, console: Console) -> None:
    """Print how the splits came about, and what became of their examples."""
    for note in getattr(prepared.task, "notes", ()):
        _say(note, console)
    for split, report in prepared.reports.items():
        _say(f"{split}: {report}", console)
    if prepared.codec.vocabulary.num_copies and not prepared.has_copies:
        _say(
            "no training target has a word to be copied, so copying is not learned; set "
            "data.tokens.min_count higher, or data.tokens.copy = false",
            console,
        )
    for phase, steps in zip(
        prepared.experiment.training.phases, prepared.phase_steps(), strict=True
    ):
        if steps < 2 * phase.warmup:
            warmup = f"{phase.warmup:,}" if phase.warmup < steps else "all"
            _say(
                f"phase {phase.name!r} has {steps:,} steps and warms up for {warmup} of them: it "
                f"learns little; set training.steps higher, or training.warmup lower",
                console,
            )


def _experiment(table: dict[str, Any], order: str, settings: list[str]) -> config.Experiment:
    if order:
        return config.experiment(experiments.with_order(table, order, settings))
    return config.experiment(experiments.override(table, settings))


def _run_name(task: str, prepared: Prepared) -> str:
    kind = prepared.experiment.order.kind.replace(":", ".")
    name = Path(task).stem if task.endswith(".toml") else task
    return name if kind == "voi" else f"{name}-{kind}"


def _run(trainer: Trainer, run: Path, watch: "Watch", console: Console) -> None:
    """Train, then show what was learned, or how to go on if a signal ended it."""
    keep_freed_memory()
    is_finished = trainer.run()
    trainer.world.leave()
    watch.close()
    if not is_finished:
        _say(f"stopped at step {trainer.progress.step:,}: voi train --resume {run}", console)
        raise SystemExit(128 + signal.Signals[trainer.stopped_by or "SIGINT"].value)
    if trainer.world.is_main:
        _print_learned(run, console)


class Watch:
    """A progress bar with loss, reward, entropy, distance to the best order, speed, time left.

    In a file there is a line now and then in its place, and one for the last step.
    """

    def __init__(self, console: Console):
        self.console = console
        self.bar = Progress(
            TextColumn("{task.fields[phase]}"),
            *([BarColumn(bar_width=_BAR)] if self._has_bar else []),
            TextColumn("{task.completed}/{task.total}"),
            TextColumn("{task.fields[values]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self.line = self.bar.add_task("", total=None, phase="starting", values="")
        self._said = time.monotonic()
        self._unsaid = ""

    def __enter__(self) -> "Watch":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.bar.stop()
        self._say_line()

    def trained(self, progress: TrainingProgress, total: int, values: Mapping[str, Any]) -> None:
        parts = [f"loss {values['loss']:.3f}", f"reward {values['reward']:.2f}"]
        parts.append(f"entropy {values['entropy']:.2f}")
        if "distance" in values:
            parts.append(f"distance {values['distance']:.3f}")
        parts.append(f"{values['tokens_per_second']:,.0f} tok/s")
        phase = f"phase {progress.phase + 1}"
        others = f"{phase} {progress.step}/{total} {_TIME_LEFT} "
        shown = self._fitting(parts, len(others) + (_BAR + 1) * self._has_bar)
        self.bar.update(self.line, completed=progress.step, total=total, phase=phase, values=shown)
        if not self.console.is_terminal:
            self._unsaid = "  ".join([f"step {progress.step:,}/{total:,}", *parts])
            if time.monotonic() - self._said > _LINE_EVERY:
                self._say_line()

    def _say_line(self) -> None:
        if self._unsaid:
            self.console.print(self._unsaid, highlight=False)
        self._said, self._unsaid = time.monotonic(), ""

    @property
    def _has_bar(self) -> bool:
        """Is there room for more than figures?"""
        return self.console.width >= _WIDE

    def _fitting(self, parts: list[str], used: int) -> str:
        """Return as many of the values as the terminal has room for, whole."""
        lengths = accumulate(len(part) + 2 for part in parts)
        room = self.console.width - used + 2
        return "  ".join(part for part, end in zip(parts, lengths, strict=True) if end <= room)

    def validated(self, progress: TrainingProgress, values: Mapping[str, Any]) -> None:
        numbers = {
            name: x for name, x in values.items() if isinstance(x, float) and name != "score"
        }
        text = "  ".join(f"{name} {value:.3f}" for name, value in numbers.items())
        self.console.print(f"step {progress.step:,}: validation {text}", highlight=False)
        for sample in values.get("samples", ())[:1]:
            _say(
                f"  {sample['source']} -> {sample['written']}   (reference {sample['reference']})",
                self.console,
            )

    def said(self, message: str) -> None:
        self.console.print(message, highlight=False)


def _print_plan(prepared: Prepared, console: Console) -> None:
    experiment, networks = prepared.experiment, prepared.networks()
    console.print_json(data=to_table(experiment))
    for name, network in networks.named_children():
        count = sum(p.numel() for p in network.parameters())
        console.print(f"parameters of the {name}: {count:,}")
    console.print(f"vocabulary: {len(prepared.codec.vocabulary):,}")
    _print_data(prepared, console)
    lengths = prepared.train.targets.lengths
    memory = training_memory(experiment, networks, lengths, prepared.train.source_lengths)
    counts = prepared.phase_steps()
    parts = [
        f"{phase.name} {count:,}" + (f" ({phase.epochs:g} epochs)" if phase.epochs else "")
        for phase, count in zip(experiment.training.phases, counts, strict=True)
    ]
    console.print(f"steps: {', '.join(parts)}; {sum(counts):,} in all", highlight=False)
    console.print(f"memory: about {memory / 2**20:,.0f} MiB in the largest batch, torch aside")


def _print_learned(run: Path, console: Console) -> None:
    """Print accuracy, learned orders beside the known best ones, and targets being written."""
    model = load(run)
    experiment, task = model.experiment, model.task()
    split = split_names(task)[-1]
    examples = first(task.split(split), experiment.training.valid_examples)
    corpus, _ = build_corpus(examples, model.codec, ANY_LENGTH)
    torch.manual_seed(experiment.training.seed)
    result = validate(
        model.networks,
        Judge(task, model.codec, examples, corpus),
        num_orders=4,
        max_length=experiment.search.max_length,
    )
    console.rule("learned")
    console.print(
        f"{split} accuracy {result.accuracy:.1%} on {len(corpus)} targets (greedy), ELBO "
        f"{result.elbo.per_token['elbo']:.3f} nats per token"
        + ("" if result.distance is None else f", distance to the best order {result.distance:.3f}")
    )
    chosen = _different(examples)[:SHOWN_EXAMPLES]
    console.print(_learned_orders(model, task, chosen))
    beam = experiment.search.beam
    console.print(f"\nwhat is written, {'greedily' if beam == 1 else f'with beam {beam}'}:")
    hypotheses = model.generate([example.source for example in chosen])
    for example, (hypothesis, *_) in zip(chosen, hypotheses, strict=True):
        console.print(f"\n[bold]{sentence(str(example.source))}[/bold]")
        draw_steps(hypothesis, console)
    _say(f'\nrun folder: {run}    reload: voi.load("{run}")', console)


def _learned_orders(model: Model, task: Task, examples: Sequence[Example]) -> Table:
    """Return targets with their learned orders, and the best ones where some are known."""
    known = [" or ".join(map(_spaced, task.known_orders(example))) for example in examples]
    table = Table("source", "target", "learned order", box=None)
    if any(known):
        table.add_column("best order")
    for example, best in zip(examples, known, strict=True):
        learned = model.infer_order(example.source, example.target)
        cells = [sentence(str(example.source)), sentence(example.target), _spaced(learned)]
        table.add_row(*cells, *[best] * any(known))
    return table


def _different(examples: Sequence[Example]) -> list[Example]:
    """Return the first example of every source; an image has several captions."""
    by_source: dict[Source, Example] = {}
    for example in examples:
        by_source.setdefault(example.source, example)
    return list(by_source.values()) if None not in by_source else list(examples)


def _spaced(order: Any) -> str:
    return " ".join(map(str, order))
