"""How likely a model finds the targets of a split: log p(y | x), exactly where it can be."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from voi.data import Example
from voi.devices import seeded
from voi.errors import DataError
from voi.evaluation.journal import Journal
from voi.model import Model
from voi.progress import Told, untold

BOUND = "log_p_bound"
_KEPT_AT_ONCE = 16


@dataclass(frozen=True)
class TargetLikelihood:
    """What is known of log p(y | x) of one target, in nats (docs/math.md, "bound")."""

    num_tokens: int  # END counted
    elbo: float
    bound: float  # importance-weighted
    standard_error: float | None  # of the bound; None for a single sample
    exact: float | None  # where the target is short or has one order only


def write_likelihoods(
    model: Model,
    examples: Sequence[Example],
    count: int,
    path: Path,
    num_samples: int,
    about: Mapping[str, Any],
    notes: Mapping[str, Any],
    told: Told = untold,
) -> tuple[TargetLikelihood, ...]:
    """Return the likelihoods of the first `count` examples, kept in a file while they are found.

    What is in the file already is checked and not redone. The orders of every example are drawn
    with a seed of its own, so that no result depends on the others.
    """
    journal = Journal(path, {**about, "likelihood_samples": num_samples}, notes)
    journal.check(_pair(examples[index]) for index in range(count))
    told("likelihood", min(journal.num_records, count), count)
    waiting = []
    for index in range(journal.num_records, count):
        example = examples[index]
        found = likelihood_of(model, example, num_samples, seed=index)
        waiting.append({**_pair(example), **vars(found)})
        if len(waiting) == _KEPT_AT_ONCE or index + 1 == count:
            journal.append(waiting)
            waiting = []
            told("likelihood", index + 1, count)
    return tuple(_read(record, path) for record in islice(journal.records(), count))


def likelihood_of(model: Model, example: Example, num_samples: int, seed: int) -> TargetLikelihood:
    """Return the likelihood of one target, the same for the same seed."""
    with seeded(seed, model.device):
        found = model.log_likelihood(example.source, example.target, num_samples)
    num_tokens = len(model.codec.encode_target(example.target, example.source)) + 1
    error = None if math.isnan(found.standard_error) else found.standard_error
    return TargetLikelihood(num_tokens, found.elbo, found.bound, error, found.exact)


def _pair(example: Example) -> dict[str, Any]:
    """Return the values by which a stored line is recognised as this example's."""
    source = example.source if isinstance(example.source, str) else None
    return {"source": source, "target": example.target}


def _read(record: Mapping[str, Any], path: Path) -> TargetLikelihood:
    try:
        values = {key: record[key] for key in record.keys() - {"source", "target"}}
        return TargetLikelihood(**values)
    except TypeError as error:
        raise DataError(f"{path} was made by another version ({error}): remove it") from error


@dataclass(frozen=True)
class PerToken:
    """A likelihood of a whole split in nats per token: sum of values / sum of tokens."""

    name: str
    signature: str
    values: tuple[float, ...]  # nats, one per target
    num_tokens: tuple[int, ...]  # END counted
    standard_error: float | None = None  # by the orders drawn, not by the choice of targets
    skipped: str | None = None

    @property
    def value(self) -> float | None:
        return sum(self.values) / sum(self.num_tokens) if self.values else None


def per_token(
    found: Sequence[TargetLikelihood], num_samples: int, signature: str
) -> tuple[PerToken, ...]:
    """Return ELBO, bound and exact value; the bound again on those targets with an exact value."""
    short = [one for one in found if one.exact is not None]
    sampled = f"samples:{num_samples}|{signature}"
    rows = [_elbo(found, sampled), _bound(BOUND, found, sampled)]
    if short and len(short) < len(found):
        name = f"{BOUND} (short targets)"
        rows.append(_bound(name, short, f"{sampled}|targets with an exact value"))
    return (*rows, _exact_row(short, len(found), signature))


def _elbo(found: Sequence[TargetLikelihood], signature: str) -> PerToken:
    values, tokens = tuple(one.elbo for one in found), tuple(one.num_tokens for one in found)
    return PerToken("elbo", f"elbo|voi|nats per token, END counted|{signature}", values, tokens)


def _bound(name: str, found: Sequence[TargetLikelihood], signature: str) -> PerToken:
    tokens = tuple(one.num_tokens for one in found)
    errors = [one.standard_error for one in found if one.standard_error is not None]
    error = math.hypot(*errors) / sum(tokens) if len(errors) == len(found) else None
    return PerToken(
        name,
        f"{name}|voi|importance-weighted, nats per token, END counted|{signature}",
        tuple(one.bound for one in found),
        tokens,
        error,
    )


def _exact_row(short: Sequence[TargetLikelihood], num_targets: int, signature: str) -> PerToken:
    name = "log_p_exact" if len(short) == num_targets else "log_p_exact (short targets)"
    return PerToken(
        name,
        f"{name}|voi|all orders summed, nats per token, END counted|{signature}",
        tuple(one.exact for one in short if one.exact is not None),
        tuple(one.num_tokens for one in short),
        skipped=None if short else "no target is short enough to sum over all its orders",
    )
