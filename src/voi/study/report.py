"""A study as one HTML page: words, tables, figures, and a gallery to step through."""

from collections.abc import Iterator, Sequence

from voi.plots.stepper import escaped, filled, stepper_parts, template
from voi.study.figures import StudyFigure
from voi.study.summary import in_words
from voi.study.tables import Study
from voi.study.text_tables import TextTable, text_tables

MOST_EXAMPLES = 200  # in the gallery


def report_page(study: Study, figures: Sequence[StudyFigure] = (), *, title: str = "Orders") -> str:
    """Return the page; it needs nothing else, and every text of the data stays text.

    The address may say where the gallery begins: `report.html#example=2&step=3`.
    """
    runs = {series.name: series.traces[:MOST_EXAMPLES] for series in study.series}
    total = len(study.series[0].traces)
    return filled(
        template("voi.study", "report.html"),
        TITLE=escaped(title),
        WORDS="\n".join(_words(study)),
        TABLES="\n".join(map(_table, text_tables(study))),
        FIGURES="\n".join(_figures(figures)),
        SHOWN=f"The first {MOST_EXAMPLES} of {total} examples." if total > MOST_EXAMPLES else "",
        **stepper_parts(
            runs, views={series.name: series.views for series in study.series}, is_alone=False
        ),
    )


def _words(study: Study) -> Iterator[str]:
    """Yield the summary, then what is missing."""
    for paragraph in in_words(study):
        yield f"<h3>{escaped(paragraph.heading)}</h3>"
        yield f"<p>{escaped(' '.join(paragraph.sentences))}</p>"
    if study.skipped:
        yield "<h3>Left out</h3>\n<ul>"
        yield from (f"<li>{escaped(reason)}</li>" for reason in study.skipped)
        yield "</ul>"


def _table(table: TextTable) -> str:
    """Return a table, folded away where it is long."""
    kinds = ["name"] * table.num_names + ["number"] * (len(table.header) - table.num_names)
    head = "".join(
        f'<th scope="col" class="{kind}">{escaped(cell)}</th>'
        for kind, cell in zip(kinds, table.header, strict=True)
    )
    rows = (
        "".join(
            f'<td class="{kind}" dir="auto">{escaped(cell)}</td>'
            for kind, cell in zip(kinds, row, strict=True)
        )
        for row in table.rows
    )
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    note = f'<p class="note">{escaped(table.note)}</p>' if table.note else ""
    opened = "" if table.is_long else " open"
    return (
        f"<details{opened}><summary>{escaped(table.title)}</summary>\n{note}"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>'
        f"</table></div></details>"
    )


def _figures(figures: Sequence[StudyFigure]) -> Iterator[str]:
    """Yield the figures as elements of the page."""
    if not figures:
        yield "<p>Figures need matplotlib: pip install 'voi[plots]'.</p>"
        return
    from voi.plots.canvas import drawing
    from voi.plots.inline import svg_element

    with drawing():
        for number, figure in enumerate(figures, start=1):
            element = svg_element(figure.draw("light"), f"figure{number}")
            caption = f"<figcaption>{escaped(figure.caption)}</figcaption>"
            yield f"<figure>{caption}\n{element}\n</figure>"
