"""Images of captions with their regions, as they stand in the gallery of a report."""

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import UInt8

from voi.analysis import Trace
from voi.data import Example, ImageTask, Regions, Task
from voi.errors import DataError
from voi.extras import load_extra
from voi.model import Model
from voi.plots.stepper import RegionView
from voi.study.attention import attention_of, opacities

Pixels: TypeAlias = UInt8[np.ndarray, "height width 3"]
Pictures: TypeAlias = Callable[[str], Pixels | Path | None]  # from the name of an image

LARGEST = 320  # pixels along a side


def pictures_of(task: Task, folder: Path | None = None) -> Pictures:
    """Return the function from an image's name to its pixels or its file, if there are any."""
    if folder is not None:
        return lambda name: folder / name
    return task.picture if isinstance(task, ImageTask) else lambda name: None


def picture_of(example: Example, pictures: Pictures) -> Pixels | Path | None:
    """Return the image of an example, or None for a source that is text or has no picture."""
    is_named = isinstance(example.source, Regions) and example.source.image
    return pictures(example.source.image) if is_named else None  # type: ignore[union-attr]


def region_views(
    model: Model, examples: Sequence[Example], traces: Sequence[Trace], pictures: Pictures
) -> list[RegionView | None]:
    """Return what the gallery shows beside each trace; None for a source that is no image."""
    return [
        _view(model, example, trace, pictures) if isinstance(example.source, Regions) else None
        for example, trace in zip(examples, traces, strict=True)
    ]


def _view(model: Model, example: Example, trace: Trace, pictures: Pictures) -> RegionView:
    assert isinstance(example.source, Regions)
    weights = np.zeros((0, len(example.source.boxes)))
    if trace.tokens:
        weights = opacities(attention_of(model, example.source, trace))
    image = picture_of(example, pictures)
    return RegionView(
        image="" if image is None else data_uri(image),
        boxes=example.source.boxes.astype(float).round(4).tolist(),
        opacities=weights.round(3).tolist(),
    )


def data_uri(image: Pixels | Path) -> str:
    """Return a small copy of an image that can stand inside a page."""
    library: Any = load_extra("PIL.Image", "vision", "an image on a page")
    try:
        made = library.fromarray(image) if isinstance(image, np.ndarray) else library.open(image)
        made = made.convert("RGB")
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"cannot read {image} as an image: {error}") from error
    made.thumbnail((LARGEST, LARGEST))
    file = io.BytesIO()
    kind = "png" if isinstance(image, np.ndarray) else "jpeg"
    made.save(file, kind)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
