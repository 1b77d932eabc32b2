"""What may be asked of the playground: fields, defaults, limits (docs/serve.md, "API")."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NoReturn, TypeVar

from voi.config import SearchConfig
from voi.errors import ConfigError, DataError
from voi.search import Sampling
from voi.tables import from_table, require_between


@dataclass(frozen=True)
class Limits:
    """The most that one request may ask for."""

    body: int = 65_536  # bytes of a request
    beam: int = 32  # hypotheses, of targets or of orders
    samples: int = 64  # targets or orders drawn
    likelihood_samples: int = 1024  # orders behind a bound
    max_length: int = 256  # tokens of a target
    source_length: int = 512  # tokens of a source


LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class GenerateRequest:
    """A target to write; one of `gaps`, `prefix` and `keywords` may be given."""

    source: str = ""  # a text, or the name of an image; empty: nothing is given
    beam: int = 1
    nbest: int = 1
    length_penalty: float = 0.0
    max_length: int = 0
    merge: bool = False  # add up orders that spell the same text
    samples: int = 0  # draw this many targets instead of searching
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    gaps: str = ""
    prefix: str = ""
    keywords: tuple[str, ...] = ()
    keywords_in_order: bool = False

    def check(self, limits: Limits) -> None:
        """Raise where a number lies outside its range."""
        require_between(self, "", 1, limits.beam, "beam", "nbest")
        require_between(self, "", 0, limits.samples, "samples")
        require_between(self, "", -10, 10, "length_penalty")
        require_between(self, "", 1, limits.max_length, "max_length")
        require_between(self, "", 0.01, 100, "temperature")
        require_between(self, "", 0.001, 1, "top_p")
        require_between(self, "", 0, LARGEST_SEED, "seed")
        if len(self.rules) > 1:
            raise ConfigError(
                f"give one of gaps, prefix and keywords, got {' and '.join(self.rules)}"
            )
        if not all(word.strip() for word in self.keywords):
            raise ConfigError("expected keywords, got an empty one: leave it out")

    @property
    def rules(self) -> dict[str, Any]:
        """The constraint that is given, as `Model.generate` takes it for one source."""
        given = {"gaps": self.gaps, "prefix": self.prefix, "keywords": self.keywords}
        return {name: [value] for name, value in given.items() if value}

    @property
    def sampling(self) -> Sampling | None:
        if not self.samples:
            return None
        return Sampling(self.samples, self.temperature, self.top_p, self.seed)


@dataclass(frozen=True)
class OrderRequest:
    """A target whose order is asked for."""

    target: str
    source: str = ""
    by: Literal["mode", "samples", "beam"] = "mode"  # of the model's law; beam: under the decoder
    samples: int = 8
    beam: int = 8
    seed: int = 0

    def check(self, limits: Limits) -> None:
        """Raise where a number lies outside its range."""
        require_between(self, "", 1, limits.samples, "samples")
        require_between(self, "", 1, limits.beam, "beam")
        require_between(self, "", 0, LARGEST_SEED, "seed")


@dataclass(frozen=True)
class LikelihoodRequest:
    """A target whose probability is asked for."""

    target: str
    source: str = ""
    samples: int = 64
    seed: int = 0

    def check(self, limits: Limits) -> None:
        """Raise where a number lies outside its range."""
        require_between(self, "", 1, limits.likelihood_samples, "samples")
        require_between(self, "", 0, LARGEST_SEED, "seed")


Request = TypeVar("Request", GenerateRequest, OrderRequest, LikelihoodRequest)


def read(kind: type[Request], table: Mapping[str, Any], limits: Limits) -> Request:
    """Return the request that a table describes; a wrong one is a VoiError."""
    if "target" not in table and kind is not GenerateRequest:
        raise ConfigError('expected a "target", got none: say which text is meant')
    request = from_table(kind, table)
    request.check(limits)
    return request


def defaults(search: SearchConfig, limits: Limits) -> dict[str, Any]:
    """Return the values of the fields that a request leaves out: the run's own settings."""
    plain = asdict(GenerateRequest())
    return {
        **plain,
        "beam": min(search.beam, limits.beam),
        "length_penalty": search.length_penalty,
        "max_length": min(search.max_length or limits.max_length, limits.max_length),
    }


def read_json(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request's body."""
    try:
        table = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"expected JSON in UTF-8, got what is none: {reason}") from error
    if not isinstance(table, dict):
        raise DataError(f"expected a JSON object, got {type(table).__name__}")
    return table


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
