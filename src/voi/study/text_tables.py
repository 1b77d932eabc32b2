"""The tables of a study as texts to read, the same in the terminal and on the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voi.study.tables import MIN_WORD_COUNT, Study

METRICS = {"nld": "NLD", "orc": "ORC", "orc_squared": "ORC²", "tau": "tau"}
BY_LENGTH = {"nld": "NLD", "orc": "ORC"}
MOST_ROWS = 15  # of a list that goes on: first tokens, words

Cells = tuple[str, ...]


@dataclass(frozen=True)
class TextTable:
    """A table of texts; the first `num_names` columns are names, the others numbers."""

    title: str
    header: Cells
    rows: Sequence[Cells]
    num_names: int = 1
    note: str = ""
    is_long: bool = False  # folded away at first


def text_tables(study: Study) -> list[TextTable]:
    """Return all tables of a study that have rows."""
    found = [
        overall_table(study),
        *(_by_length(study, metric) for metric in BY_LENGTH),
        _groups(study, "by_tag", "Generation index by part of speech", _tagged_by(study)),
        _groups(study, "by_band", "Generation index by frequency in the training set"),
        *_words(study),
        _contiguity(study),
        _agreement(study),
        _first_tokens(study),
        _between(study),
    ]
    return [table for table in found if table.rows]


def overall_table(study: Study, *, is_compact: bool = False) -> TextTable:
    """Return the means of all metrics against all reference orders.

    The compact form fits a terminal: it has the interval of the first metric only.
    """
    groups: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in study.tables["overall"]:
        values = row.values
        groups.setdefault((row.series, values["reference"]), {})[values["metric"]] = values
    shown = _mean if is_compact else _interval
    return TextTable(
        "Distance to fixed orders",
        ("series", "reference", "targets", *METRICS.values(), "NLD of L2R"),
        [
            (
                *names,
                str(by_metric["nld"]["num"]),
                _interval(by_metric["nld"]),
                *(shown(by_metric[metric]) for metric in METRICS if metric != "nld"),
                f"{by_metric['nld']['l2r']:.3f}",
            )
            for names, by_metric in groups.items()
        ],
        num_names=2,
        note="Means with 95 % bootstrap intervals. NLD: 0 is the same order. ORC (Spearman) and "
        f"tau (Kendall): 1 is the same order. Compared are {study.compare}.",
    )


def _mean(values: Mapping[str, Any]) -> str:
    return f"{values['mean']:.3f}"


def _interval(values: Mapping[str, Any]) -> str:
    return f"{values['mean']:.3f} [{values['low']:.3f}, {values['high']:.3f}]"


def _by_length(study: Study, metric: str) -> TextTable:
    """Return the means of one metric, a row for each length, a column for each reference."""
    means: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for row in study.rows("by_length", metric=metric):
        values = row.values
        means.setdefault((row.series, values["length"]), {})[values["reference"]] = values
    references = list(dict.fromkeys(name for row in means.values() for name in row))
    return TextTable(
        f"{BY_LENGTH[metric]} by length",
        ("series", "length", "targets", *references),
        [
            (series, str(length), str(row["l2r"]["num"]), *_means(row, references))
            for (series, length), row in means.items()
        ],
        note="Intervals, the other metrics and left to right itself: tables/by_length.csv.",
        is_long=True,
    )


def _means(row: Mapping[str, Mapping[str, Any]], references: Sequence[str]) -> Iterator[str]:
    for name in references:
        yield f"{row[name]['mean']:.3f}" if name in row else "–"


GROUP_HEADER = ("series", "group", "tokens", "targets", "index", "index in L2R")


def _tagged_by(study: Study) -> str:
    return f"Parts of speech by {study.tagged_by}." if study.tagged_by else ""


def _groups(study: Study, table: str, title: str, note: str = "") -> TextTable:
    rows = [(row.series, row.values) for row in study.tables[table]]
    return TextTable(title, GROUP_HEADER, [_group(*row) for row in rows], num_names=2, note=note)


def _group(series: str, values: Mapping[str, Any]) -> Cells:
    numbers = (str(values["count"]), str(values["num"]), _interval(values), f"{values['l2r']:.3f}")
    return (series, values["group"], *numbers)


def _words(study: Study) -> Iterator[TextTable]:
    """Yield the words that come earliest and those that come latest."""
    for place, end in (("earliest", slice(0, MOST_ROWS)), ("latest", slice(-MOST_ROWS, None))):
        rows = [
            _group(series.name, row.values)
            for series in study.series
            for row in study.rows("by_word", series=series.name)[end]
        ]
        note = f"Words that occur at least {MIN_WORD_COUNT} times."
        yield TextTable(f"Words written {place}", GROUP_HEADER, rows, 2, note, is_long=True)


def _contiguity(study: Study) -> TextTable:
    names = {"final": "in the finished text", "written": "in the text so far"}
    rows = []
    for row in study.tables["contiguity"]:
        values = row.values
        cells = (names[values["neighbour"]], _interval(values), f"{values['chance']:.3f}")
        rows.append((row.series, *cells))
    header = ("series", "neighbours", "share of steps", "random order")
    return TextTable("Contiguity: the next token beside the last one", header, rows, num_names=2)


def _agreement(study: Study) -> TextTable:
    names = {"nld": "mean NLD of two samples", "identical": "share of identical pairs"}
    rows = [
        (row.series, names[row.values["measure"]], str(row.values["num"]), _interval(row.values))
        for row in study.tables["agreement"]
    ]
    header = ("series", "measure", "targets", "mean")
    return TextTable("Agreement of sampled orders", header, rows, num_names=2)


def _first_tokens(study: Study) -> TextTable:
    rows = []
    for series in study.series:
        for row in study.rows("first_tokens", series=series.name)[:MOST_ROWS]:
            values = row.values
            rows.append(
                (row.series, values["token"], str(values["count"]), f"{values['share']:.1%}")
            )
    header = ("series", "token", "count", "share")
    return TextTable("Tokens written first", header, rows, num_names=2, is_long=True)


def _between(study: Study) -> TextTable:
    groups: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in study.tables["between"]:
        groups.setdefault((row.series, row.other), {})[row.values["metric"]] = row.values
    metrics = ("nld", "orc", "tau")
    return TextTable(
        "Orders of two series on the same targets",
        ("series", "other series", "targets", *(METRICS[metric] for metric in metrics)),
        [
            (*names, str(row["nld"]["num"]), *(_interval(row[metric]) for metric in metrics))
            for names, row in groups.items()
        ],
        num_names=2,
    )
