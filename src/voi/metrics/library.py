"""Loading of the libraries behind the metrics, on first use, so that importing voi stays light."""

import importlib
import importlib.metadata
from types import ModuleType

from voi.errors import MissingExtraError


def load(module: str) -> ModuleType:
    """Return a module of an optional library, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"this metric needs {library}, and {error.name} is not installed: "
            "pip install 'voi[metrics]'"
        ) from error


def version(distribution: str) -> str:
    """Return the installed version of a library, for signatures."""
    return importlib.metadata.version(distribution)
