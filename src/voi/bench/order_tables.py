"""OrderBench as a table, a plot and JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from voi import plots
from voi.atomic import write_text
from voi.bench.cells import Result, Rows, markdown, spread
from voi.bench.orders import METHODS, TASKS

HEADER = [
    "task", "method", "accuracy", "log p per token", "NLD sampled", "NLD written", "steps to 95 %",
    "CPU s to 95 %", "CPU s",
]  # fmt: skip
_DIGITS = {"accuracy": 3, "log_prob": 3, "sampled": 3, "written": 3}
_TOLD = {"steps_to_95": 0, "cpu_seconds_to_95": 0}


def rows(results: Sequence[Result]) -> Rows:
    """Return the table, one row for each task and method, its header first."""
    table = [HEADER]
    for task in TASKS:
        for method in METHODS:
            found = _of(results, task, method)
            if found:
                row = [spread(_values(found, name), digits) for name, digits in _DIGITS.items()]
                row += [_told(found, name) for name in _TOLD]
                table.append([task, method, *row, spread(_values(found, "cpu_seconds"), 0)])
    return table


def _of(results: Sequence[Result], task: str, method: str) -> list[Result]:
    wanted = {"task": task, "method": method}
    return [result for result in results if wanted.items() <= result["settings"].items()]


def _values(found: Sequence[Result], name: str) -> list[float]:
    return [float(result[name]) for result in found if result[name] is not None]


def _told(found: Sequence[Result], name: str) -> str:
    """Return when seeds were good enough, and how many were, if not all of them."""
    values = _values(found, name)
    if not values or len(values) == len(found):
        return spread(values, 0)
    return f"{spread(values, 0)}, {len(values)} of {len(found)} seeds"


def write(results: Sequence[Result], folder: Path) -> None:
    """Write orders.json, orders.md and orders.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "orders.json", json.dumps(list(results), indent=1) + "\n")
    num_seeds = len({result["settings"]["seed"] for result in results})
    about = f"Test split, weights of the last step, {num_seeds} seeds.\n\n"
    write_text(folder / "orders.md", about + markdown(rows(results)))
    accuracies = {
        task: {
            method: sum(values) / len(values)
            for method in METHODS
            if (values := _values(_of(results, task, method), "accuracy"))
        }
        for task in TASKS
    }
    plots.draw_grid(
        {task: row for task, row in accuracies.items() if row},
        folder / "orders.svg",
        title="Share of test targets that are written right, mean over seeds",
    )
