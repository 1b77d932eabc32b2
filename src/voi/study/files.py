"""A study as files: tables as CSV, everything as JSON, traces, figures, and one page."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from voi import plots
from voi.analysis import write_traces
from voi.atomic import write_text
from voi.errors import DataError
from voi.study.figures import StudyFigure
from voi.study.report import report_page
from voi.study.tables import Study


def write_study(
    study: Study,
    folder: Path,
    *,
    figures: Sequence[StudyFigure] = (),
    suffix: str = ".svg",
    title: str = "Orders",
) -> None:
    """Write report.html, statistics.json, tables/*.csv, traces/*.jsonl and figures/*.

    Each file appears whole or not at all. Traces and figures that statistics.json names, those of
    a study that was there before, go; other files stay.
    """
    traces = {
        f"traces/{number}-{_plain(series.name)}.jsonl": series.traces
        for number, series in enumerate(study.series, start=1)
    }
    drawn = {f"figures/{figure.name}{suffix}": figure for figure in figures}
    try:
        for old in _earlier(folder):
            old.unlink()
        for name in ("tables", "traces", *(["figures"] if figures else [])):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, rows in study.tables.items():
            write_text(folder / "tables" / f"{name}.csv", csv_text([row.values for row in rows]))
        stored = {**to_json(study), "files": [*traces, *drawn]}
        write_text(folder / "statistics.json", json.dumps(stored, indent=1) + "\n")
        for name, own in traces.items():
            write_traces(folder / name, own)
        for name, figure in drawn.items():
            plots.write_figure(folder / name, figure.draw, "light")
        write_text(folder / "report.html", report_page(study, figures, title=title))
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {error.strerror or error}: choose another folder with --out"
        ) from error


def _earlier(folder: Path) -> list[Path]:
    """Return the traces and figures that an earlier study wrote into a folder."""
    try:
        names = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))["files"]
        paths = [Path(name) for name in names]
    except (FileNotFoundError, ValueError, LookupError, TypeError):  # none, or not of a study
        return []
    own = [folder / path for path in paths if str(path.parent) in ("traces", "figures")]
    return [path for path in own if path.is_file()]


def to_json(study: Study) -> dict[str, Any]:
    """Return everything that was measured, as plain values."""
    return {
        "compare": study.compare,
        "seed": study.seed,
        "tagged_by": study.tagged_by,
        "series": [
            {"run": series.run, "orders": series.orders, "num": len(series.traces)}
            for series in study.series
        ],
        "skipped": list(study.skipped),
        "tables": {
            name: [row.values for row in rows]
            for name, rows in study.tables.items()
            if name != "tokens"  # the traces have them
        },
    }


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    r"""Return rows with the same keys as CSV; without rows, nothing.

    >>> csv_text([{"a": 1, "b": "x,y"}, {"a": None, "b": ""}])
    'a,b\n1,"x,y"\n,\n'
    """
    if not rows:
        return ""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode("utf-8", "backslashreplace").decode()


def _plain(name: str) -> str:
    """Return a name that any file system takes.

    >>> _plain("runs/chain, learned")
    'runs-chain-learned'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "series"
