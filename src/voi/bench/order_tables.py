"""OrderBench as a table, a plot and JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from voi import plots
from voi.atomic import write_text
from voi.bench.cells import Result, Rows, markdown, seeds, spread
from voi.bench.orders import METHODS, TASKS

HEADER = [
    "task", "method", "seeds", "accuracy", "log p per token", "NLD sampled", "NLD written",
    "steps to 95 %", "CPU s to 95 %", "CPU s",
]  # fmt: skip
LEARNED = "voi-gumbel-matching"  # with the law of the presets
HEADLINE = ("l2r", "r2l", "random", "sao", LEARNED, "known")
_DIGITS = {"accuracy": 3, "log_prob": 3, "sampled": 3, "written": 3}
_TOLD = {"steps_to_95": 0, "cpu_seconds_to_95": 0}


def rows(results: Sequence[Result]) -> Rows:
    """Return the table, one row for each task with each method that was measured."""
    table = [HEADER]
    for task in _tasks(results):
        for method in _methods(results):
            found = _of(results, task, method)
            if not found:
                continue
            row = [spread(_values(found, name), digits) for name, digits in _DIGITS.items()]
            row += [_told(found, name) for name in _TOLD]
            row += [spread(_values(found, "cpu_seconds"), 0)]
            table.append([task, method, seeds(found), *row])
    return table


def accuracies(results: Sequence[Result]) -> Rows:
    """Return mean accuracies, a row for each task and a column for each method."""
    methods = _methods(results)
    table = [["task", *(f"`{method}`" for method in methods)]]
    for task in _tasks(results):
        found = [_values(_of(results, task, method), "accuracy") for method in methods]
        table.append([task, *(f"{sum(x) / len(x):.3f}" if x else "-" for x in found)])
    return table


def tables(results: Sequence[Result]) -> dict[str, Rows]:
    """Return an overview and the whole, by their titles."""
    return {"Accuracy, mean over seeds": accuracies(results), "Tasks and methods": rows(results)}


def headline(results: Sequence[Result]) -> Rows:
    """Return accuracies of a few methods by task, and how near the learned order comes."""
    methods = [method for method in HEADLINE if method in _methods(results)]
    table = [["task", *(f"`{method}`" for method in methods), "NLD of the learned order"]]
    for task in _tasks(results):
        found = [_values(_of(results, task, method), "accuracy") for method in methods]
        distances = _values(_of(results, task, LEARNED), "sampled")
        table.append([task, *map(spread, found), spread(distances)])
    return table


def about(results: Sequence[Result]) -> str:
    """Return what the table is of, in one sentence."""
    sizes = sorted({result["settings"]["test"]["examples"] for result in results})
    return (
        f"Accuracy and distance (NLD) to the best order on {' or '.join(map(str, sizes))} targets "
        "of the test split, weights of the last step; mean over seeds, and their range where they "
        "differ."
    )


def _tasks(results: Sequence[Result]) -> list[str]:
    met = {result["settings"]["task"] for result in results}
    return [task for task in TASKS if task in met]


def _methods(results: Sequence[Result]) -> list[str]:
    met = {result["settings"]["method"] for result in results}
    return [method for method in METHODS if method in met]


def _of(results: Sequence[Result], task: str, method: str) -> list[Result]:
    wanted = {"task": task, "method": method}
    return [result for result in results if wanted.items() <= result["settings"].items()]


def _values(found: Sequence[Result], name: str) -> list[float]:
    return [float(result[name]) for result in found if result[name] is not None]


def _told(found: Sequence[Result], name: str) -> str:
    """Return when the seeds reached 95 %, and how many did where not all of them did."""
    values = _values(found, name)
    if not values or len(values) == len(found):
        return spread(values, 0)
    return f"{spread(values, 0)}, {len(values)} of {len(found)} seeds"


def write(results: Sequence[Result], folder: Path) -> None:
    """Write orders.json, orders.md and orders.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "orders.json", json.dumps(list(results), indent=1) + "\n")
    write_text(folder / "orders.md", f"{about(results)}\n\n{markdown(rows(results))}")
    draw(results, folder)


def draw(results: Sequence[Result], folder: Path) -> dict[str, str]:
    """Draw the accuracies and return what the plot shows, by its file."""
    accuracies = {
        task: {
            method: sum(values) / len(values)
            for method in METHODS
            if (values := _values(_of(results, task, method), "accuracy"))
        }
        for task in _tasks(results)
    }
    title = "Share of test targets that are written right, mean over seeds"
    plots.write_figure(folder / "orders.svg", plots.grid_figure, accuracies, title=title)
    return {"orders.svg": title}
