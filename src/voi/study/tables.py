"""Series -> tables: every statistic of voi.analysis, for each series, with what was left out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from typing import Any, Literal

import numpy as np

from voi.analysis import (
    Agreement,
    AgreementSummary,
    Between,
    Comparison,
    Contiguity,
    ContiguitySummary,
    FirstToken,
    GroupIndex,
    Summary,
    TokenIndex,
    agreement,
    agreement_summaries,
    between_summaries,
    comparisons,
    contiguity,
    contiguity_summaries,
    first_tokens,
    indices_by_band,
    indices_by_tag,
    indices_by_word,
    sampled_comparisons,
    summaries,
    summaries_by_length,
    token_indices,
)
from voi.pos import Tagger
from voi.study.series import Series, aligned
from voi.tokens.tagging import tagging_words

MIN_WORD_COUNT = 5  # a rarer word has no row of its own

Record = (
    Agreement
    | AgreementSummary
    | Between
    | Comparison
    | Contiguity
    | ContiguitySummary
    | FirstToken
    | GroupIndex
    | Summary
    | TokenIndex
)


@dataclass(frozen=True)
class Row:
    """One line of a table: the series it belongs to, and a record of what was measured."""

    run: str
    orders: str  # "learned", "sampled", "generated" or "mixed"
    record: Record
    other: str = ""  # the second series, in a comparison of two
    example: int | None = None  # index of the example, in a table of single ones
    compared: str = ""  # "orders" or "ranks", in a table of distances to other orders

    @property
    def series(self) -> str:
        return f"{self.run}, {self.orders}"

    @property
    def values(self) -> dict[str, Any]:
        """All of it as plain values, ready for CSV or JSON."""
        places: dict[str, Any] = {"run": self.run, "orders": self.orders}
        places |= {"other": self.other} if self.other else {}
        places |= {} if self.example is None else {"example": self.example}
        places |= {"compared": self.compared} if self.compared else {}
        return places | asdict(self.record)


@dataclass(frozen=True)
class Study:
    """What was measured of which traces, and what could not be measured."""

    series: tuple[Series, ...]
    tables: Mapping[str, list[Row]]  # by name; empty ones are there too
    skipped: tuple[str, ...]  # one reason a line
    compare: Literal["orders", "ranks"]
    seed: int  # of the bootstrap
    tagged_by: str = ""  # who found the parts of speech, as in "HanTa, English"

    def rows(self, table: str, **fields: object) -> list[Row]:
        """Return the rows of a table whose values have these fields."""
        return [
            row
            for row in self.tables[table]
            if fields.items() <= ({"series": row.series} | row.values).items()
        ]


def study(
    all_series: Sequence[Series],
    *,
    tagger: Tagger | None = None,
    tagged_by: str = "",
    tagged_language: str = "",
    untagged: str = "no tagger was given",
    compare: Literal["orders", "ranks"] = "orders",
    seed: int = 0,
    num_resamples: int = 1000,
) -> Study:
    """Return every statistic of every series; intervals are drawn from `seed`.

    Without a tagger there are no parts of speech, and `untagged` is the reason that is named.
    `tagged_by` names the tagger to readers; with a `tagged_language`, as in "en", series that are
    known to be in another are not tagged.
    """
    found = aligned(all_series)
    tools = _Tools(np.random.default_rng(seed), num_resamples, compare, tagger, tagged_language)
    tables: dict[str, list[Row]] = {name: [] for name in TABLES}
    for series in found:
        for name, part in _parts(series, tools):
            tables[name] += part
    tables["between"] = list(_between(found, tools))
    skipped = tuple(_skipped(found, tables, tools, "" if tagger else untagged))
    return Study(found, tables, skipped, compare, seed, tagged_by if tables["by_tag"] else "")


@dataclass(frozen=True)
class _Tools:
    rng: np.random.Generator
    num_resamples: int
    compare: Literal["orders", "ranks"]
    tagger: Tagger | None
    tagged_language: str

    def can_tag(self, series: Series) -> bool:
        return self.tagger is not None and series.has_sentences and not self.is_foreign(series)

    def is_foreign(self, series: Series) -> bool:
        """Return whether targets are known to be in another language than the tagger's."""
        return bool(self.tagged_language) and series.language not in (None, self.tagged_language)

    @property
    def drawing(self) -> dict[str, Any]:
        return {"rng": self.rng, "num_resamples": self.num_resamples}


TABLES = (
    "comparisons",
    "overall",
    "by_length",
    "by_tag",
    "by_word",
    "by_band",
    "contiguity",
    "contiguity_by_example",
    "first_tokens",
    "agreement",
    "agreement_by_example",
    "between",
    "tokens",
)


def _parts(series: Series, tools: _Tools) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows that one series adds to each table."""
    traces, draws = series.traces, tools.drawing
    written = comparisons(traces, counts=series.counts, compare=tools.compare)
    sampled = sampled_comparisons(traces, counts=series.counts, compare=tools.compare)
    for orders, rows in ((series.orders, written), ("sampled", sampled)):
        whose = {"orders": orders, "compared": tools.compare}
        yield "comparisons", _rows(series, rows, **whose)
        yield "overall", _rows(series, summaries(rows, **draws), **whose)
        yield "by_length", _rows(series, summaries_by_length(rows, **draws), **whose)
    tagger = cache(tagging_words(tools.tagger)) if tools.tagger and tools.can_tag(series) else None
    if tagger is not None:
        yield "by_tag", _rows(series, indices_by_tag(traces, tagger, **draws))
    for i, trace in enumerate(traces):
        tokens = token_indices(trace, tagger=tagger, counts=series.counts)
        yield "tokens", [Row(series.run, series.orders, token, example=i) for token in tokens]
    yield "by_word", _rows(series, indices_by_word(traces, min_count=MIN_WORD_COUNT, **draws))
    if series.counts is not None:
        yield "by_band", _rows(series, indices_by_band(traces, series.counts, **draws))
    yield "first_tokens", _rows(series, first_tokens(traces))
    yield "contiguity", _rows(series, contiguity_summaries(traces, **draws))
    yield "agreement", _rows(series, agreement_summaries(traces, **draws))
    yield from _by_example(series)


def _by_example(series: Series) -> Iterator[tuple[str, list[Row]]]:
    """Yield the contiguity of each order and the agreement of each example's samples."""
    tests: list[tuple[str, Callable[[Any], Record], list[Any]]] = [
        ("contiguity_by_example", contiguity, [trace.order for trace in series.traces]),
        ("agreement_by_example", agreement, [trace.samples or () for trace in series.traces]),
    ]
    for name, measure, values in tests:
        yield (
            name,
            [
                Row(series.run, series.orders, measure(value), example=i)
                for i, value in enumerate(values)
                if len(value) >= 2
            ],
        )


def _rows(
    series: Series, records: Sequence[Record], orders: str = "", compared: str = ""
) -> list[Row]:
    return [
        Row(series.run, orders or series.orders, record, compared=compared) for record in records
    ]


def _between(all_series: Sequence[Series], tools: _Tools) -> Iterator[Row]:
    """Yield the distances of every two series, where they have written the same targets."""
    for a, b in combinations(all_series, 2):
        for record in between_summaries(a.traces, b.traces, compare=tools.compare, **tools.drawing):
            yield Row(a.run, a.orders, record, other=b.name, compared=tools.compare)


def _skipped(
    all_series: Sequence[Series], tables: Mapping[str, list[Row]], tools: _Tools, untagged: str
) -> Iterator[str]:
    """Yield which statistics are missing, why, and what would bring them."""
    if untagged:
        yield f"Generation index by part of speech: {untagged}."
    others = "; ".join(series.name for series in all_series if not series.has_sentences)
    if others and not untagged:
        yield f"Generation index by part of speech of {others}: targets are no sentences."
    for series in all_series:
        if series.has_sentences and tools.is_foreign(series) and not untagged:
            yield (
                f"Generation index by part of speech of {series.name}: the targets are "
                f"{series.language!r} (data.tokens.target_language), the default tagger knows "
                f"{tools.tagged_language!r} only. Give another with --tagger."
            )
    nameless = [series.name for series in all_series if series.counts is None]
    if nameless:
        yield (
            f"Common and rare orders and frequency bands of {'; '.join(nameless)}: the training "
            f"set's token counts are not known. Give them with --counts."
        )
    if not tables["agreement"]:
        yield "Agreement of samples: no example has two. Of a run, ask for some with --samples."
    if not any(
        isinstance(r.record, Summary) and r.record.reference == "known" for r in tables["overall"]
    ):
        yield "Distance to known best orders: none are known for these examples."
