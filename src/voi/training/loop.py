"""The training loop: phases, batches, validation, checkpoints, and an exact way back into them."""

import dataclasses
import math
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from voi import checkpoint
from voi.batch import Batch, collate
from voi.config import Experiment, Phase
from voi.devices import seeded, start_random_numbers
from voi.errors import ConfigError, VoiError
from voi.layers import Block
from voi.networks import Networks, word_counts
from voi.objective import entropy
from voi.orders import OrderGenerator, make_orders
from voi.tokens import Codec, Corpus
from voi.training.epochs import epoch_batches, num_updates
from voi.training.log import MetricsLog
from voi.training.optimiser import Optimiser
from voi.training.schedule import entropy_weight, rate_factor
from voi.training.sharding import placed, undivided
from voi.training.update import Scored, Update, Updated
from voi.world import World, part

_WEIGHTS = 2**32 - 1  # drawn apart from what batches draw


class TrainingError(VoiError):
    """Training cannot go on; the message names the batch."""


@dataclass
class Progress:
    """Where training stands; with weights and moments it is the whole state."""

    step: int = 0  # updates since the start of the run
    phase: int = 0
    phase_step: int = 0
    epoch: int = 0  # of the phase
    position: int = 0  # batches taken of the epoch
    best: float = -math.inf  # validation score
    seconds: float = 0.0  # of updates; log lines, validations and checkpoints are not counted
    cpu_seconds: float = 0.0  # the same of the processor, by all threads of the main process
    window: dict[str, float] = field(default_factory=dict)  # sums since the last log line


@runtime_checkable
class Watcher(Protocol):
    """Is told how training goes: a progress bar, or nothing."""

    def trained(self, progress: Progress, total: int, values: Mapping[str, Any]) -> None: ...

    def validated(self, progress: Progress, values: Mapping[str, Any]) -> None: ...

    def said(self, message: str) -> None: ...


class Trainer:
    """Trains the networks of one run folder.

    `validate` maps the networks to named values, of which "score" chooses the best checkpoint.
    `distance` maps a scored batch to its distance from the known best orders, or None.
    """

    def __init__(
        self,
        experiment: Experiment,
        networks: Networks,
        corpus: Corpus,
        codec: Codec,
        run: Path,
        *,
        validate: Callable[[Networks], Mapping[str, Any]],
        distance: Callable[[Scored], float | None],
        watcher: Watcher,
        world: World = World(),
    ):
        self.experiment, self.config = experiment, experiment.training
        self.world, self.device = world, world.own_device(self.config.device)
        self._check_split()
        if self.config.compile:
            for module in networks.modules():
                if isinstance(module, Block):
                    module.compile()
        self.networks = placed(networks, experiment, world)
        self.corpus, self.codec, self.run_folder = corpus, codec, run
        self.validate, self.distance, self.watcher = validate, distance, watcher
        self.progress = Progress()
        share = 1.0 if self.config.split == "batches" else 1 / world.size
        self.decoder_optimiser = Optimiser(
            networks.decoder, self.config.decoder_betas, self.config.clip, world, share
        )
        self.order_optimiser = Optimiser(
            networks.orders, self.config.order_betas, self.config.clip, world, share
        )
        seed = self.config.seed
        self.totals = [num_updates(corpus, phase, seed) for phase in self.config.phases]
        self._stopping: str | None = None
        self._saved = (-1, -1)  # step and phase of the newest checkpoint

    @property
    def total(self) -> int:
        """Updates of the whole run."""
        return sum(self.totals)

    def run(self) -> bool:
        """Train until the last phase ends or a signal comes; return whether all is done."""
        try:
            with self._log() as log, self._signals():
                while self.progress.phase < len(self.config.phases) and not self._is_stopped():
                    self._run_phase(log)
                if self._stopping:
                    self.watcher.said(f"{self._stopping}: saving")
                self._save()
                self.world.wait()
        except FloatingPointError as error:  # where an order is needed: before there is a loss
            raise TrainingError(
                f"after step {self.progress.step}: {error}; start a new run with lower learning "
                f"rates"
            ) from error
        return self.progress.phase == len(self.config.phases)

    @contextmanager
    def _log(self) -> Iterator[MetricsLog | None]:
        """Have the run folder for this run alone, then its log; the main process has them."""
        if not self.world.is_main:
            yield None
            return
        run, step = self.run_folder, self.progress.step
        with checkpoint.claimed(run), closing(MetricsLog(run, step)) as log:
            yield log

    @property
    def stopped_by(self) -> str | None:
        """The signal that ended the run early."""
        return self._stopping

    def _run_phase(self, log: MetricsLog | None) -> None:
        progress, phase = self.progress, self.config.phases[self.progress.phase]
        total = self.totals[progress.phase]
        update = self._start_phase(phase)
        batches = self._batches(phase)
        while progress.phase_step < total and not self._is_stopped():
            factor = rate_factor(phase, progress.phase_step, total)
            beta = entropy_weight(phase, progress.phase_step, total)
            rows = [next(batches) for _ in range(phase.accumulate)]
            num_examples = sum(map(len, rows))
            started, worked = time.monotonic(), time.process_time()
            updated = update(self._group(rows), num_examples, progress.phase_step, factor, beta)
            progress.seconds += time.monotonic() - started
            progress.cpu_seconds += time.process_time() - worked
            self._check(updated)
            progress.step += 1
            progress.phase_step += 1
            self._after(updated, beta, factor, log)
        if progress.phase_step == total:
            self._end_phase()

    def _start_phase(self, phase: Phase) -> Update:
        """Return what updates the networks in a phase, with its orders and what it shares."""
        if phase.fresh_decoder and self.progress.phase_step == 0:
            self._renew_decoder()
        orders: nn.Module = self.networks.orders
        if phase.order not in ("", self.experiment.order.kind):
            counts = word_counts(self.codec)
            decoder, order = self.networks.decoder, self.experiment.order
            made = make_orders(phase.order, order, counts, decoder, self.networks.region_size)
            orders = made.to(self.device)
        if isinstance(orders, OrderGenerator) and phase.share:
            orders.share(self.networks.decoder)
        return Update(
            self.experiment,
            phase,
            self.networks,
            orders,
            self.decoder_optimiser,
            self.order_optimiser,
            self.world,
        )

    def _renew_decoder(self) -> None:
        """Give the decoder new weights, the same ones whenever this phase of the run starts."""
        self._start_random_numbers(self.progress.phase, _WEIGHTS)
        fresh = self._new_networks().decoder.parameters()
        with torch.no_grad():
            for old, new in zip(self.networks.decoder.parameters(), fresh, strict=True):
                old.copy_(part(new, old))
        self.decoder_optimiser.forget()

    def _end_phase(self) -> None:
        """Separate what was shared and go to the start of the next phase."""
        if isinstance(self.networks.orders, OrderGenerator):
            self.networks.orders.separate()
        progress = self.progress
        progress.phase += 1
        progress.phase_step = progress.epoch = progress.position = 0
        progress.best = -math.inf  # what is best is found anew in each phase

    def _after(self, updated: Updated, beta: float, factor: float, log: MetricsLog | None) -> None:
        """Log, validate and checkpoint where it is time to; the main process has the log."""
        progress, config = self.progress, self.config
        is_last = progress.step == self.total
        if log is not None:
            self._count(updated)
            if progress.step % config.log_every == 0 or is_last:
                values = self._log_values(updated, beta, factor)
                log.write("train", progress.step, values)
                self.watcher.trained(progress, self.total, values)
                progress.window = {"since": progress.seconds}
        if progress.step % config.validate_every == 0 or is_last:
            self._validate(log)
        is_due = progress.step % config.checkpoint_every == 0 or self._is_snapshot(progress.step)
        if is_due and not is_last:
            self._save()

    def _count(self, updated: Updated) -> None:
        """Add an update to the sums since the last log line."""
        window = self.progress.window
        sums = {"loss": updated.loss, "reward": updated.reward, "tokens": updated.num_tokens}
        sums |= {"decoder_norm": updated.decoder_norm, "order_norm": updated.order_norm, "steps": 1}
        for name, value in sums.items():
            window[name] = window.get(name, 0.0) + value

    def _log_values(self, updated: Updated, beta: float, factor: float) -> dict[str, float | int]:
        window, scored = self.progress.window, updated.scored
        elapsed = max(self.progress.seconds - window.get("since", 0.0), 1e-9)
        means = {
            name: window[name] / window["steps"]
            for name in ("loss", "reward", "decoder_norm", "order_norm")
        }
        distance = self.distance(scored)
        return {
            "phase": self.progress.phase,
            **means,
            "entropy": entropy(scored.q, scored.orders, is_rough=True).mean().item(),
            **({} if distance is None else {"distance": distance}),
            "beta": beta,
            "rate_factor": factor,
            "tokens_per_second": window["tokens"] / elapsed,
            "milliseconds_per_step": 1e3 * elapsed / window["steps"],
            "seconds": self.progress.seconds,
        }

    def _validate(self, log: MetricsLog | None) -> None:
        """Validate in the main process; all processes save what is the best so far."""
        networks = undivided(self.networks, self._new_networks, self.world)
        score = -math.inf
        if log is not None and networks is not None:
            networks.to(self.device).eval()
            with seeded(self.config.seed, self.device), torch.no_grad():
                values = self.validate(networks)
            spent = {"cpu_seconds": self.progress.cpu_seconds}
            log.write("valid", self.progress.step, {**spent, **values})
            self.watcher.validated(self.progress, values)
            score = values["score"]
        del networks
        is_best = score > self.progress.best
        if self.world.total([float(is_best)], self.device)[0]:
            self.progress.best = max(score, self.progress.best)
            self._save("best")

    def _new_networks(self) -> Networks:
        return Networks.of(self.experiment, self.codec, self.networks.region_size)

    def _check(self, updated: Updated) -> None:
        values = (updated.loss, updated.decoder_norm, updated.order_norm)
        if not all(map(math.isfinite, values)):
            examples = self.corpus.origin[list(updated.rows)].tolist()
            raise TrainingError(
                f"step {self.progress.step + 1}: loss {values[0]:g}, gradient norms {values[1]:g} "
                f"and {values[2]:g}, on training examples {examples}; look at these examples, or "
                f"start a new run with lower learning rates"
            )

    def _group(self, rows: Sequence[np.ndarray]) -> Iterator[Batch]:
        """Yield this process's batches of an update.

        Random numbers start anew with every batch of every update, from the seed and these two
        numbers alone: what is drawn depends neither on the number of processes nor on stops.
        """
        splits_orders = self.config.split == "orders"
        for number, of_batch in enumerate(rows):
            if splits_orders or number % self.world.size == self.world.rank:
                self._start_random_numbers(self.progress.step, number)
                yield collate(self.corpus, of_batch).to(self.device)

    def _start_random_numbers(self, *place: int) -> None:
        """Let what is drawn next depend on the seed and a place in the run alone."""
        number = np.random.SeedSequence([self.config.seed, *place]).generate_state(1)[0]
        start_random_numbers(int(number), self.device)

    def _batches(self, phase: Phase) -> Iterator[np.ndarray]:
        """Yield the rows of batches from where the phase stands, epoch after epoch."""
        progress = self.progress
        while True:
            place = self.config.seed, progress.phase, progress.epoch
            rows = epoch_batches(self.corpus, phase, *place)
            while progress.position < len(rows):
                progress.position += 1
                yield rows[progress.position - 1]
            progress.epoch += 1
            progress.position = 0

    def _save(self, name: str = "last") -> None:
        """Write a checkpoint of this step, point to it, and remove the one that fell out of use."""
        folder = self.run_folder / "checkpoints" / f"step-{self.progress.step:08d}"
        place = self.progress.step, self.progress.phase
        if self._saved != place:
            self._write(folder)
            self._saved = place
        if not self.world.is_main:
            return
        checkpoint.point(self.run_folder, name, folder)
        kept = {checkpoint.pointed(self.run_folder, kind) for kind in ("last", "best")}
        for old in folder.parent.glob("step-*"):
            if old not in kept and not self._is_snapshot(int(old.name.removeprefix("step-"))):
                shutil.rmtree(old)

    def _write(self, folder: Path) -> None:
        """Write a checkpoint in the main process; the others send it their parts of tensors."""
        if not self.world.is_main:
            checkpoint.take_part(self.networks, self._state())
            return
        checkpoint.save(folder, self.experiment, self.codec, self.networks, self._state())

    def _is_snapshot(self, step: int) -> bool:
        """Is the checkpoint of a step kept for good?"""
        return self.config.keep_every > 0 and step % self.config.keep_every == 0

    def _state(self) -> checkpoint.TrainingState:
        tensors: dict[str, Tensor] = {}
        for name, optimiser in self._optimisers().items():
            tensors |= {f"{name}.{key}": tensor for key, tensor in optimiser.tensors().items()}
        return checkpoint.TrainingState(dataclasses.asdict(self.progress), tensors)

    def _optimisers(self) -> dict[str, Optimiser]:
        return {"decoder": self.decoder_optimiser, "order": self.order_optimiser}

    def restore(self, state: checkpoint.TrainingState) -> None:
        """Stand where a checkpoint of this run stood; the weights are loaded already."""
        self.progress = Progress(**state.values)
        for name, optimiser in self._optimisers().items():
            own = [key for key in state.tensors if key.startswith(f"{name}.")]
            optimiser.load({key.removeprefix(f"{name}."): state.tensors[key] for key in own})

    def _check_split(self) -> None:
        """Raise where the work of an update cannot be divided over the processes."""
        for phase in self.config.phases:
            name = "accumulate" if self.config.split == "batches" else "num_orders"
            count = getattr(phase, name)
            if count % self.world.size:
                raise ConfigError(
                    f"{self.world.size} processes divide the {name} of an update: set "
                    f"training.{name} to a multiple of {self.world.size}, got {count} in phase "
                    f"{phase.name!r}"
                )

    def _is_stopped(self) -> bool:
        """Has a signal come, to this process or to another one?"""
        came = self.world.total([float(self._stopping is not None)], self.device)[0] > 0
        self._stopping = self._stopping or ("SIGTERM" if came else None)
        return came

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM end the run after the current step."""

        def stop(number: int, frame: FrameType | None) -> None:
            self._stopping = signal.Signals(number).name  # told later: a line may be half printed

        old = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
