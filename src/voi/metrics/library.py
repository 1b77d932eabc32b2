"""Loading of the libraries behind the metrics, on first use, so that importing voi stays light."""

import importlib.metadata
from types import ModuleType

from voi.extras import load_extra


def load(module: str) -> ModuleType:
    """Return a module of an optional library, or say which extra brings it."""
    return load_extra(module, "metrics", "this metric")


def version(distribution: str) -> str:
    """Return the installed version of a library, for signatures."""
    return importlib.metadata.version(distribution)
