"""Plain tables, as TOML and JSON hold them, to dataclasses and back; names checked on the way."""

import dataclasses
import difflib
import math
import re
import sys
import tomllib
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from voi.errors import ConfigError

_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a name that does not exist, naming the nearest that does."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.55)
    hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(names)}"
    return ConfigError(f'unknown {kind} "{name}": {hint}')


def require(condition: bool, message: str) -> None:
    """Raise the error of a setting that is no good."""
    if not condition:
        raise ConfigError(message)


def require_least(config: object, where: str, **least: int) -> None:
    """Raise the error of the first field, or entry of a field, that is below its lowest value."""
    for name, lowest in least.items():
        for value in _entries(getattr(config, name)):
            require(value >= lowest, f"{where}{name} must be at least {lowest}, got {value}")


def require_between(
    config: object, where: str, low: int | float, high: int | float, *names: str
) -> None:
    """Raise the error of the first field that lies outside a range."""
    for name in names:
        value = getattr(config, name)
        require(low <= value <= high, f"{where}{name} must be from {low} to {high}, got {value}")


def require_fractions(config: object, where: str, *names: str) -> None:
    """Raise the error of the first field, or entry of a field, that is not in [0, 1)."""
    for name in names:
        for share in _entries(getattr(config, name)):
            require(0 <= share < 1, f"{where}{name} must be in [0, 1), got {share}")


def require_read(config: Any, where: str, is_read: bool, advice: str, *names: str) -> None:
    """Raise the error of the first field that is set, but read under other settings alone."""
    if is_read:
        return
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for name in names:
        default = defaults[name]
        require(
            getattr(config, name) == default,
            f"{where}{name} does nothing here: {advice}, or leave it at {default}",
        )


def _entries(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def from_table(cls: type, table: Mapping[str, Any], where: str = "") -> Any:
    """Build a (nested) dataclass from plain values; unknown keys and wrong types are errors."""
    hints = typing.get_type_hints(cls)
    known = {f.name for f in dataclasses.fields(cls)}
    for key in table:
        if key not in known:
            raise unknown_name("setting", where + key, (where + name for name in known))
    values = {key: convert(hints[key], value, where + key) for key, value in table.items()}
    try:
        return cls(**values)
    except TypeError as error:
        raise ConfigError(f"{where or 'experiment'}: {error}") from error


def convert(hint: Any, value: Any, where: str) -> Any:
    """Return a plain value as a field of that type holds it; one that does not fit is an error."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return from_table(typing.cast(type, hint), as_table(value, where), where + ".")
    if origin is Literal:
        if value not in args:
            raise unknown_name(f"value of {where}", str(value), map(str, args))
        return value
    if origin is tuple and args[-1] is Ellipsis:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where} must be a list, got {value!r}")
        return tuple(convert(args[0], v, f"{where}.{i}") for i, v in enumerate(value))
    if origin is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(args):
            raise ConfigError(f"{where} must be a list of {len(args)} values, got {value!r}")
        return tuple(convert(a, v, where) for a, v in zip(args, value, strict=True))
    if origin in (Mapping, dict):
        return as_table(value, where)
    return _convert_plain(hint, value, where)


def as_table(value: Any, where: str) -> dict[str, Any]:
    """Return a mapping as a dictionary of its own; anything else is an error."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table, got {value!r}")
    return dict(value)


def _convert_plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    if hint in (int, float, str, bool) and type(value) is not hint:
        raise ConfigError(f"{where} must be {_KINDS[hint]}, got {value!r}")
    if hint is float and not math.isfinite(value):
        raise ConfigError(f"{where} must be a finite number, got {value}")
    return value


def to_table(config: Any) -> Any:
    """Return the plain values of a dataclass, as `from_table` takes them."""
    if dataclasses.is_dataclass(config):
        return {f.name: to_table(getattr(config, f.name)) for f in dataclasses.fields(config)}
    if isinstance(config, tuple | list):
        return [to_table(value) for value in config]
    if isinstance(config, Mapping):
        return {key: to_table(value) for key, value in config.items()}
    return config


def merged(base: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base with the values of the table in place of its own; tables are merged."""
    both = {
        key: merged(base[key], value)
        for key, value in table.items()
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
    }
    return {**base, **table, **both}


def assign(table: Any, path: Sequence[str], value: Any, key: str) -> None:
    """Set one value of nested tables; lists are entered by number. `key` stands in errors."""
    *parents, last = path
    for name in parents:
        if isinstance(table, list):
            if not name.isdigit() or int(name) >= len(table):
                raise ConfigError(f"--set {key}: expected 0 to {len(table) - 1}, got {name!r}")
            table = table[int(name)]
        elif isinstance(table, dict):
            table = table.setdefault(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"--set {key}: {'.'.join(parents)} has no fields")
    table[last] = value


def copied(value: Any) -> Any:
    """Return plain values that share no table and no list with the given ones."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def parse_value(text: str) -> Any:
    """Return the TOML value of a text, or the text itself where it is no TOML.

    >>> parse_value("1e-3"), parse_value("true"), parse_value("[1, 2]"), parse_value("xl")
    (0.001, True, [1, 2], 'xl')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if re.search(r"[\n\"]", text):
            raise ConfigError(f"{text!r} is neither a TOML value nor a plain word") from None
        return text
