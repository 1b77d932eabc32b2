"""Devices by name, and random numbers on them."""

from collections.abc import Iterator
from contextlib import contextmanager

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


def start_random_numbers(seed: int, device: torch.device | str) -> None:
    """Draw by a seed from here on.

    `torch.manual_seed` asks every kind of accelerator, which takes a millisecond.
    """
    is_cpu = torch.device(device).type == "cpu"
    (torch.default_generator.manual_seed if is_cpu else torch.manual_seed)(seed)


@contextmanager
def seeded(seed: int, device: torch.device | str) -> Iterator[None]:
    """Draw by a seed inside; outside, random numbers go on as if nothing had been drawn.

    >>> with seeded(1, "cpu"):
    ...     first = torch.rand(2)
    >>> with seeded(1, "cpu"):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    device = torch.device(device)
    others = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(others, device_type=device.type if others else "cuda"):
        start_random_numbers(seed, device)
        yield
