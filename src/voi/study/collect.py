"""A model and examples -> the orders its generator infers and the orders its decoder writes in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from voi.analysis import Trace, slots_of
from voi.batch import collate, make_batches
from voi.data import Example, Regions, Source, Task
from voi.data.example import source_text
from voi.data.tasks import best_orders, chosen_split, target_kind
from voi.devices import seeded
from voi.model import Model
from voi.plots.stepper import RegionView
from voi.progress import Told, untold
from voi.search import Hypothesis
from voi.study.pictures import Pictures, region_views
from voi.study.series import Series
from voi.tokens import Codec, Corpus, build_corpus
from voi.tokens.limits import ANY_LENGTH

MOST_VIEWS = 50  # images in the gallery
EXAMPLES_AT_ONCE = 32

Order = tuple[int, ...]
KnownOrders = Callable[[Example], Sequence[Order]]


def no_orders(example: Example) -> tuple[Order, ...]:
    """Return no orders: the `known_orders` of a task that knows none."""
    return ()


def examples_of(
    task: Task, split: str, limit: int = 0, model: Model | None = None
) -> list[Example]:
    """Return the first `limit` examples of a split, or all of them.

    Of the captions of one image the first is taken: examples are what intervals resample, and
    captions of one image hang together. With the model of the task a DataWarning says where the
    data has changed since training.
    """
    examples = chosen_split(task, split) if model is None else model.chosen_split(task, split)
    found: list[Example] = []
    images: set[Source] = set()
    for i in range(len(examples)):
        example = examples[i]
        if example.source not in images:
            found.append(example)
        if isinstance(example.source, Regions):
            images.add(example.source)
        if len(found) == limit:
            break
    return found


def has_sentences(task: str, pretokenizer: str) -> bool:
    """Return whether targets are sentences, neither symbols nor code.

    >>> has_sentences("sorting", "whitespace"), has_sentences("files", "code")
    (False, False)
    """
    return pretokenizer != "code" and target_kind(task) not in ("symbols", "code")


def token_counts(codec: Codec) -> dict[str, int]:
    """Return how often each word of the vocabulary stands in the training targets."""
    vocabulary = codec.vocabulary
    return {word: vocabulary.counts[number] for word, number in vocabulary.index.items()}


@torch.no_grad()
def learned_traces(
    model: Model,
    examples: Sequence[Example],
    *,
    known_orders: KnownOrders = no_orders,
    samples: int = 0,
    seed: int = 0,
    told: Told = untold,
) -> list[Trace]:
    """Return the most likely order of each target under q(z | x, y), and sampled ones.

    The scores are those of the decoder for the target in that order.
    """
    corpus, _ = build_corpus(examples, model.codec, ANY_LENGTH)
    found: dict[int, Trace] = {}
    with seeded(seed, model.device):
        for rows in make_batches(corpus.targets.lengths, corpus.source_lengths, EXAMPLES_AT_ONCE):
            for row, inferred in zip(
                rows.tolist(), _inferred(model, corpus, rows, samples), strict=True
            ):
                example = examples[row]
                found[row] = _learned_trace(model.codec, example, inferred, known_orders(example))
            told("learned orders", len(found), len(examples))
    return [found[row] for row in range(len(examples))]


@dataclass(frozen=True)
class _Inferred:
    """The orders the generator gives one target, and the decoder's scores for the likeliest."""

    order: Order
    samples: tuple[Order, ...]
    token_scores: tuple[float, ...]  # [n + 1]
    slot_scores: tuple[float, ...]  # [n]


def _inferred(
    model: Model, corpus: Corpus, rows: np.ndarray, num_samples: int
) -> Iterator[_Inferred]:
    """Yield the orders and scores of some rows of a corpus."""
    batch = collate(corpus, rows).to(model.device)
    source = model.networks.decoder.encode(batch)
    q = model.networks.orders(batch, source)
    mode = q.mode
    drawn = q.sample(torch.Size([num_samples])) if num_samples else mode.new_zeros(0, *mode.shape)
    terms = model.networks.decoder.step_log_probs(batch, mode.unsqueeze(0), source)
    for i, n in enumerate(batch.lengths.tolist()):
        yield _Inferred(
            order=tuple(mode[i, :n].tolist()),
            samples=tuple(tuple(order) for order in drawn[:, i, :n].tolist()),
            token_scores=tuple(terms.tokens[0, i, : n + 1].tolist()),
            slot_scores=tuple(terms.slots[0, i, :n].tolist()),
        )


def _learned_trace(
    codec: Codec, example: Example, inferred: _Inferred, known: Sequence[Order]
) -> Trace:
    return Trace(
        target=example.target,
        tokens=tuple(codec.tokenizer.target_tokens(example.target)),
        order=inferred.order,
        slots=slots_of(inferred.order),
        kind="inferred",
        source=source_text(example.source),
        score=sum(inferred.token_scores) + sum(inferred.slot_scores),
        token_scores=inferred.token_scores,
        slot_scores=inferred.slot_scores,
        reference=example.target,
        samples=inferred.samples or None,
        known_orders=best_orders(known, len(inferred.order)) or None,
    )


def generated_traces(
    model: Model,
    examples: Sequence[Example],
    *,
    known_orders: KnownOrders = no_orders,
    beam: int | None = None,
    told: Told = untold,
) -> list[Trace]:
    """Return the target the decoder writes for each source, in the order it writes it.

    The known best orders are those of the reference target, so only a target with the same tokens
    has them.
    """
    traces = []
    for start in range(0, len(examples), EXAMPLES_AT_ONCE):
        part = examples[start : start + EXAMPLES_AT_ONCE]
        written = model.generate([example.source for example in part], beam=beam)
        for example, (best, *_) in zip(part, written, strict=True):
            traces.append(_generated_trace(model.codec, example, best, known_orders))
        told("generated orders", len(traces), len(examples))
    return traces


def _generated_trace(
    codec: Codec, example: Example, best: Hypothesis, known_orders: KnownOrders
) -> Trace:
    is_reference = list(best.tokens) == codec.tokenizer.target_tokens(example.target)
    known = best_orders(known_orders(example), len(best.tokens)) if is_reference else ()
    trace = best.to_trace(source_text(example.source), example.target)
    return replace(trace, known_orders=known or None)


def run_series(
    name: str,
    model: Model,
    examples: Sequence[Example],
    *,
    known_orders: KnownOrders = no_orders,
    samples: int = 4,
    beam: int | None = None,
    seed: int = 0,
    pictures: Pictures | None = None,
    told: Told = untold,
) -> list[Series]:
    """Return what a model has learned of some examples, and how it writes targets itself.

    With `pictures` the first sources that are images are prepared for the gallery.
    """
    learned = learned_traces(
        model, examples, known_orders=known_orders, samples=samples, seed=seed, told=told
    )
    generated = generated_traces(model, examples, known_orders=known_orders, beam=beam, told=told)
    counts, task = token_counts(model.codec), model.experiment.data.task
    are_sentences = has_sentences(task, model.codec.config.pretokenizer)

    def series(orders: str, traces: list[Trace]) -> Series:
        views: list[RegionView | None] = []
        if pictures is not None:
            views = region_views(model, examples[:MOST_VIEWS], traces[:MOST_VIEWS], pictures)
        language = model.codec.config.target_language
        return Series(name, orders, traces, counts, are_sentences, views, language)

    return [series("learned", learned), series("generated", generated)]
