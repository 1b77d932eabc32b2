"""Where the tests find real data files, which are not part of the repository."""

import os
from pathlib import Path

import pytest


def shared_data(*parts: str) -> Path:
    """Return a file below VOI_DATA, or below ../shared/data beside the repository; else skip."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("VOI_DATA", beside)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent: set VOI_DATA to the folder that holds the data files")
    return path
