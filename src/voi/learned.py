"""What a run has learned: how good it is on its last split, and a few targets with their orders."""

from collections.abc import Sequence
from dataclasses import dataclass

from voi.data import Example, Source, Task
from voi.data.example import first
from voi.data.tasks import best_orders, split_names
from voi.devices import seeded
from voi.model import Model
from voi.search import Hypothesis
from voi.tokens import build_corpus
from voi.tokens.limits import ANY_LENGTH
from voi.validation import Judge, Validation, validate

NUM_ORDERS = 4  # drawn of each target for the ELBO
SHOWN_EXAMPLES = 3


@dataclass(frozen=True)
class Shown:
    """An example, the order learned for its target, and what the model writes."""

    example: Example
    order: tuple[int, ...]  # the likeliest under q(z | x, y)
    best_orders: tuple[tuple[int, ...], ...]  # that the task knows; empty: none
    written: Hypothesis


@dataclass(frozen=True)
class Learned:
    """What is told of a model when its training ends."""

    split: str
    num_targets: int
    validation: Validation  # on that split
    shown: tuple[Shown, ...]


def learned(model: Model) -> Learned:
    """Return what a model has learned, on the last split its task has; draws come from its seed."""
    experiment, task = model.experiment, model.task()
    split = split_names(task)[-1]
    examples = first(task.split(split), experiment.training.valid_examples)
    corpus, _ = build_corpus(examples, model.codec, ANY_LENGTH)
    with seeded(experiment.training.seed, model.device):
        found = validate(
            model.networks,
            Judge(task, model.codec, examples, corpus),
            num_orders=NUM_ORDERS,
            max_length=experiment.search.max_length,
        )
    chosen = _by_source(examples)[:SHOWN_EXAMPLES]
    return Learned(split, len(corpus), found, _shown(model, task, chosen))


def _shown(model: Model, task: Task, examples: Sequence[Example]) -> tuple[Shown, ...]:
    written = model.generate([example.source for example in examples])
    shown = []
    for example, (best, *_) in zip(examples, written, strict=True):
        order = model.infer_order(example.source, example.target)
        known = best_orders(task.known_orders(example), len(order))
        shown.append(Shown(example, order, known, best))
    return tuple(shown)


def _by_source(examples: Sequence[Example]) -> list[Example]:
    """Return the first example of every source, as an image has several captions."""
    found: dict[Source, Example] = {}
    for example in examples:
        found.setdefault(example.source, example)
    return list(examples) if None in found else list(found.values())
