"""`voi train`: learn an order on a task, with live progress, and show what was learned."""

import shlex
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from voi import config, experiments, runs
from voi.cli.app import Changes, app
from voi.cli.console import plain_console
from voi.cli.drawing import say
from voi.cli.lasting import lasting_console
from voi.cli.learned import print_learned
from voi.cli.own_data import (
    Data,
    SourceFile,
    TargetFile,
    TestFile,
    ValidFile,
    data_settings,
    own_table,
)
from voi.cli.watching import TrainingBar
from voi.errors import ConfigError
from voi.memory import training_memory
from voi.prepared import Prepared, prepare
from voi.process import tune_for_training
from voi.tables import to_table
from voi.tokens.config import unknown_advice
from voi.tokens.learnable import copying_advice
from voi.training import Trainer
from voi.world import World


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
    settings: Changes = None,
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
        _print_presets(plain_console())
        return
    tune_for_training()
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
        _print_plan(prepare(experiment), plain_console())
    else:
        _start(task, experiment, out, lasting_console())


def _print_presets(console: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, about in experiments.presets().items():
        table.add_row(name, about)
    console.print(table)


def _resume(run: Path, console: Console) -> None:
    world = World.join(runs.device_of(run))
    console.quiet = not world.is_main
    with TrainingBar(console) as watch:
        trainer = runs.resume(run, watch, world)
        if trainer.progress.step == trainer.total:
            say(f"{run} is finished; to train longer, start a new run with more steps", console)
        else:
            say(f"resuming {run} at step {trainer.progress.step:,}", console)
        _run(trainer, run, watch, console)


def _start(task: str, experiment: config.Experiment, out: Path | None, console: Console) -> None:
    world = World.join(experiment.training.device)
    console.quiet = not world.is_main
    if out is None and world.size > 1:
        raise ConfigError("several processes need one run folder: give it with --out")
    if out is not None and world.is_main:
        runs.check_folder(out)  # before the data is read
    prepared = prepare(experiment)
    _print_data(prepared, console)
    watch = TrainingBar(console)
    with nullcontext(out) if out else runs.free_folder(_run_name(task, prepared)) as run:
        trainer = runs.start(prepared, run, watch, world)
    with watch:
        _run(trainer, run, watch, console)


def _print_data(prepared: Prepared, console: Console) -> None:
    """Print how the splits came about, and what became of their examples."""
    phases = prepared.experiment.training.phases
    for note in getattr(prepared.task, "notes", ()):
        say(note, console)
    for split, report in prepared.reports.items():
        say(f"{split}: {report}", console)
    tokens = prepared.codec.config
    unknown = unknown_advice(prepared.reports["train"].unknown_targets, tokens)
    if unknown:
        say(unknown, console)
    elif prepared.codec.vocabulary.num_copies and not prepared.has_copies:
        examples, data = prepared.task.split("train"), prepared.experiment.data
        say(copying_advice(examples, prepared.codec, data), console)
    for number, (phase, steps) in enumerate(zip(phases, prepared.phase_steps(), strict=True)):
        if steps < 2 * phase.warmup:
            warmup = f"{phase.warmup:,}" if phase.warmup < steps else "all"
            where = "training" if len(phases) == 1 else f"training.phases.{number}"
            say(
                f"phase {phase.name!r} has {steps:,} steps and warms up for {warmup} of them: it "
                f"learns little; give --set {where}.warmup={steps // 10}, or more steps",
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


def _run(trainer: Trainer, run: Path, watch: TrainingBar, console: Console) -> None:
    """Train, then show what was learned, or how to go on if a signal ended it."""
    is_finished = trainer.run()
    trainer.world.leave()
    watch.close()
    complete = f"the run is complete and saved in {run}"
    if not is_finished or trainer.stopped_by:
        on = (
            f"stopped at step {trainer.progress.step:,}: voi train --resume {shlex.quote(str(run))}"
        )
        say(complete if is_finished else on, console)
        raise SystemExit(128 + signal.Signals[trainer.stopped_by or "SIGINT"].value)
    if trainer.world.is_main:
        try:
            print_learned(run, console)
        except KeyboardInterrupt:
            say(complete, console)
            raise


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
    console.print(f"steps: {', '.join(parts)}; {sum(counts):,} in all")
    console.print(f"memory: about {memory / 2**20:,.0f} MiB in the largest batch, torch aside")
