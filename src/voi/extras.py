"""What is loaded by name when it is first needed: optional libraries, and parts of a user's own."""

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from voi.errors import ConfigError, MissingExtraError


def load_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Return an optional library, or say which extra of voi brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{purpose} needs {module}, which is not installed: pip install 'voi[{extra}]'"
        ) from error


def load_named(name: str, what: str) -> Callable[..., Any]:
    """Return a user's function or class, named module:function; `what` it is stands in errors.

    >>> load_named("math:sqrt", "order")(9)
    3.0
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # a user's module may fail in any way
        raise ConfigError(
            f"{what} {name!r} cannot be imported ({_described(error)}): give module:name, "
            f"importable from the working folder; --debug shows where it fails"
        ) from error
    if not callable(found):
        raise ConfigError(f"{what} {name!r} is no function but {found!r}: give module:function")
    return found


def load_callable(name: str, what: str, expected: str, *arguments: str, **options: Any) -> Any:
    """Return a user's function or class that can be called in this way; `expected` says which."""
    found = load_named(name, what)
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # some that are written in C have none
        return found
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        raise ConfigError(f"{what} {name!r} must take {expected}, got {signature}") from error
    return found


def failed(name: str, error: Exception, expected: str) -> ConfigError:
    """Return the error of a user's function that raised one."""
    return ConfigError(
        f"{name} failed ({_described(error)}): expected {expected}; --debug shows where"
    )


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
