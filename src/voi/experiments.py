"""Tables of experiments: read from presets and TOML files, changed by settings and orders."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from voi.config import EXCLUSIVE, PHASE_FIELDS, with_defaults
from voi.errors import ConfigError
from voi.tables import as_table, assign, copied, merged, parse_value, unknown_name

_UNITS = {"steps": "epochs", "epochs": "steps"}  # of the length of a phase
DRAWN = ("voi", "random")  # orders with a law to draw from; K draws of any other are alike


def presets() -> dict[str, str]:
    """Return the presets that come with the package: names, and the first line of each file."""
    folder = resources.files("voi") / "presets"
    files = (path.name for path in folder.iterdir())
    names = sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))
    texts = {name: (folder / f"{name}.toml").read_text("utf-8") for name in names}
    return {name: text.partition("\n")[0].lstrip("# ") for name, text in texts.items()}


def load_table(name: str, extended_by: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the table of a preset, or of a TOML file if `name` is a path to one.

    A table with `extends` starts from another preset or file and says what differs.
    """
    path: Path | Traversable = Path(name)
    if name.endswith(".toml"):
        if not path.is_file():
            raise ConfigError(f"no experiment file {path}: give a TOML file or a preset's name")
    elif name in presets():
        path = resources.files("voi") / "presets" / f"{name}.toml"
    elif Path(name).exists():
        raise ConfigError(f"{name} is no experiment: give pairs of your own as --data {name}")
    else:
        raise unknown_name("task", name, list(presets()))
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}: not valid TOML: {error}") from error
    base = table.pop("extends", None)
    for section, content in table.items():
        as_table(content, section)
    if base is None:
        return table
    extended_by = (*extended_by, name)
    if isinstance(base, str) and base.endswith(".toml"):
        beside = Path(name).parent / base
        base = str(beside) if beside.is_file() else base
    if not isinstance(base, str) or base in extended_by:
        raise ConfigError(
            f"{name}: extends must name another preset or file, got {base!r}: leave it out, or "
            f"name one that does not extend {name}"
        )
    extended = load_table(base, extended_by)
    for name in table.get("training", {}):  # what it says takes the place of its partner too
        extended.get("training", {}).pop(EXCLUSIVE.get(name), None)
    return merged(extended, table)


def override(table: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Return the table with `key=value` settings applied, texts as a user gives them.

    A phase field set as `training.num_orders=8` holds in every phase, also in those that name
    another value; `training.phases.0.num_orders=8` sets it in one.
    """
    result = copied(table)
    values: dict[str, Any] = {}
    for key, text in map(split_setting, settings):
        values[key] = parse_value(text)
        _check_partner(key, values)
        _set(result, key, values[key])
    return result


def split_setting(setting: str) -> tuple[str, str]:
    """Return the key and the text of the value that `key=value` has.

    >>> split_setting("training.steps = 60")
    ('training.steps', '60')
    """
    key, separator, text = setting.partition("=")
    if not separator or not key.strip():
        raise ConfigError(
            f"--set wants KEY=VALUE without spaces around the =, as in --set training.steps=60, "
            f"got {setting!r}"
        )
    return key.strip(), text.strip()


def _check_partner(key: str, values: Mapping[str, Any]) -> None:
    """Raise if a setting before this one says the length of the same phases in another unit.

    Zero says none, as in the phase that is counted in the other unit.
    """
    table, _, name = key.rpartition(".")
    partner = f"{table}.{_UNITS.get(name)}"
    if table.partition(".")[0] == "training" and values[key] and values.get(partner):
        raise ConfigError(
            f"--set {partner}={values[partner]} and --set {key}={values[key]} say the same thing "
            f"twice: a phase has either steps or epochs, give one of them"
        )


def _set(table: dict[str, Any], key: str, value: Any) -> None:
    path = key.split(".")
    if path[0] == "training" and len(path) == 2 and path[1] in PHASE_FIELDS:
        _drop_everywhere(table.setdefault("training", {}), path[1])
    if path[:2] == ["training", "phases"] and len(path) > 2:  # the only phase may be left out
        table.setdefault("training", {}).setdefault("phases", [{}])
    assign(table, path, value, key)


def _drop_everywhere(training: dict[str, Any], name: str) -> None:
    for table in [training, *training.get("phases", [])]:
        table.pop(name, None)
        table.pop(EXCLUSIVE.get(name, name), None)


def with_order(
    table: Mapping[str, Any], kind: str, settings: Iterable[str] = (), *, copies: bool = False
) -> dict[str, Any]:
    """Return the table with another order, with what that order needs, and with settings.

    A fixed order has K = 1, unless a setting says more; with `copies` it has the K of the table,
    for as many passes as a learned order. `sao` is pretrained left to right.
    """
    result = copied(table)
    _set(result, "order.kind", kind)
    if kind not in DRAWN and not copies:
        _set(result, "training.num_orders", 1)
    result = override(result, settings)
    return with_pretraining(result, "l2r") if kind == "sao" else result


def with_pretraining(table: Mapping[str, Any], order: str) -> dict[str, Any]:
    """Return the table with a fixed order in its first phase, or in half of its only one.

    An order that is searched under the decoder needs a decoder that knows something.
    """
    result = copied(table)
    training = result.setdefault("training", {})
    phases = training.get("phases", [{}])
    if len(phases) == 1:
        phases = _halves(phases[0], training)
    training["phases"] = [{**phases[0], "order": order}, *phases[1:]]
    return result


def _halves(phase: Mapping[str, Any], training: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a phase as two whose rates go on as one: a warm-up in the first, a fall in the second.

    A fall that would begin in the first half begins with the second.
    """
    values = with_defaults(phase, training)
    name = "epochs" if values.get("epochs") else "steps"
    whole = values.get(name, 0)
    if name == "steps" and whole < 2:
        raise ConfigError(f"an order that is searched needs at least 2 steps, got {whole}")
    half = whole / 2 if name == "epochs" else whole // 2
    rest = whole - half
    held = max(0.0, values.get("decay_hold", 0.0) * whole - half)  # of the second half
    first = {"name": "pretraining", name: half, "decay": "constant"}
    second = {name: rest, "warmup": 0, "decay_hold": held / rest if rest else 0.0}
    return [{**phase, **first}, {**phase, **second}]
