"""A table of scores as JSON, CSV and Markdown, and as rows for a terminal."""

import csv
import dataclasses
import io
import json
from pathlib import Path

from voi.atomic import write_text
from voi.errors import DataError
from voi.evaluation.comparison import Cell, Table
from voi.evaluation.likelihoods import BOUND

_COLUMNS = (
    "metric", "higher_is_better", "system", "value", "standard_error", "num_examples", "difference",
    "low", "high", "p_value", "sacrebleu_p_value", "num_resamples", "method", "not_compared",
    "skipped", "remark", "signature",
)  # fmt: skip
_READING = (
    "a lower bound, which more orders (--likelihood-samples) can raise; ± is the error of drawing "
    "them, not the distance from log p and not that of other targets"
)


def write_table(table: Table, folder: Path, name: str) -> None:
    """Write NAME.json, NAME.csv and NAME.md into a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{name}.json", to_json(table))
        write_text(folder / f"{name}.csv", to_csv(table))
        write_text(folder / f"{name}.md", to_markdown(table))
    except OSError as error:
        raise DataError(
            f"cannot write scores into {folder}: {error.strerror or error}; choose another folder "
            f"with --out"
        ) from error


def to_json(table: Table) -> str:
    """Return everything that is known, as one JSON object."""
    return json.dumps(dataclasses.asdict(table), ensure_ascii=False, indent=1) + "\n"


def to_csv(table: Table) -> str:
    """Return one line per measure and system; columns without a value are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        for cell in row.cells:
            compared = {} if cell.comparison is None else dataclasses.asdict(cell.comparison)
            named = {"metric": row.name, "higher_is_better": row.higher_is_better}
            writer.writerow({**compared, **dataclasses.asdict(cell), **named})
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """Return the table a person reads, and the signatures below it."""
    header, *rows = text_rows(table)
    lines = [_line(header), _line(["---"] * len(header)), *map(_line, rows), ""]
    return "\n".join([*lines, *(f"- {note}" for note in notes(table))]) + "\n"


def text_rows(table: Table) -> list[list[str]]:
    """Return the table as texts, its header first: two columns for each compared system."""
    first, *others = table.systems
    header = ["metric", first]
    for other in others:
        header += [other, "difference, 95 % interval, p"]
    rows = []
    for row in table.rows:
        texts = [row.name + ("" if row.higher_is_better else " (lower is better)")]
        texts.append(_value(row.cells[0]))
        for cell in row.cells[1:]:
            texts += [_value(cell), _difference(cell)]
        rows.append(texts)
    return [header, *rows]


def notes(table: Table) -> list[str]:
    """Return what stands below the table.

    The full signature of every measure for the first system that has it, what is different in the
    signatures of the others, why something is missing, remarks on values, and how a bound is read.
    """
    signatures, differences = [], {name: dict[str, None]() for name in table.systems}
    for row in table.rows:
        signed = [cell for cell in row.cells if cell.signature]
        for cell in signed[:1]:
            signatures.append(f"{row.name}: {'|'.join(_parts(cell))}")
        for cell in signed[1:]:
            other = dict.fromkeys(part for part in _parts(cell) if part not in _parts(signed[0]))
            differences[cell.system] |= other
    found = [f"{name}: {'|'.join(parts)}" for name, parts in differences.items() if parts]
    return [*signatures, *found, *_missing(table), *_remarks(table), *_said_of_bound(table)]


def _parts(cell: Cell) -> list[str]:
    return [*cell.signature.split("|"), f"examples:{cell.num_examples}"]


def _missing(table: Table) -> list[str]:
    found = []
    for row in table.rows:
        for cell in row.cells:
            if cell.skipped:
                found.append(f"{row.name}, {cell.system}, skipped: {cell.skipped}")
            elif cell.not_compared:
                found.append(f"{row.name}, {cell.system}, not compared: {cell.not_compared}")
    return found


def _remarks(table: Table) -> list[str]:
    cells = ((row.name, cell) for row in table.rows for cell in row.cells)
    return [f"{name}, {cell.system}: {cell.remark}" for name, cell in cells if cell.remark]


def _said_of_bound(table: Table) -> list[str]:
    values = [cell.value for row in table.rows if row.name == BOUND for cell in row.cells]
    return [f"{BOUND}: {_READING}"] if any(value is not None for value in values) else []


def _value(cell: Cell) -> str:
    if cell.value is None:
        return "skipped"
    if cell.standard_error is not None:
        return f"{cell.value:.4f} ± {cell.standard_error:.4f}"
    return f"{cell.value:.4f}" if "nats per token" in cell.signature else f"{cell.value:.2f}"


def _difference(cell: Cell) -> str:
    found = cell.comparison
    if found is None:
        return "-"
    digits = 4 if "nats per token" in cell.signature else 2
    low, high = f"{found.low:+.{digits}f}", f"{found.high:+.{digits}f}"
    return f"{found.difference:+.{digits}f} [{low}, {high}] p={found.p_value:.3f}"


def _line(texts: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
