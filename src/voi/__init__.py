"""Learn the order in which a sequence is generated: variational order inference."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voi import analysis as analysis
    from voi import decoder as decoder
    from voi import distributions as distributions
    from voi import permutation as permutation
    from voi.analysis import kendall_tau, normalized_levenshtein, order_rank_correlation
    from voi.data import Example, Regions
    from voi.errors import VoiError
    from voi.likelihood import Likelihood
    from voi.model import Model, load
    from voi.search import Hypothesis, Sampling

    __version__: str

_HOMES = {
    "Example": "voi.data",
    "Hypothesis": "voi.search",
    "Likelihood": "voi.likelihood",
    "Model": "voi.model",
    "Regions": "voi.data",
    "Sampling": "voi.search",
    "VoiError": "voi.errors",
    "kendall_tau": "voi.analysis",
    "load": "voi.model",
    "normalized_levenshtein": "voi.analysis",
    "order_rank_correlation": "voi.analysis",
}

_MODULES = ("analysis", "decoder", "distributions", "permutation")

__all__ = [
    "Example",
    "Hypothesis",
    "Likelihood",
    "Model",
    "Regions",
    "Sampling",
    "VoiError",
    "kendall_tau",
    "load",
    "normalized_levenshtein",
    "order_rank_correlation",
]


def __getattr__(name: str) -> Any:
    """Import a public name or module when it is first used: `import voi` itself costs nothing."""
    if name == "__version__":
        return import_module("voi.version").version()
    if name in _MODULES:
        return import_module(f"voi.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'voi' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, whether they were used already or not."""
    return sorted([*__all__, *_MODULES, "__version__"])
