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
    """Write perturbation.csv, .json and a picture, and the generation; return the files.

    Where the source is an image its regions are drawn as boxes; at each step of the generation
    they are as opaque as the decoder's attention to them is heavy.
    """
    names = ["perturbation.csv", "perturbation.json", f"perturbation{suffix}"]
    paths = [folder / name for name in (*names, f"generation{suffix}")]
    found = closeup.perturbation
    rows = [{**asdict(removal), "compared": found.compared} for removal in found.removals]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(paths[0], csv_text(rows))
        write_text(paths[1], json.dumps(asdict(found), indent=1) + "\n")
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {error.strerror or error}: choose another folder with --out"
        ) from error
    boxes, weights = _boxes(closeup.example), None
    if boxes is not None:
        weights = opacities(attention_of(model, closeup.example.source, closeup.trace))
    in_order = sorted(found.removals, key=lambda removal: removal.part)
    parts, effects = [r.name for r in in_order], [r.nld for r in in_order]
    plots.draw_perturbation(
        parts, effects, paths[2], image=image, boxes=boxes, compared=found.compared
    )
    plots.draw_generation(closeup.trace, paths[3], image=image, boxes=boxes, opacities=weights)
    return paths


def _boxes(example: Example) -> Boxes | None:
    if not isinstance(example.source, Regions):
        return None
    return np.clip(example.source.boxes.astype(np.float64), 0.0, 1.0)
