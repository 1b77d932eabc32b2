"""Which tokens are written early: the generation index by part of speech, word and frequency."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Float

from voi.analysis.bootstrap import bootstrap_ratio
from voi.analysis.distances import Orders, generation_ranks
from voi.analysis.traces import Trace

BAND_EDGES = (1, 10, 100, 1000, 10000)


@dataclass(frozen=True)
class GroupIndex:
    """The mean normalised generation index of a group of tokens, with its bootstrap interval."""

    group: str
    count: int  # tokens of the group
    num: int  # examples that hold at least one of them; the interval resamples these
    mean: float  # 0: written first
    low: float
    high: float
    l2r: float  # what left to right would give the same tokens


@dataclass(frozen=True)
class FirstToken:
    """How often a token is the first one written."""

    token: str
    count: int
    share: float  # of the examples with at least one token


@dataclass(frozen=True)
class TokenIndex:
    """When one token of a target is written."""

    position: int  # in the target, from 0
    token: str
    tag: str | None  # part of speech, where there is a tagger
    count: int | None  # in the training targets, where they are known
    step: int  # from 0
    index: float  # step / n


def normalized_generation_index(order: Orders) -> Float[np.ndarray, "... _"]:
    """Return when each final position is written, as a share of the length: rank[i] / n.

    Steps count from 0, so the values run from 0 to (n - 1) / n. Relative to the paper: the same;
    its program divides by n - 1 instead.

    >>> normalized_generation_index([3, 0, 1, 2])
    array([0.25, 0.5 , 0.75, 0.  ])
    """
    ranks = generation_ranks(order)
    return ranks / max(ranks.shape[-1], 1)


def token_indices(
    trace: Trace,
    *,
    tagger: Callable[[Sequence[str]], Sequence[str]] | None = None,
    counts: Mapping[str, int] | None = None,
) -> list[TokenIndex]:
    """Return when each token of a trace is written, in reading order."""
    tags = [None] * len(trace.tokens) if tagger is None else _tags(trace.tokens, tagger)
    known = [None if counts is None else counts.get(token, 0) for token in trace.tokens]
    ranks = generation_ranks(trace.order).tolist()
    return [
        TokenIndex(i, token, tag, count, rank, rank / len(ranks))
        for i, (token, tag, count, rank) in enumerate(
            zip(trace.tokens, tags, known, ranks, strict=True)
        )
    ]


def indices_by_tag(
    traces: Sequence[Trace],
    tagger: Callable[[Sequence[str]], Sequence[str]],
    *,
    rng: np.random.Generator,
    num_resamples: int = 1000,
) -> list[GroupIndex]:
    """Return the generation index of each part of speech, earliest first.

    `tagger` turns the tokens of a target into one tag each; the paper uses the universal tagset.
    """
    labels = [_tags(trace.tokens, tagger) for trace in traces]
    return _earliest_first(_grouped(traces, labels, rng, num_resamples))


def indices_by_word(
    traces: Sequence[Trace],
    *,
    rng: np.random.Generator,
    min_count: int = 1,
    num_resamples: int = 1000,
) -> list[GroupIndex]:
    """Return the generation index of each token that occurs `min_count` times, earliest first."""
    total = Counter(token for trace in traces for token in trace.tokens)
    labels = [
        [token if total[token] >= min_count else None for token in trace.tokens] for trace in traces
    ]
    return _earliest_first(_grouped(traces, labels, rng, num_resamples))


def indices_by_band(
    traces: Sequence[Trace],
    counts: Mapping[str, int],
    *,
    rng: np.random.Generator,
    edges: Sequence[int] = BAND_EDGES,
    num_resamples: int = 1000,
) -> list[GroupIndex]:
    """Return the generation index of each band of training-set frequency, rarest band first."""
    if not edges or list(edges) != sorted(set(edges)) or edges[0] < 1:
        raise ValueError(
            f"edges must be whole numbers from 1 upwards, each larger than the one before, got "
            f"{list(edges)}: the default is {list(BAND_EDGES)}"
        )
    labels = [
        [frequency_band(counts.get(token, 0), edges) for token in trace.tokens] for trace in traces
    ]
    names = [frequency_band(count, edges) for count in (0, *edges)]
    groups = _grouped(traces, labels, rng, num_resamples)
    return sorted(groups, key=lambda group: names.index(group.group))


def frequency_band(count: int, edges: Sequence[int] = BAND_EDGES) -> str:
    """Return the name of the band a count falls in; a band holds its lower edge.

    >>> [frequency_band(count) for count in (0, 9, 10, 50000)]
    ['0', '1-9', '10-99', '10000+']
    """
    bounds = (0, *edges)
    band = bisect_right(bounds, count)
    if band == len(bounds):
        return f"{bounds[-1]}+"
    low, high = bounds[band - 1], bounds[band] - 1
    return f"{low}-{high}" if low < high else f"{low}"


def first_tokens(traces: Sequence[Trace]) -> list[FirstToken]:
    """Return how often each token is written first, most frequent first, then alphabetically."""
    found = Counter(trace.tokens[trace.order[0]] for trace in traces if trace.tokens)
    total = found.total()
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [FirstToken(token, count, count / total) for token, count in ranked]


def _tags(tokens: Sequence[str], tagger: Callable[[Sequence[str]], Sequence[str]]) -> Sequence[str]:
    tags = tagger(tokens)
    if len(tags) != len(tokens):
        raise ValueError(
            f"the tagger must return one tag for each token, got {len(tags)} for {len(tokens)} "
            f"tokens ({' '.join(tokens)!r}): use a tagger that does not split tokens"
        )
    return tags


def _grouped(
    traces: Sequence[Trace],
    labels: Sequence[Sequence[str | None]],
    rng: np.random.Generator,
    num_resamples: int,
) -> list[GroupIndex]:
    """Return one GroupIndex per label; a token labelled None is left out."""
    indices: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    l2r: dict[str, float] = defaultdict(float)
    for example, (trace, names) in enumerate(zip(traces, labels, strict=True)):
        index = normalized_generation_index(trace.order)
        for i, name in enumerate(names):
            if name is not None:
                indices[name][example].append(float(index[i]))
                l2r[name] += i / len(names)
    return [
        _group_index(name, list(parts.values()), l2r[name], rng, num_resamples)
        for name, parts in sorted(indices.items())
    ]


def _group_index(
    name: str,
    parts: Sequence[Sequence[float]],
    l2r_total: float,
    rng: np.random.Generator,
    num_resamples: int,
) -> GroupIndex:
    """Return the row of one group from the indices of its tokens, listed by example."""
    sizes = [len(values) for values in parts]
    interval = bootstrap_ratio(
        [sum(values) for values in parts], sizes, rng=rng, num_resamples=num_resamples
    )
    count = sum(sizes)
    return GroupIndex(group=name, count=count, l2r=l2r_total / count, **asdict(interval))


def _earliest_first(groups: Sequence[GroupIndex]) -> list[GroupIndex]:
    return sorted(groups, key=lambda group: (group.mean, group.group))
