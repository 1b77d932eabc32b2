"""A model and a split -> a scored system, everything on the way kept in one folder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from voi.config import SearchConfig
from voi.data import Example, Regions, Task
from voi.data.example import Picked, first, rows_by_image
from voi.data.tasks import accepts_more, is_right
from voi.evaluation import identity
from voi.evaluation.comparison import System
from voi.evaluation.conventions import METRICS_OF, Conventions, kind_of
from voi.evaluation.journal import read_about
from voi.evaluation.likelihoods import PerToken, per_token, write_likelihoods
from voi.evaluation.outputs import Outputs, items_of, write_outputs
from voi.evaluation.scores import check_metrics, default_metrics, score_outputs
from voi.evaluation.stored import read_outputs
from voi.model import Model
from voi.progress import Told, untold
from voi.tables import require
from voi.version import version

HYPOTHESES = "hypotheses.jsonl"


@dataclass(frozen=True)
class Settings:
    """What is evaluated, and how."""

    split: str = "test"
    beam: int | None = None  # None: as the run was set up
    length_penalty: float | None = None  # None: as the run was set up
    limit: int = 0  # examples, or images; 0: all
    metrics: tuple[str, ...] | None = None  # None: those of the task
    likelihood_samples: int = 64  # orders drawn per target; 0: no likelihoods
    likelihood_limit: int = 0  # examples; 0: as many as `limit` says

    def __post_init__(self) -> None:
        least = {"limit": 0, "likelihood_samples": 0, "likelihood_limit": 0, "beam": 1}
        for name, lowest in least.items():
            value, option = getattr(self, name), name.replace("_", "-")
            is_fine = value is None or value >= lowest
            require(is_fine, f"--{option} must be at least {lowest}, got {value}")
        if self.length_penalty is not None:
            SearchConfig(length_penalty=self.length_penalty)  # raises what is out of range
        check_metrics(self.metrics or ())

    def decoding(self, model: Model) -> SearchConfig:
        """Return how a model is to search: these settings and, for the rest, those of its run."""
        own = model.experiment.search
        beam = own.beam if self.beam is None else self.beam
        penalty = own.length_penalty if self.length_penalty is None else self.length_penalty
        return replace(own, beam=beam, length_penalty=penalty)

    def with_likelihoods(self, examples: Sequence[Example]) -> Sequence[Example]:
        """Return the examples of a split that get a likelihood, from the first on.

        Of images a limit takes all captions of the first ones, as scores do; those of one image
        stand together.
        """
        limit = self.limit or len(examples)
        if isinstance(examples[0].source, Regions):
            images = rows_by_image(examples)[:limit]
            chosen = Picked(examples, [row for rows in images for row in rows])
        else:
            chosen = first(examples, limit)
        return first(chosen, self.likelihood_limit) if self.likelihood_limit else chosen

    def folder_name(self, model: Model) -> str:
        """Return the name of the folder of results within a run: split, beam, unusual penalty."""
        search, own = self.decoding(model), model.experiment.search
        is_usual = search.length_penalty == own.length_penalty
        ending = "" if is_usual else f"-penalty{search.length_penalty:g}"
        return f"{self.split}-beam{search.beam}{ending}"

    def table_name(self, kind: str) -> str:
        """Return the name of a table's files; other examples, likelihoods, metrics have their own.

        >>> Settings().table_name("scores"), Settings(limit=3).table_name("scores")
        ('scores', 'scores-limit3')
        """
        usual = Settings()
        parts = {
            "limit": (self.limit, usual.limit),
            "likelihood-samples": (self.likelihood_samples, usual.likelihood_samples),
            "likelihood-limit": (self.likelihood_limit, usual.likelihood_limit),
        }
        named = [f"{name}{own}" for name, (own, other) in parts.items() if own != other]
        return "-".join([kind, *named, *(self.metrics or ())])


def evaluate(
    model: Model,
    name: str,
    folder: Path,
    settings: Settings = Settings(),
    told: Told = untold,
) -> System:
    """Decode a split, score what was written, and measure how likely the targets are.

    What is in the folder already, from an evaluation with the same settings, is not redone.
    """
    task = model.task()
    examples = model.chosen_split(task, settings.split)
    job = _Job(model, examples, folder, settings, told)
    outputs = job.outputs(name)
    if outputs is None:
        return System(name, None, (), job.likelihoods())
    outputs = with_accepted(outputs, task, examples)
    told("scoring", 0, 1)
    chosen = default_metrics(outputs) if settings.metrics is None else settings.metrics
    scores = score_outputs(outputs, chosen)
    told("scoring", 1, 1)
    return System(name, outputs, scores, job.likelihoods())


def with_accepted(outputs: Outputs, task: Task, examples: Sequence[Example]) -> Outputs:
    """Return outputs in which a hypothesis that the task accepts counts as a reference.

    A task says it by a method `is_right(example, text)`; without one nothing changes.
    """
    if not accepts_more(task):
        return outputs
    rows = zip(outputs.hypotheses, outputs.references, examples, strict=False)  # of a limit
    accepted = (
        (*own, text) if is_right(task, example, text) else own for text, own, example in rows
    )
    return replace(outputs, accepted=tuple(accepted))


@dataclass(frozen=True)
class _Job:
    """One model on one split."""

    model: Model
    examples: Sequence[Example]
    folder: Path
    settings: Settings
    told: Told

    @cached_property
    def about(self) -> dict[str, Any]:
        """What must match for stored results to be continued."""
        return {
            "task": self.model.experiment.data.task,
            "split": self.settings.split,
            "checkpoint": identity.weights_digest(self.model),
            "voi": version(),
        }

    def outputs(self, name: str) -> Outputs | None:
        """Return what the model writes; None where no metric asks for it."""
        task, codec = self.model.experiment.data.task, self.model.codec
        kind = kind_of(task, codec.config, self.examples[0].source)
        if not (METRICS_OF[kind] if self.settings.metrics is None else self.settings.metrics):
            return None
        conventions = Conventions(codec, kind)
        about = {**self.about, "text": conventions.text, "metrics": list(METRICS_OF[kind])}
        items = items_of(self.examples, conventions, self.settings.limit)
        path, decoding = self.folder / HYPOTHESES, self.settings.decoding(self.model)
        write_outputs(
            self.model, items, len(items), path, decoding, about, identity.notes(), self.told
        )
        return read_outputs(path, name, limit=len(items))

    def likelihoods(self) -> tuple[PerToken, ...]:
        """Return ELBO, bound and exact value of the targets."""
        samples = self.settings.likelihood_samples
        if not samples:
            return ()
        chosen = self.settings.with_likelihoods(self.examples)
        path = self.folder / f"likelihoods-{samples}.jsonl"
        found = write_likelihoods(
            self.model, chosen, len(chosen), path, samples, self.about, identity.notes(), self.told
        )
        order = f"order:{self.model.experiment.order.kind}"
        return per_token(found, samples, f"{order}|{identity.signature(read_about(path))}")
