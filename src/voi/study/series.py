"""Series: the orders of one model, or of one trace file, for a list of examples."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from voi.analysis import Trace, read_traces
from voi.errors import DataError
from voi.plots.stepper import RegionView


@dataclass(frozen=True)
class Series:
    """Traces of one kind, one per example."""

    run: str  # name of the model or file
    orders: str  # "learned" by the generator, "generated" by the decoder, or "mixed"
    traces: Sequence[Trace]
    counts: Mapping[str, int] | None = None  # of target tokens in the training set, if known
    has_sentences: bool = True  # only of sentences are parts of speech looked for
    views: Sequence[RegionView | None] = ()  # of the first examples whose sources are images
    language: str | None = None  # of the targets, as in "en", if known

    @property
    def name(self) -> str:
        return f"{self.run}, {self.orders}"

    @property
    def row_names(self) -> set[str]:
        """The names that its rows have in tables: its own, and that of its samples."""
        has_samples = any(trace.samples for trace in self.traces)
        return {self.name, f"{self.run}, sampled"} if has_samples else {self.name}


def file_series(path: str | os.PathLike[str], counts: Mapping[str, int] | None = None) -> Series:
    """Return the traces of a file as one series, named after the file."""
    traces = read_traces(path)
    if not traces:
        raise DataError(f"expected at least one trace in {os.fspath(path)}, got none")
    kinds = {trace.kind for trace in traces}
    names = {frozenset({"inferred"}): "learned", frozenset({"generated"}): "generated"}
    return Series(Path(path).stem, names.get(frozenset(kinds), "mixed"), traces, counts)


def aligned(all_series: Sequence[Series]) -> tuple[Series, ...]:
    """Return the series, checked to be of the same examples, each with a name of its own."""
    if not all_series:
        raise DataError("expected at least one run or trace file, got none: name one")
    first = all_series[0]
    for other in all_series[1:]:
        if len(other.traces) != len(first.traces):
            raise DataError(
                f"expected as many examples in every series, got {len(first.traces)} in "
                f"{first.name} and {len(other.traces)} in {other.name}: they stand side by side"
            )
        for number, (a, b) in enumerate(zip(first.traces, other.traces, strict=True)):
            if None not in (a.source, b.source) and a.source != b.source:
                raise DataError(
                    f"expected the same sources in every series, got {a.source!r} in {first.name} "
                    f"and {b.source!r} in {other.name} as example {number}: study them apart"
                )
    return _with_different_names(all_series)


def _with_different_names(all_series: Sequence[Series]) -> tuple[Series, ...]:
    """Return the series with a number behind each run whose rows would have a name of others."""
    taken: set[str] = set()
    named = []
    for series in all_series:
        numbered = (replace(series, run=f"{series.run} ({again})") for again in count(2))
        own = next(each for each in chain([series], numbered) if not taken & each.row_names)
        taken |= own.row_names
        named.append(own)
    return tuple(named)


def read_counts(path: Path) -> Mapping[str, int]:
    """Return token frequencies from a JSON object of whole numbers."""
    expected = f'expected a JSON object like {{"the": 120, "bus": 3}} in {path}'
    try:
        counts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{expected}, got: {error}") from error
    if not isinstance(counts, dict) or not all(type(n) is int for n in counts.values()):
        raise DataError(f"{expected}, got other values: give one whole number per token")
    return counts
