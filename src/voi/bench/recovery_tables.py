"""The paper's two tables of the recovery ablation, its figures beside ours, and further rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from voi import plots
from voi.atomic import write_text
from voi.bench.cells import Result, Rows, markdown, spread
from voi.bench.recovery import LAWS, NUM_ORDERS, POSITIONS
from voi.plots import Curve

PAPER_POSITIONS: Mapping[tuple[str, str], float] = {  # the paper's table by encoding and law
    ("gumbel-matching", "sinusoid"): 0.40,
    ("gumbel-matching", "sinusoid+attention"): 0.42,
    ("gumbel-matching", "relative"): 0.38,
    ("gumbel-matching", "xl"): 0.25,
    ("plackett-luce", "sinusoid"): 0.62,
    ("plackett-luce", "sinusoid+attention"): 0.58,
    ("plackett-luce", "relative"): 0.53,
    ("plackett-luce", "xl"): 0.57,
}
PAPER_NUM_ORDERS: Mapping[int, float] = {2: 0.31, 3: 0.28, 4: 0.25, 10: 0.21, 20: 0.21}
BASE = "gumbel-matching.xl.k4"


def by_cell(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the seeds of every cell, in the order they came in."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result["settings"]["cell"], []).append(result)
    return found


def position_rows(results: Sequence[Result]) -> Rows:
    """Return the first table: position encodings against laws."""
    cells, table = by_cell(results), [["encoding", "law", "paper", "sampled", "mode", "CPU s"]]
    for positions in POSITIONS:
        for law in LAWS:
            paper = PAPER_POSITIONS.get((law, positions))
            found = cells.get(f"{law}.{positions}.k4", [])
            said = "-" if paper is None else f"{paper:.2f}"
            table.append([positions, law, said, *_distances(found), _cpu(found)])
    return table


def num_orders_rows(results: Sequence[Result]) -> Rows:
    """Return the second table: how many orders are sampled."""
    cells, table = by_cell(results), [["K", "paper", "sampled", "mode", "CPU s"]]
    for k in NUM_ORDERS:
        found = cells.get(f"gumbel-matching.xl.k{k}", [])
        table.append([str(k), f"{PAPER_NUM_ORDERS[k]:.2f}", *_distances(found), _cpu(found)])
    return table


def variant_rows(results: Sequence[Result]) -> Rows:
    """Return the further rows: one choice of the recipe changed."""
    table = [["change", "sampled", "mode", "reward of the mode", "of the common order", "CPU s"]]
    for name, found in by_cell(results).items():
        if name == BASE or name.startswith(f"{BASE}."):
            rewards = [
                spread([result[key] for result in found], 1)
                for key in ("mode_reward", "common_reward")
            ]
            change = name.removeprefix(BASE).removeprefix(".") or "none"
            table.append([change, *_distances(found), *rewards, _cpu(found)])
    return table


def _distances(found: Sequence[Result]) -> list[str]:
    return [spread([result[name] for result in found]) for name in ("sampled", "mode")]


def _cpu(found: Sequence[Result]) -> str:
    return spread([result["cpu_seconds"] for result in found], 0)


def tables(results: Sequence[Result]) -> dict[str, Rows]:
    """Return the three tables by title."""
    return {
        "Position encodings and laws, K = 4": position_rows(results),
        "Orders sampled per caption, gumbel-matching, xl": num_orders_rows(results),
        "The recipe, gumbel-matching, xl, K = 4": variant_rows(results),
    }


def write(results: Sequence[Result], folder: Path) -> None:
    """Write recovery.json, recovery.md and a plot of curves for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "recovery.json", json.dumps(list(results), indent=1) + "\n")
    settings = results[0]["settings"]
    lines = [
        f"Normalised Levenshtein distance to the common order after {settings['steps']:,} steps, "
        f"{settings['decoder']['batch_size']} captions of "
        f"{settings['decoder']['captions'] or 'scenes'}, "
        f"{len({result['settings']['seed'] for result in results})} seeds.\n"
    ]
    lines += [f"## {title}\n\n{markdown(rows)}" for title, rows in tables(results).items()]
    write_text(folder / "recovery.md", "\n".join(lines))
    for name, cells in _plotted(by_cell(results)).items():
        plots.draw_curves(
            cells,
            folder / f"recovery-{name}.svg",
            xlabel="steps of the generator",
            ylabel="NLD of sampled orders to the order taught",
        )


def _plotted(cells: Mapping[str, list[Result]]) -> dict[str, dict[str, Curve]]:
    """Return the curves of each plot that has any."""
    groups: dict[str, dict[str, Curve]] = {"encodings": {}, "orders": {}, "recipes": {}}
    for name, found in cells.items():
        law, positions, rest = name.split(".", 2)
        k, _, change = rest.partition(".")
        curve = _curve(found)
        if change or name == BASE:
            groups["recipes"][change or "none changed"] = curve
        if not change and k == "k4":
            groups["encodings"][f"{law}, {positions}"] = curve
        if not change and (law, positions) == ("gumbel-matching", "xl"):
            groups["orders"][f"K = {k.removeprefix('k')}"] = curve
    return {name: curves for name, curves in groups.items() if curves}


def _curve(found: Sequence[Result]) -> Curve:
    """Return the mean curve of the seeds, with their range where there are several."""
    steps = [point["step"] for point in found[0]["curve"]]
    values = np.array([[point["sampled"] for point in result["curve"]] for result in found])
    if len(found) == 1:
        return steps, values[0], None, None
    return steps, values.mean(0), values.min(0), values.max(0)
