"""The part of a page that steps through generations: its style, markup, data and script."""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from voi.analysis import Trace


@dataclass(frozen=True)
class RegionView:
    """An image beside a generation, with boxes as opaque as the step's attention to them."""

    image: str  # as an address that holds its data; "" for an empty panel
    boxes: list[list[float]]  # [m, 4], left, top, right, bottom as shares
    opacities: list[list[float]]  # [n, m], by step


def stepper_parts(
    runs: Mapping[str, Sequence[Trace]],
    *,
    views: Mapping[str, Sequence[RegionView | None]] | None = None,
    is_alone: bool = True,
) -> dict[str, str]:
    """Return what a template takes as STYLE, STEPPER, DATA and SCRIPT.

    `views` has images for the first traces of some runs. On a page of its own the stepper listens
    to every key; elsewhere while it has the focus.
    """
    markup = template("voi.plots", "stepper.html")
    keys = 'data-keys="page"' if is_alone else 'data-keys="inside" tabindex="0"'
    return {
        "STYLE": template("voi.plots", "stepper.css"),
        "STEPPER": filled(markup, KEYS=keys),
        "DATA": embedded({"runs": list(runs), "examples": _examples(runs, views or {})}),
        "SCRIPT": template("voi.plots", "stepper.js"),
    }


def template(package: str, name: str) -> str:
    """Return the text of a file that comes with a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def escaped(text: str) -> str:
    r"""Return a text that stands in HTML as it is; what has no UTF-8 form becomes "?".

    >>> escaped("<b> & \ud800")
    '&lt;b&gt; &amp; ?'
    """
    return html.escape(text.encode("utf-8", "replace").decode())


def filled(text: str, **values: str) -> str:
    """Return a template with each `{{NAME}}` replaced; a value is never searched for others."""
    pieces = text.split("{{")
    rest = (piece.split("}}", 1) for piece in pieces[1:])
    return pieces[0] + "".join(values[name] + text for name, text in rest)


def embedded(data: Any) -> str:
    """Return JSON that can stand inside a script element: no tag can begin or end in it."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def _examples(
    runs: Mapping[str, Sequence[Trace]], views: Mapping[str, Sequence[RegionView | None]]
) -> list[list[dict[str, Any]]]:
    """Return for each example the records of all runs."""
    sizes = {name: len(traces) for name, traces in runs.items()}
    if not sizes or not all(sizes.values()):
        raise ValueError(f"expected at least one trace for every run, got {sizes}")
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"expected as many traces for every run, got {sizes}: they stand side by side"
        )
    return [
        [
            _record(trace, next(iter(views.get(name, ())[i : i + 1]), None))
            for name, trace in zip(runs, row, strict=True)
        ]
        for i, row in enumerate(zip(*runs.values(), strict=True))
    ]


def _record(trace: Trace, view: RegionView | None) -> dict[str, Any]:
    """Return what the page shows of a trace."""
    return {
        "source": trace.source,
        "tokens": trace.tokens,
        "order": trace.order,
        "score": trace.score,
        "tokenScores": trace.token_scores,
        "slotScores": trace.slot_scores,
        "regions": None if view is None else asdict(view),
    }
