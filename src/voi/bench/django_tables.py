"""The comparison on Django as tables, plots and JSON, every order against left to right."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from voi import plots
from voi.atomic import write_text
from voi.bench.cells import Result, Rows, markdown, seeds, spread
from voi.bench.curves import seed_curve
from voi.bench.django import BASELINE, METHODS, run_folder
from voi.bench.django_cell import by_seen, last_model, tested
from voi.checkpoint import pointed
from voi.evaluation import Settings, System, Table, side_by_side

SCORES = {
    "bleu_tokenized (strict)": "BLEU, strict",
    "bleu_tokenized (as published)": "BLEU, as published",
    "exact_match (strict)": "exact match, strict",
    "exact_match (as published)": "exact match, as published",
}
BOUND = "log p per token, bound"
COMPARED = {**SCORES, "log_p_bound": BOUND}
PARTS = {"all": "All test pairs", "unseen": "Not in train", "seen": "In train as well"}
_ELBO = {"tokens": "tokens", "slots": "slots", "entropy": "entropy of q"}
_ORDERS = {"sampled": "q", "mode": "its mode"}
_CURVES = {"accuracy": "share of validation targets written right", "elbo": "ELBO per token"}


def by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the seeds of every method that was measured."""
    found = {
        method: [result for result in results if result["settings"]["method"] == method]
        for method in METHODS
    }
    return {method: cells for method, cells in found.items() if cells}


def tables(results: Sequence[Result]) -> dict[str, Rows]:
    """Return the tables of scores, likelihoods, orders and costs by title, means over seeds."""
    cells = by_method(results)
    found = {PARTS[part]: score_rows(cells, part) for part in PARTS}
    found["Likelihood, nats per token"] = likelihood_rows(cells)
    fit = fit_rows(cells)
    if len(fit) > 1:
        found["Training pairs and test pairs, nats per token"] = fit
    return {
        **found,
        "Orders": order_rows(cells),
        "Cost": cost_rows(cells),
    }


def score_rows(cells: Mapping[str, list[Result]], part: str) -> Rows:
    """Return BLEU and exact match, strict and as published, and the bound, on some test pairs."""
    table = [["order", "pairs", *SCORES.values(), BOUND]]
    for method, found in cells.items():
        having = [result for result in found if part in result["scores"]]
        values = [_spread([r["scores"][part].get(name) for r in having], 2) for name in SCORES]
        bounds = _spread([r["log_prob"][part].get("log_p_bound") for r in having], 3)
        count = str(having[0]["num_examples"][part]) if having else "-"
        table.append([method, count, *values, bounds])
    return table


def likelihood_rows(cells: Mapping[str, list[Result]]) -> Rows:
    """Return both lower bounds, and what an ELBO is made of: tokens and slots apart.

    Gumbel-Matching's entropy is the Bethe approximation, its ELBO a true lower bound.
    """
    table = [["order", "log p, bound", "ELBO", *_ELBO.values()]]
    for method, found in cells.items():
        bounds = [
            _spread([r["log_prob"]["all"].get(name) for r in found], 3)
            for name in ("log_p_bound", "elbo")
        ]
        parts = [_spread([r["parts"][name] for r in found], 3) for name in _ELBO]
        table.append([method, *bounds, *parts])
    return table


def fit_rows(cells: Mapping[str, list[Result]]) -> Rows:
    """Return the ELBO from samples of q with its parts, on training and on test pairs.

    Cells that were measured before training pairs were looked at have no row.
    """
    names = {"elbo": "ELBO", **_ELBO}
    header = [f"{said}, {split}" for split in ("train", "test") for said in names.values()]
    table = [["order", *header]]
    for method, found in cells.items():
        having = [result for result in found if "train_parts" in result]
        values = [
            _spread([result[kind][name] for result in having], 3)
            for kind in ("train_parts", "parts")
            for name in names
        ]
        if having:
            table.append([method, *values])
    return table


def order_rows(cells: Mapping[str, list[Result]]) -> Rows:
    """Return how near orders are to left to right and to common words first."""
    names = {
        f"{kind} {fixed} {metric}": f"{metric} of {said} to {fixed}"
        for kind, said in _ORDERS.items()
        for fixed in ("l2r", "common")
        for metric in ("nld", "tau")
    }
    written = {f"l2r {metric}": f"{metric} of what is written to l2r" for metric in ("nld", "tau")}
    table = [["order", *names.values(), *written.values()]]
    for method, found in cells.items():
        values = [_spread([r["orders"].get(name) for r in found], 3) for name in names]
        values += [_spread([r["written"][name] for r in found], 3) for name in written]
        table.append([method, *values])
    return table


def cost_rows(cells: Mapping[str, list[Result]]) -> Rows:
    """Return updates, CPU time, and how good validation was at the end of training."""
    table = [["order", "steps", "CPU s", "valid accuracy", "valid ELBO"]]
    for method, found in cells.items():
        values = [_spread([r[name] for r in found], 0) for name in ("steps", "cpu_seconds")]
        values += [_spread([r["curve"][-1][name] for r in found], 3) for name in _CURVES]
        table.append([method, *values])
    return table


def _spread(values: Sequence[float | int | None], digits: int) -> str:
    return spread([float(value) for value in values if value is not None], digits)


def with_runs(results: Sequence[Result], folder: Path) -> list[Result]:
    """Return the cells whose runs are still there: what they wrote can be compared."""
    places = [(result, result["settings"]) for result in results]
    return [
        result
        for result, about in places
        if pointed(run_folder(folder, about["method"], about["seed"]), "last")
    ]


def compared(
    results: Sequence[Result], folder: Path, test: Settings, is_seen: Sequence[bool]
) -> list[dict[str, Any]]:
    """Return the paired bootstrap of every order against left to right, seed by seed.

    What was written is read from the runs. Without left to right there is nothing to compare.
    """
    found = []
    for seed in sorted({result["settings"]["seed"] for result in results}):
        methods = [r["settings"]["method"] for r in results if r["settings"]["seed"] == seed]
        if BASELINE in methods and len(methods) > 1:
            methods.sort(key=lambda method: method != BASELINE)  # the first is compared with
            paths = {method: run_folder(folder, method, seed) for method in methods}
            systems = [_parts(path, method, test, is_seen) for method, path in paths.items()]
            for part in systems[0]:
                table = side_by_side([system[part] for system in systems])
                about = {"seed": seed, "pairs": part}
                found += [{**about, **record} for record in _records(table)]
    return found


def _parts(run: Path, method: str, test: Settings, is_seen: Sequence[bool]) -> Mapping[str, System]:
    model = last_model(run)
    return by_seen(model, tested(model, run, method, test), is_seen)


def _records(table: Table) -> list[dict[str, Any]]:
    return [
        {"order": cell.system, "metric": row.name, **dataclasses.asdict(cell.comparison)}
        for row in table.rows
        for cell in row.cells
        if cell.comparison is not None
    ]


def comparison_rows(comparisons: Sequence[Mapping[str, Any]]) -> Rows:
    """Return differences to left to right with 95 % intervals and p-values."""
    table = [["order", "seed", "pairs", *COMPARED.values()]]
    keys = {(one["order"], one["seed"], one["pairs"]): None for one in comparisons}
    for method, seed, part in sorted(keys, key=lambda key: (list(METHODS).index(key[0]), key[1])):
        own = {
            one["metric"]: one
            for one in comparisons
            if (one["order"], one["seed"], one["pairs"]) == (method, seed, part)
        }
        table.append([method, str(seed), part, *(_difference(own.get(name)) for name in COMPARED)])
    return table


def _difference(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    digits = 3 if found["name"] == "log_p_bound" else 2
    low, high = f"{found['low']:+.{digits}f}", f"{found['high']:+.{digits}f}"
    return f"{found['difference']:+.{digits}f} [{low}, {high}] p={found['p_value']:.3f}"


def about(results: Sequence[Result]) -> str:
    """Return what the tables are of, in one sentence."""
    first = results[0]
    count, bounded = first["num_examples"]["all"], first["num_bounded"]["all"]
    tried = first["settings"]["test"]["likelihood_limit"]
    limit = first["settings"]["experiment"]["data"]["max_target_length"]
    return (
        f"Django, {count} test pairs, weights of the last of {first['steps']:,} updates, seeds "
        f"{seeds(results)}, mean (and range where seeds differ). log p and distances of "
        f"orders: the {bounded} of the first {tried} targets with at most {limit} tokens."
    )


def headline(results: Sequence[Result]) -> Rows:
    """Return the scores on all test pairs."""
    return score_rows(by_method(results), "all")


def write(
    results: Sequence[Result], comparisons: Sequence[Mapping[str, Any]], folder: Path
) -> None:
    """Write django.json, django.md and a plot of curves for each measure of validation."""
    folder.mkdir(parents=True, exist_ok=True)
    both = {"cells": list(results), "comparisons": list(comparisons)}
    write_text(folder / "django.json", json.dumps(both, indent=1) + "\n")
    found = tables(results)
    if comparisons:
        title = "Difference to l2r, paired bootstrap of test pairs, 95 % interval"
        found[title] = comparison_rows(comparisons)
    lines = [f"{about(results)}\n"]
    lines += [f"## {title}\n\n{markdown(rows)}" for title, rows in found.items()]
    write_text(folder / "django.md", "\n".join(lines))
    draw(results, folder)


def draw(results: Sequence[Result], folder: Path) -> dict[str, str]:
    """Draw the curves of validation and return what the plots show, by file."""
    drawn = {}
    for name, said in _CURVES.items():
        curves = {method: seed_curve(cells, name) for method, cells in by_method(results).items()}
        file = f"django-{name}.svg"
        plots.write_figure(
            folder / file, plots.curves_figure, curves, xlabel="decoder updates", ylabel=said
        )
        drawn[file] = f"Validation while decoders learn: {said}"
    return drawn
