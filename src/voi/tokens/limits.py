"""Examples that are longer than an experiment allows: how many, which, and what to set."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from voi.config import DataConfig
from voi.data.example import Example, place_of
from voi.data.readers import MAX_SHOWN, shown

ANY_LENGTH = DataConfig(max_source_length=10**9, max_target_length=10**9)


@dataclass
class Limit:
    """A largest length, and what was longer."""

    name: str  # of the setting, within [data]
    most: int
    longest: int = 0
    num_over: int = 0
    first_over: list[tuple[int, int]] = field(default_factory=list)  # index, length

    def add(self, length: int, index: int) -> bool:
        """Return whether the length of an example is within the limit."""
        self.longest = max(self.longest, length)
        if length <= self.most:
            return True
        self.num_over += 1
        if len(self.first_over) < MAX_SHOWN:
            self.first_over.append((index, length))
        return False

    def problem(self, examples: Sequence[Example]) -> str:
        """Return how many examples are longer, the first of them by file and line."""
        are = "is" if self.num_over == 1 else "are"
        places = [f"{place_of(examples, index)} ({length})" for index, length in self.first_over]
        return (
            f"{self.num_over:,} of {len(examples):,} examples {are} longer than "
            f"data.{self.name}={self.most}: {shown(places, self.num_over)}"
        )


def limits_of(config: DataConfig) -> tuple[Limit, Limit]:
    """Return the limits of sources and of targets."""
    return (
        Limit("max_source_length", config.max_source_length),
        Limit("max_target_length", config.max_target_length),
    )


def problems(limits: Sequence[Limit], examples: Sequence[Example]) -> str:
    """Return what is too long for its limit; empty if nothing is."""
    return ", ".join(limit.problem(examples) for limit in limits if limit.num_over)


def advice(limits: Sequence[Limit]) -> str:
    """Return the settings under which all examples, or all but the long ones, are used."""
    raised = " ".join(f"--set data.{x.name}={x.longest}" for x in limits if x.num_over)
    return f"leave them out with --set data.long_examples=skip, or allow them with {raised}"
