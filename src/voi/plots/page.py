"""Generations as one HTML page that steps through them; it needs no network and no server."""

import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

from voi.analysis import Trace
from voi.plots.output import PAGE_SUFFIXES, output_path, picture_file

_SCHEMES = {"auto": "light dark", "light": "light", "dark": "dark"}


def generation_page(
    traces: Sequence[Trace] | Mapping[str, Sequence[Trace]],
    path: str | os.PathLike[str],
    *,
    title: str = "Generations",
    theme: Literal["auto", "light", "dark"] = "auto",
) -> None:
    """Write a page that plays back each generation, step by step.

    Lists by name stand side by side: the first trace of every run together, then the second, and
    so on. The address may say where to begin: `page.html#example=2&step=3`. The theme follows the
    reader's system unless one is given.
    """
    target = output_path(path, PAGE_SUFFIXES)
    if theme not in _SCHEMES:
        raise ValueError(f'theme must be "auto", "light" or "dark", got {theme!r}')
    runs = traces if isinstance(traces, Mapping) else {"": traces}
    text = _filled(
        files("voi.plots").joinpath("page.html").read_text(encoding="utf-8"),
        TITLE=html.escape(title.encode("utf-8", "replace").decode()),
        SCHEME=_SCHEMES[theme],
        DATA=_embedded({"runs": list(runs), "examples": _examples(runs)}),
    )
    with picture_file(target) as draft:
        draft.write_text(text, encoding="utf-8")


def _filled(template: str, **values: str) -> str:
    """Return the template with each `{{NAME}}` replaced; a value is never searched for others."""
    pieces = template.split("{{")
    rest = (piece.split("}}", 1) for piece in pieces[1:])
    return pieces[0] + "".join(values[name] + text for name, text in rest)


def _embedded(data: Any) -> str:
    """Return JSON that can stand inside a script element: no tag can begin or end in it."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def _examples(runs: Mapping[str, Sequence[Trace]]) -> list[list[dict[str, Any]]]:
    """Return for each example the records of all runs."""
    sizes = {name: len(traces) for name, traces in runs.items()}
    if not sizes or not all(sizes.values()):
        raise ValueError(f"expected at least one trace for every run, got {sizes}")
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"expected as many traces for every run, got {sizes}: they stand side by side"
        )
    return [[_record(trace) for trace in row] for row in zip(*runs.values(), strict=True)]


def _record(trace: Trace) -> dict[str, Any]:
    """Return what the page shows of a trace."""
    return {
        "source": trace.source,
        "tokens": trace.tokens,
        "order": trace.order,
        "score": trace.score,
        "tokenScores": trace.token_scores,
        "slotScores": trace.slot_scores,
    }
