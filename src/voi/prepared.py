"""What an experiment trains on: its task, its codec, and the splits in ids."""

import atexit
import dataclasses
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from voi.config import Experiment, TrainingConfig
from voi.data import Task
from voi.data.example import first
from voi.data.tasks import examples_of, located, make_task
from voi.devices import check_device
from voi.errors import DataError
from voi.networks import Networks
from voi.tokens import Codec, Corpus, CorpusReport, build_codec, build_corpus
from voi.tokens.vocabulary import NO_TARGET_WORDS
from voi.training.epochs import num_updates
from voi.validation import Judge


@dataclass(frozen=True)
class Prepared:
    """Everything an experiment trains on, in ids."""

    experiment: Experiment  # search.max_length, warm-ups and paths resolved
    task: Task
    codec: Codec
    train: Corpus
    valid: Corpus
    reports: Mapping[str, CorpusReport]  # by split

    @property
    def region_size(self) -> int:
        """Width of region features; 0 where sources are text or nothing."""
        return 0 if self.train.features is None else self.train.features.values.shape[1]

    @property
    def has_copies(self) -> bool:
        """Whether a training target has a word that is copied from its source."""
        copies = self.codec.vocabulary.copies
        ids = self.train.targets.values
        return bool(((ids >= copies.start) & (ids < copies.stop)).any())

    def networks(self) -> Networks:
        """Return freshly initialised networks, the same for the same seed."""
        torch.manual_seed(self.experiment.training.seed)
        return Networks.of(self.experiment, self.codec, self.region_size)

    def phase_steps(self) -> tuple[int, ...]:
        """Return the updates of every phase."""
        training = self.experiment.training
        return tuple(num_updates(self.train, phase, training.seed) for phase in training.phases)

    def judge(self, split: Literal["train", "valid"]) -> Judge:
        """Return what the task says of a split's corpus."""
        corpus = self.train if split == "train" else self.valid
        return Judge(self.task, self.codec, self.task.split(split), corpus)


def prepare(experiment: Experiment, codec: Codec | None = None) -> Prepared:
    """Return the data of an experiment; without a codec one is built from the training split."""
    check_device(experiment.training.device)
    task = make_task(experiment.data.task, experiment.data.options)
    examples = examples_of(task, "train")
    codec = codec or build_codec(experiment.data.tokens, examples)
    train, train_report = build_corpus(
        examples, codec, experiment.data, _cache(experiment, "train")
    )
    if train_report.unknown_targets and not codec.vocabulary.num_target_words:
        raise DataError(NO_TARGET_WORDS)
    valid_examples = first(examples_of(task, "valid"), experiment.training.valid_examples)
    cache = _cache(experiment, "valid")
    valid, valid_report = build_corpus(valid_examples, codec, experiment.data, cache)
    reports = {"train": train_report, "valid": valid_report}
    return Prepared(_resolved(experiment, task, codec, train), task, codec, train, valid, reports)


def _resolved(experiment: Experiment, task: Task, codec: Codec, train: Corpus) -> Experiment:
    """Return the experiment as a run stores it: what the data says, and where the data is."""
    data, search = experiment.data, experiment.search
    tokens = {**data.tokens, "tags": codec.config.tags} if codec.config.tags else data.tokens
    cache = str(Path(data.cache).absolute()) if data.cache else ""
    options = located(task, data.options)
    data = dataclasses.replace(data, options=options, tokens=tokens, cache=cache)
    if not search.max_length:
        search = dataclasses.replace(search, max_length=int(train.targets.lengths.max()))
    training = _with_short_warmups(experiment.training, train)
    return dataclasses.replace(experiment, data=data, search=search, training=training)


def _with_short_warmups(training: TrainingConfig, train: Corpus) -> TrainingConfig:
    """Return phases of which none warms up for more than its share, whatever its length."""
    phases = []
    for phase in training.phases:
        most = round(phase.warmup_share * num_updates(train, phase, training.seed))
        warmup = min(phase.warmup, max(1, most)) if phase.warmup_share else phase.warmup
        phases.append(dataclasses.replace(phase, warmup=warmup))
    return dataclasses.replace(training, phases=tuple(phases))


def _cache(experiment: Experiment, split: str) -> Path | None:
    """Return a folder of this process for the arrays of a split; it goes when the process ends."""
    if not experiment.data.cache:
        return None
    try:
        parent = Path(experiment.data.cache)
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{split}-", dir=parent))
    except OSError as error:
        raise DataError(
            f"cannot write to data.cache={experiment.data.cache}: {error.strerror or error}; name "
            f"another folder"
        ) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
