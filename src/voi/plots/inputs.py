"""What figures are drawn from: curves and bars of analysis results, images with their boxes."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Shaped

from voi.analysis import GroupIndex, Summary

Values: TypeAlias = Sequence[float] | Sequence[int] | Shaped[np.ndarray, " _"]
Curve: TypeAlias = tuple[Values, Values, Values | None, Values | None]  # x, y, low, high
Bar: TypeAlias = tuple[float, float, float]  # value, low, high

Image: TypeAlias = Shaped[np.ndarray, "height width *channels"] | str | os.PathLike[str]
Boxes: TypeAlias = Float[np.ndarray, "m 4"]  # left, top, right, bottom, as shares
Opacities: TypeAlias = Float[np.ndarray, "n m"]  # by step and region, 0 to 1


def curves_by_length(summaries: Iterable[Summary], metric: str) -> dict[str, Curve]:
    """Return one metric against the length, a curve for each reference order.

    >>> row = Summary(
    ...     reference="l2r", metric="nld", length=4, num=9, mean=0.5, low=0.4, high=0.6, l2r=0.0
    ... )
    >>> curves_by_length([row], "nld")
    {'l2r': ([4], [0.5], [0.4], [0.6])}
    """
    groups: dict[str, list[Summary]] = defaultdict(list)
    for row in summaries:
        if row.metric == metric and row.length is not None:
            groups[row.reference].append(row)
    return {name: _curve(rows) for name, rows in groups.items()}


def l2r_curves_by_length(summaries: Iterable[Summary], metric: str) -> dict[str, Curve]:
    """Return the same curves for the left-to-right order, to compare with `curves_by_length`.

    >>> row = Summary(
    ...     reference="l2r", metric="nld", length=4, num=9, mean=0.5, low=0.4, high=0.6, l2r=0.0
    ... )
    >>> l2r_curves_by_length([row], "nld")
    {'l2r': ([4], [0.0], None, None)}
    """
    rows = [replace(row, mean=row.l2r) for row in summaries]
    curves = curves_by_length(rows, metric)
    return {name: (x, y, None, None) for name, (x, y, _, _) in curves.items()}


def _curve(rows: list[Summary]) -> Curve:
    rows = sorted(rows, key=lambda row: row.length or 0)
    lengths = [row.length or 0 for row in rows]
    low, high = [row.low for row in rows], [row.high for row in rows]
    return lengths, [row.mean for row in rows], low, high


def bars_of(groups: Iterable[GroupIndex]) -> dict[str, Bar]:
    """Return the generation index of each group as a bar.

    >>> bars_of([GroupIndex("NOUN", count=9, num=4, mean=0.2, low=0.1, high=0.3, l2r=0.5)])
    {'NOUN': (0.2, 0.1, 0.3)}
    """
    return {group.group: (group.mean, group.low, group.high) for group in groups}
