"""The paper's two tables of the recovery ablation, its figures beside ours, and further rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from voi import plots
from voi.atomic import write_text
from voi.bench.cells import Result, Rows, markdown, seeds, spread
from voi.bench.curves import seed_curve
from voi.bench.recovery import LAWS, NUM_ORDERS, POSITIONS, recipes
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
    """Return the seeds of every cell that has any, in the order of the recipes."""
    found: dict[str, list[Result]] = {name: [] for name in recipes()}
    for result in results:
        found.setdefault(result["settings"]["cell"], []).append(result)
    return {name: results for name, results in found.items() if results}


def position_rows(results: Sequence[Result], variant: str = "") -> Rows:
    """Return the first table, or that of a variant: position encodings against laws."""
    cells, table = by_cell(results), [["encoding", "law", *_HEADER]]
    for positions in POSITIONS:
        for law in LAWS:
            paper = PAPER_POSITIONS.get((law, positions))
            found = cells.get(f"{law}.{positions}.k4{variant}", [])
            said = "-" if paper is None else f"{paper:.2f}"
            table.append([positions, law, said, *_figures(found)])
    return table


def paper_rows(results: Sequence[Result]) -> Rows:
    """Return the first table under the paper's estimator, as far as it was measured."""
    header, *rows = position_rows(results, ".paper")
    return [header, *filter(_is_measured, rows)]


def num_orders_rows(results: Sequence[Result]) -> Rows:
    """Return the second table: how many orders are sampled."""
    cells, table = by_cell(results), [["K", *_HEADER]]
    for k in NUM_ORDERS:
        found = cells.get(f"gumbel-matching.xl.k{k}", [])
        table.append([str(k), f"{PAPER_NUM_ORDERS[k]:.2f}", *_figures(found)])
    return table


def variant_rows(results: Sequence[Result]) -> Rows:
    """Return the further rows: one choice of the recipe changed; none without the recipe's own."""
    rewarded = ["reward of the mode", "of the common order"]
    cells, table = by_cell(results), [["change", *rewarded, *_HEADER[1:]]]
    for name in recipes() if BASE in cells else ():
        if name == BASE or name.startswith(f"{BASE}."):
            found = cells.get(name, [])
            rewards = [
                spread([result[key] for result in found], 1)
                for key in ("mode_reward", "common_reward")
            ]
            change = name.removeprefix(BASE).removeprefix(".") or "none"
            table.append([change, *rewards, *_figures(found)])
    return table


_HEADER = ["paper", "sampled", "mode", "CPU s", "seeds"]


def _figures(found: Sequence[Result]) -> list[str]:
    distances = [spread([result[name] for result in found]) for name in ("sampled", "mode")]
    return [*distances, spread([result["cpu_seconds"] for result in found], 0), seeds(found)]


def headline(results: Sequence[Result]) -> Rows:
    """Return the rows of the encoding that suits best: the laws, and the paper beside them."""
    header, *body = position_rows(results)
    return [header, *(row for row in body if row[0] == "xl")]


def tables(results: Sequence[Result]) -> dict[str, Rows]:
    """Return by title the tables of which something was measured."""
    made = {
        "Position encodings and laws, K = 4": position_rows(results),
        "Orders sampled per caption, gumbel-matching, xl": num_orders_rows(results),
        "The recipe, gumbel-matching, xl, K = 4": variant_rows(results),
        "Encodings and laws under the paper's estimator, K = 4": paper_rows(results),
    }
    return {title: rows for title, rows in made.items() if any(map(_is_measured, rows[1:]))}


def _is_measured(row: Sequence[str]) -> bool:
    return row[-1] != seeds([])


def about(results: Sequence[Result]) -> str:
    """Return what the tables are of, in one sentence."""
    settings = results[0]["settings"]
    decoder = settings["decoder"]
    return (
        f"Normalised Levenshtein distance to the common order after {settings['steps']:,} steps, "
        f"{decoder['batch_size']} captions of {decoder['captions'] or 'scenes'}, mean (and range) "
        f"of seeds {seeds(results)}."
    )


def write(results: Sequence[Result], folder: Path) -> None:
    """Write recovery.json, recovery.md and a plot of curves for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "recovery.json", json.dumps(list(results), indent=1) + "\n")
    lines = [f"{about(results)}\n"]
    lines += [f"## {title}\n\n{markdown(rows)}" for title, rows in tables(results).items()]
    write_text(folder / "recovery.md", "\n".join(lines))
    draw(results, folder)


def draw(results: Sequence[Result], folder: Path) -> dict[str, str]:
    """Draw the curves of each table and return what the plots show, by file."""
    drawn = {}
    for name, curves in _plotted(by_cell(results)).items():
        file = f"recovery-{name}.svg"
        plots.write_figure(
            folder / file,
            plots.curves_figure,
            curves,
            xlabel="steps of the generator",
            ylabel="NLD of sampled orders to the order taught",
        )
        drawn[file] = f"Distance while the generators learn: {name}"
    return drawn


def _plotted(cells: Mapping[str, list[Result]]) -> dict[str, dict[str, Curve]]:
    """Return the curves of each plot that has any."""
    names = ("encodings", "orders", "recipes", "paper")
    groups: dict[str, dict[str, Curve]] = {name: {} for name in names}
    for name, found in cells.items():
        law, positions, rest = name.split(".", 2)
        k, _, change = rest.partition(".")
        curve = seed_curve(found, "sampled")
        if BASE in cells and name.startswith(BASE) and (change or name == BASE):
            groups["recipes"][change or "none changed"] = curve
        if change == "paper":
            groups["paper"][f"{law}, {positions}"] = curve
        if not change and k == "k4":
            groups["encodings"][f"{law}, {positions}"] = curve
        if not change and (law, positions) == ("gumbel-matching", "xl"):
            groups["orders"][f"K = {k.removeprefix('k')}"] = curve
    return {name: curves for name, curves in groups.items() if curves}
