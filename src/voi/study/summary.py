"""A study in words: what the tables say of each series, in a few sentences."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from voi.study.series import Series
from voi.study.tables import MIN_WORD_COUNT, Study


@dataclass(frozen=True)
class Paragraph:
    """Sentences about one series, or about two of them."""

    heading: str
    sentences: tuple[str, ...]


def in_words(study: Study) -> list[Paragraph]:
    """Return a paragraph for each series, and one that compares them."""
    found = [Paragraph(series.name, tuple(_about(study, series))) for series in study.series]
    between = tuple(_between(study))
    return [*found, Paragraph("Side by side", between)] if between else found


def _about(study: Study, series: Series) -> Iterator[str]:
    tokens = sum(len(trace.tokens) for trace in series.traces)
    num_short = sum(len(trace.tokens) < 2 for trace in series.traces)
    yield f"Targets: {len(series.traces)}, with {tokens} tokens."
    if num_short:
        yield f"Of these {num_short} have fewer than two tokens, and so only one order."
    if num_short < len(series.traces):
        yield from _references(study, series.name)
    yield from _steps(study, series.name)
    yield from _tokens(study, series.name)
    yield from _agreement(study, series.name)


def _references(study: Study, series: str) -> Iterator[str]:
    """Yield which fixed order is closest, and how far the known best ones are."""
    rows = [row.values for row in study.rows("overall", series=series, metric="nld")]
    fixed = [row for row in rows if row["reference"] != "known"]
    if fixed:
        best = min(fixed, key=lambda row: row["mean"])
        yield f"The closest fixed order is {best['reference']}: {_distance(best)}."
    for row in rows:
        if row["reference"] == "known":
            yield (
                f"To the best orders known for {row['num']} of the targets the distance is "
                f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]; left to right is at "
                f"{row['l2r']:.3f}."
            )


def _distance(row: Mapping[str, Any]) -> str:
    return (
        f"normalised Levenshtein distance {row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
    )


def _steps(study: Study, series: str) -> Iterator[str]:
    """Yield how often the next token stands beside the last one."""
    for row in study.rows("contiguity", series=series, neighbour="final"):
        values = row.values
        yield (
            f"At {values['mean']:.0%} of the steps the new token stands beside the one before it "
            f"in the finished text; random orders would have {values['chance']:.0%}."
        )


def _tokens(study: Study, series: str) -> Iterator[str]:
    """Yield which tokens come first, and which parts of speech are early and late."""
    first = [row.values for row in study.rows("first_tokens", series=series)]
    if first:
        yield f"It begins most often with “{first[0]['token']}” ({first[0]['share']:.0%})."
    tags = [row.values for row in study.rows("by_tag", series=series)]
    tags = [row for row in tags if row["count"] >= MIN_WORD_COUNT]
    if len(tags) > 1:
        early, late = tags[0], tags[-1]
        by = f" (by {study.tagged_by})" if study.tagged_by else ""
        yield (
            f"Of the parts of speech{by} {early['group']} comes earliest (index "
            f"{early['mean']:.2f}) and {late['group']} latest ({late['mean']:.2f})."
        )


def _agreement(study: Study, series: str) -> Iterator[str]:
    values = {row.values["measure"]: row.values for row in study.rows("agreement", series=series)}
    if values:
        yield (
            f"Of the pairs of orders sampled for one target {values['identical']['mean']:.0%} are "
            f"identical; the mean distance of a pair is {values['nld']['mean']:.3f}."
        )


def _between(study: Study) -> Iterator[str]:
    for row in study.rows("between", metric="nld"):
        yield (
            f"{row.series}, and {row.other}: {_distance(row.values)} on the "
            f"{row.values['num']} targets that both have."
        )
