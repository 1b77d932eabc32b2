"""A user's law over orders, found by its name and tried before anything is learned with it."""

from collections.abc import Callable

import torch
from torch import Tensor

from voi.distributions import OrderLaw
from voi.errors import ConfigError
from voi.extras import failed, load_callable
from voi.permutation import is_permutation

_CALLED = "(logits, lengths, validate_args=False) and be a voi.distributions.OrderLaw"
_EXPECTED = "a voi.distributions.OrderLaw with sample, log_prob and mode (docs/extending.md)"
_LENGTHS = (3, 2)  # of the targets it is tried on
_NUM_SAMPLES = 4


def load_law(name: str) -> Callable[..., OrderLaw]:
    """Return the class that is named module:Class; one that cannot be learned is an error."""
    law = load_callable(name, "law", _CALLED, "logits", "lengths", validate_args=False)
    with torch.device("cpu"), torch.random.fork_rng(devices=[]), torch.no_grad():
        try:
            _try(law, name)
        except ConfigError:
            raise
        except Exception as error:
            raise failed(name, error, _EXPECTED) from error
    return law


def _try(law: Callable[..., OrderLaw], name: str) -> None:
    """Draw and score orders of two targets, and look at what comes back."""
    lengths, n = torch.tensor(_LENGTHS), max(_LENGTHS)
    is_vector = getattr(law, "logits_shape", "matrix") == "vector"
    shape = (len(lengths), n) if is_vector else (len(lengths), n, n)
    q = law(torch.zeros(shape), lengths, validate_args=False)
    if not isinstance(q, OrderLaw):
        raise ConfigError(f"{name} must be {_EXPECTED}, got {type(q).__name__}")
    orders = q.sample(torch.Size([_NUM_SAMPLES]))
    _check_orders(orders, (_NUM_SAMPLES, len(lengths), n), lengths, f"{name}.sample")
    _check_orders(q.mode, (len(lengths), n), lengths, f"{name}.mode")
    _check_shape(q.log_prob(orders), (_NUM_SAMPLES, len(lengths)), f"{name}.log_prob")


def _check_orders(value: object, shape: tuple[int, ...], lengths: Tensor, where: str) -> None:
    orders = _check_shape(value, shape, where)
    if orders.is_floating_point() or not bool(is_permutation(orders, lengths).all()):
        raise ConfigError(
            f"{where} must give permutations of each target's positions, padding in place at the "
            f"tail (order[t] = t for t >= length), got {orders.flatten(0, -2)[0].tolist()} among "
            f"others for lengths {list(_LENGTHS)}"
        )


def _check_shape(value: object, shape: tuple[int, ...], where: str) -> Tensor:
    if isinstance(value, Tensor) and tuple(value.shape) == shape:
        return value
    found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
    raise ConfigError(
        f"{where} must give a tensor of shape {shape} for {len(_LENGTHS)} targets of up to "
        f"{max(_LENGTHS)} tokens, got {found}"
    )
