"""Data sets of the Hugging Face hub, or saved by its `datasets` library."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from voi.data.example import Example
from voi.data.readers import (
    BadLines,
    Fields,
    Records,
    Rows,
    checked_records,
    example_of_record,
    keys_layout,
)
from voi.errors import DataError
from voi.extras import load_extra


def load_hub(name: str, config: str) -> Mapping[str, Any]:
    """Return the splits of a data set given by its id on the hub, or by a path."""
    library: Any = load_extra("datasets", "hub", f'data.options.hub = "{name}"')
    if (Path(name) / "dataset_dict.json").is_file():
        return dict(library.load_from_disk(name))
    try:
        return dict(library.load_dataset(name, config or None))
    except (OSError, ValueError) as error:  # no such data set, no such configuration, no network
        raise DataError(f"the data set {name!r} cannot be loaded: {error}") from error


def read_hub(name: str, rows: Any, fields: Fields, bad_lines: BadLines = "error") -> Records:
    """Return the pairs of one split."""

    def label(row: int) -> str:
        return f"row {row}"

    def parse(row: int) -> Example:
        return example_of_record(rows[row], fields, label(row))

    found = Rows(name, np.arange(len(rows)), parse, label)
    return checked_records(found, bad_lines, keys_layout(fields, "rows"))
