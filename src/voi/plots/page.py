"""Generations as one HTML page that steps through them; it needs no network and no server."""

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from voi.analysis import Trace
from voi.plots.output import PAGE_SUFFIXES, output_path, picture_file
from voi.plots.stepper import RegionView, escaped, filled, stepper_parts, template

_SCHEMES = {"auto": "light dark", "light": "light", "dark": "dark"}


def generation_page(
    traces: Sequence[Trace] | Mapping[str, Sequence[Trace]],
    path: str | os.PathLike[str],
    *,
    title: str = "Generations",
    theme: Literal["auto", "light", "dark"] = "auto",
    views: Sequence[RegionView | None] | Mapping[str, Sequence[RegionView | None]] = (),
) -> None:
    """Write a page that plays back each generation, step by step.

    Lists by name stand side by side: the first trace of every run together, then the second, and
    so on. The address may say where to begin: `page.html#example=2&step=3`. The theme follows the
    reader's system unless one is given. `views`, in the form of the traces, are images with regions
    to stand beside them.
    """
    target = output_path(path, PAGE_SUFFIXES)
    if theme not in _SCHEMES:
        raise ValueError(f'theme must be "auto", "light" or "dark", got {theme!r}')
    runs = traces if isinstance(traces, Mapping) else {"": traces}
    seen = views if isinstance(views, Mapping) else {"": views}
    text = filled(
        template("voi.plots", "page.html"),
        TITLE=escaped(title),
        SCHEME=_SCHEMES[theme],
        **stepper_parts(runs, views=seen),
    )
    with picture_file(target) as draft:
        draft.write_text(text, encoding="utf-8")
