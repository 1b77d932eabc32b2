"""Tables -> figures: curves against the length, bars of references, tags, bands and words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voi.analysis import GroupIndex, Summary
from voi.extras import load_extra
from voi.plots import bars_of, curves_by_length, l2r_curves_by_length
from voi.study.tables import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRIC_NAMES = {
    "nld": "normalised Levenshtein distance",
    "orc": "order rank correlation",
    "orc_squared": "order rank correlation, squared",
    "tau": "Kendall's tau",
}
CURVES = ("nld", "orc")  # the two of the paper
LEAST_EXAMPLES = 5  # of a length that has a point on a curve, where there are that many
MOST_WORDS = 20
INDEX = "normalised generation index (0: written first)"
GROUPS = {
    "by_tag": "by part of speech",
    "by_band": "by their frequency in the training set",
    "by_word": f"the {MOST_WORDS} most frequent ones",
}


@dataclass(frozen=True)
class StudyFigure:
    """One figure of a study, still to be drawn."""

    name: str  # of its file
    caption: str
    draw: Callable[[str], "Figure"]  # from the name of a theme


def study_figures(study: Study) -> list[StudyFigure]:
    """Return the figures of a study that have something to show."""
    load_extra("matplotlib", "plots", "a figure")
    found = []
    for number, series in enumerate(study.series, start=1):
        figures = [*_curves(study, series.name), *_references(study, series.name)]
        figures += _groups(study, series.name)
        found += [
            StudyFigure(f"{number}-{figure.name}", figure.caption, figure.draw)
            for figure in figures
        ]
    return found


def _curves(study: Study, series: str) -> Iterator[StudyFigure]:
    """Yield the two metrics against the length, where there are several lengths."""
    from voi.plots.curves import curves_figure

    rows = [row.record for row in study.rows("by_length", series=series)]
    by_length = _enough([record for record in rows if isinstance(record, Summary)])
    if len({row.length for row in by_length}) < 2:
        return
    for metric in CURVES:
        curves = curves_by_length(by_length, metric)
        compared = l2r_curves_by_length(by_length, metric)
        yield StudyFigure(
            f"length-{metric}",
            f"{series}: {METRIC_NAMES[metric]} to fixed orders, by length (dashed: left to right)",
            lambda theme, metric=metric, curves=curves, compared=compared: curves_figure(  # type: ignore[misc]
                curves,
                compared=compared,
                xlabel="length of the target in tokens",
                ylabel=METRIC_NAMES[metric],
                theme=theme,
            ),
        )


def _enough(rows: Sequence[Summary]) -> list[Summary]:
    """Return the rows of lengths that have enough examples, or all rows if no length has."""
    kept = [row for row in rows if row.num >= LEAST_EXAMPLES]
    return kept or list(rows)


def _references(study: Study, series: str) -> Iterator[StudyFigure]:
    """Yield the distance to each fixed order as bars, left to right beside them."""
    from voi.plots.bars import bars_figure

    rows = [row.record for row in study.rows("overall", series=series, metric="nld")]
    means = [row for row in rows if isinstance(row, Summary)]
    if means:
        yield StudyFigure(
            "references",
            f"{series}: {METRIC_NAMES['nld']} to fixed orders, over all lengths",
            lambda theme: bars_figure(
                {row.reference: (row.mean, row.low, row.high) for row in means},
                marks={row.reference: row.l2r for row in means},
                xlabel=METRIC_NAMES["nld"],
                theme=theme,
            ),
        )


def _groups(study: Study, series: str) -> Iterator[StudyFigure]:
    """Yield the generation index of groups of tokens as bars."""
    from voi.plots.bars import bars_figure

    for table, meaning in GROUPS.items():
        rows = [row.record for row in study.rows(table, series=series)]
        groups = [row for row in rows if isinstance(row, GroupIndex)]
        if table == "by_word":
            groups = sorted(groups, key=lambda group: -group.count)[:MOST_WORDS]
        if groups:
            yield StudyFigure(
                table.replace("_", "-"),
                f"{series}: when tokens are written, {meaning}",
                lambda theme, table=table, groups=groups: bars_figure(  # type: ignore[misc]
                    bars_of(groups),
                    marks={group.group: group.l2r for group in groups},
                    xlabel=INDEX,
                    is_sorted=table != "by_band",
                    theme=theme,
                ),
            )
