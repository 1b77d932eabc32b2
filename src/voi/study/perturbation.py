"""Which parts of a source decide the order: remove one at a time and infer the order again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from voi.analysis import kendall_tau, normalized_levenshtein, order_rank_correlation
from voi.analysis.distances import compared
from voi.batch import Batch
from voi.data import Regions, Source
from voi.errors import DataError
from voi.model import Model
from voi.orders import search_orders
from voi.study.frozen import frozen_batch
from voi.tokens import PAD

ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class Removal:
    """What the removal of one part of the source does to the order of the frozen target."""

    part: int  # index of the source token or region
    name: str  # the token, or what the region shows
    nld: float  # between the order without the part and the order with it
    orc: float
    tau: float
    order: tuple[int, ...]  # without the part


@dataclass(frozen=True)
class Perturbation:
    """A target, its inferred order, and the removals, the one with the largest effect first."""

    tokens: tuple[str, ...]
    order: tuple[int, ...]  # with the whole source
    removals: tuple[Removal, ...]
    compared: Literal["orders", "ranks"]  # what the distances are taken of


@torch.no_grad()
def perturb(
    model: Model,
    source: Source,
    target: str | Sequence[str],
    *,
    beam: int = 0,
    compare: Literal["orders", "ranks"] = "orders",
) -> Perturbation:
    """Return how the most likely order of a frozen target changes with each part of the source.

    The order is the generator's or, with `beam`, searched under the decoder, as in the authors'
    program; the paper says that the model infers it, and not how. That program compares ranks.

    Parts are the model's source tokens, or regions; the target is a text, or tokens that stay as
    they are. Equal effects are in the order of the source.
    """
    names = source_parts(model, source)
    if not names:
        raise DataError("expected a source with tokens or regions, got none: nothing to remove")
    tokens = model.codec.tokenizer.target_tokens(target) if isinstance(target, str) else target
    batch = frozen_batch(model.codec, source, tokens).to(model.device)
    whole, *changed = _orders(model, batch, len(names), beam)
    removals = [
        _removal(i, name, order, whole, compare)
        for i, (name, order) in enumerate(zip(names, changed, strict=True))
    ]
    removals.sort(key=lambda removal: -removal.nld)
    return Perturbation(tuple(tokens), whole, tuple(removals), compare)


def _removal(
    part: int, name: str, order: tuple[int, ...], whole: tuple[int, ...], compare: str
) -> Removal:
    """Return the removal of one part: the order without it, compared with that of the whole."""
    pair = compared(order, compare), compared(whole, compare)
    return Removal(
        part=part,
        name=name,
        nld=float(normalized_levenshtein(*pair)),
        orc=float(order_rank_correlation(*pair)),
        tau=float(kendall_tau(*pair)),
        order=order,
    )


def source_parts(model: Model, source: Source) -> list[str]:
    """Return the names of what can be removed from a source; of none there is nothing."""
    if isinstance(source, Regions):
        return [label or "region" for label in source.labels or [""] * len(source.boxes)]
    return [] if source is None else model.codec.tokenizer.source_tokens(source)


def _orders(model: Model, batch: Batch, num_parts: int, beam: int) -> Iterator[tuple[int, ...]]:
    """Yield the order of the target with the whole source, then without each of its parts."""
    for kept in _kept(num_parts).to(model.device).split(ROWS_AT_ONCE):
        changed = _with_parts(batch, kept)
        decoder = model.networks.decoder
        if beam:
            orders = search_orders(decoder, changed, beam=beam).orders[:, 0]
        else:
            orders = model.networks.orders(changed, decoder.encode(changed)).mode
        yield from (tuple(order) for order in orders.tolist())


def _kept(num_parts: int) -> Int[Tensor, "rows {num_parts}"]:
    """Return for each row which parts stay: all, then all but the first, and so on; -1 is none.

    >>> _kept(2).tolist()
    [[0, 1], [1, -1], [0, -1]]
    """
    rows = [list(range(num_parts))]
    for i in range(num_parts):
        rows.append([j for j in range(num_parts) if j != i] + [-1])
    return torch.tensor(rows, dtype=torch.long).reshape(1 + num_parts, num_parts)


def _with_parts(batch: Batch, kept: Int[Tensor, "rows m"]) -> Batch:
    """Return a batch that repeats one example, each row with some parts of its source."""
    is_kept, places = kept >= 0, kept.clamp(min=0)
    made = batch.select(kept.new_zeros(len(kept)))
    sources: dict[str, Tensor] = {"source_lengths": is_kept.sum(1)}
    if batch.source is not None:
        sources["source"] = batch.source[0][places].masked_fill(~is_kept, PAD)
    if batch.features is not None and batch.boxes is not None:
        for name, part in (("features", batch.features), ("boxes", batch.boxes)):
            sources[name] = part[0][places] * is_kept.unsqueeze(-1)
    return replace(made, **sources)
