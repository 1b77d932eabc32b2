"""What a user asks of a model, checked: each error says which argument, and what it should be."""

import reprlib
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from voi.errors import ConfigError
from voi.search import Sampling

_NO_LISTS = str | bytes | Mapping | Set  # of text in one piece, or of no order
_FORMS = {"gaps": '["a ___ bus"]', "prefix": '["a red"]', "keywords": '[["bus", "red"]]'}


def check_numbers(kind: str, is_kind: type, **given: object) -> None:
    """Raise the error of the first argument that is no number of this kind."""
    for name, value in given.items():
        if not isinstance(value, is_kind) or isinstance(value, bool):
            raise ConfigError(f"{name} must be {kind}, got {value!r}")


def check_counts(sample: object, is_merged: bool, nbest: int, beam: int, first: int) -> None:
    """Raise where samples, merging, n-best lists and the beam do not go together."""
    if sample is not None and not isinstance(sample, Sampling):
        raise ConfigError(f"sample must be as in voi.Sampling(num_samples=5), got {sample!r}")
    if sample and is_merged:
        raise ConfigError("merge adds up the orders found by a beam: give it without sample")
    if sample and nbest > 1:
        raise ConfigError(f"samples are counted by sample.num_samples, not nbest (got {nbest})")
    if nbest < 1:
        raise ConfigError(f"nbest must be at least 1, got {nbest}")
    if not sample and nbest > beam:
        raise ConfigError(f"nbest must be at most the beam, got {nbest} and {beam}: widen the beam")
    if first < 0:
        raise ConfigError(f"first, the number of the first source, must be at least 0, got {first}")


def check_sources(sources: object) -> None:
    """Raise where sources are nothing that gives them one after the other."""
    if not isinstance(sources, Iterable) or isinstance(sources, _NO_LISTS):
        raise ConfigError(f"expected a list of sources, got {reprlib.repr(sources)}")


def check_form(name: str, given: Any) -> None:
    """Raise the error of gaps, prefix or keywords that are no list with an entry per source."""
    is_right = _are_texts(given)
    if name == "keywords":
        is_right = _is_list(given) and all(map(_are_texts, given))
    if given is not None and not is_right:
        raise ConfigError(
            f"{name} must be a list with one entry per source, as in {name}={_FORMS[name]}, got "
            f"{reprlib.repr(given)}"
        )


def _are_texts(value: Any) -> bool:
    return _is_list(value) and all(isinstance(text, str) for text in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, _NO_LISTS)
