"""The version of this package."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

UNKNOWN = "unknown"


def version() -> str:
    """Return the version of this package; "unknown" for a copy that was never installed."""
    try:
        return installed("voi")
    except PackageNotFoundError:
        return UNKNOWN
