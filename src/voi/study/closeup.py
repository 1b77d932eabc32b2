"""A close-up of one example: its perturbation and its generation, as tables and pictures."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from voi import plots
from voi.analysis import Trace
from voi.atomic import write_text
from voi.data import Example, Regions
from voi.errors import DataError
from voi.model import Model
from voi.plots.inputs import Boxes, Image
from voi.study.attention import attention_of, opacities
from voi.study.collect import generated_traces, learned_traces
from voi.study.files import csv_text
from voi.study.law import NUM_SAMPLES, step_shares
from voi.study.perturbation import Perturbation, perturb


@dataclass(frozen=True)
class Closeup:
    """How one target is written, and what each part of its source does to that."""

    example: Example
    trace: Trace  # of the frozen target, in the order that the decoder or the generator gives it
    perturbation: Perturbation


def closeup_of(
    model: Model,
    example: Example,
    *,
    is_generated: bool = True,
    beam: int | None = None,
    searched: int = 0,
    compare: Literal["orders", "ranks"] = "orders",
) -> Closeup:
    """Return the close-up of the target the model writes, or else of the reference target."""
    found = (
        generated_traces(model, [example], beam=beam)
        if is_generated
        else learned_traces(model, [example])
    )
    perturbed = perturb(model, example.source, found[0].tokens, beam=searched, compare=compare)
    return Closeup(example, found[0], perturbed)


def write_closeup(
    model: Model,
    closeup: Closeup,
    folder: Path,
    *,
    image: Image | None = None,
    suffix: str = ".svg",
) -> list[Path]:
    """Write perturbation.csv, .json, and pictures of it, of the steps and of the orders' law.

    Where the source is an image its regions are drawn as boxes; at each step of the generation
    they are as opaque as the decoder's attention to them is heavy. The files are returned.
    """
    tables = [folder / "perturbation.csv", folder / "perturbation.json"]
    pictures = [folder / f"{name}{suffix}" for name in ("perturbation", "generation", "order-law")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_tables(closeup.perturbation, *tables)
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {error.strerror or error}: choose another folder with --out"
        ) from error
    _draw_perturbation(closeup, image, pictures[0])
    _draw_generation(model, closeup, image, pictures[1])
    _draw_law(model, closeup, pictures[2])
    return [*tables, *pictures]


def _write_tables(found: Perturbation, as_csv: Path, as_json: Path) -> None:
    rows = [{**asdict(removal), "compared": found.compared} for removal in found.removals]
    write_text(as_csv, csv_text(rows))
    write_text(as_json, json.dumps(asdict(found), indent=1) + "\n")


def _draw_perturbation(closeup: Closeup, image: Image | None, path: Path) -> None:
    found, boxes = closeup.perturbation, _boxes(closeup.example)
    in_order = sorted(found.removals, key=lambda removal: removal.part)
    names, effects = [r.name for r in in_order], [r.nld for r in in_order]
    plots.draw_perturbation(names, effects, path, image=image, boxes=boxes, compared=found.compared)


def _draw_generation(model: Model, closeup: Closeup, image: Image | None, path: Path) -> None:
    boxes, weights = _boxes(closeup.example), None
    if boxes is not None:
        weights = opacities(attention_of(model, closeup.example.source, closeup.trace))
    plots.draw_generation(closeup.trace, path, image=image, boxes=boxes, opacities=weights)


def _draw_law(model: Model, closeup: Closeup, path: Path) -> None:
    """Draw which position is written when in sampled orders; dots are the order inferred."""
    found = closeup.perturbation
    plots.write_figure(
        path,
        plots.permutation_figure,
        step_shares(model, closeup.example.source, found.tokens),
        order=found.order,
        tokens=found.tokens,
        value_name=f"share of {NUM_SAMPLES} sampled orders",
        value_range=(0.0, 1.0),
    )


def _boxes(example: Example) -> Boxes | None:
    if not isinstance(example.source, Regions):
        return None
    return np.clip(example.source.boxes.astype(np.float64), 0.0, 1.0)
