"""Optional libraries, loaded when they are first needed."""

import importlib
from types import ModuleType

from voi.errors import MissingExtraError


def load_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Return an optional library, or say which extra of voi brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{purpose} needs {module}, which is not installed: pip install 'voi[{extra}]'"
        ) from error
