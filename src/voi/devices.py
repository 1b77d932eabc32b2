"""Devices by name, checked before work starts."""

import torch

from voi.errors import ConfigError


def check_device(name: str) -> None:
    """Raise the error for a device that torch does not have here.

    >>> check_device("cpu")
    """
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].split(" (")[0]
        raise ConfigError(
            f"device {name!r} cannot be used here ({reason}): take cpu, or install torch for it"
        ) from error
