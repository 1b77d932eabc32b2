"""A trace as the sequence of partial sentences that it went through."""

from dataclasses import dataclass

from voi.analysis import Trace


@dataclass(frozen=True)
class Step:
    """The partial sentence after one step."""

    tokens: tuple[str, ...]  # [t], in reading order
    new: int  # index of the token just written

    @property
    def marked(self) -> list[tuple[str, bool]]:
        """The tokens, each with whether it is the new one."""
        return [(token, i == self.new) for i, token in enumerate(self.tokens)]


def steps_of(trace: Trace) -> list[Step]:
    """Return the partial sentence after every step.

    >>> trace = Trace(
    ...     target="a b", tokens=("a", "b"), order=(1, 0), slots=(0, 0), kind="generated"
    ... )
    >>> steps_of(trace)
    [Step(tokens=('b',), new=0), Step(tokens=('a', 'b'), new=0)]
    """
    written: list[str] = []
    steps = []
    for position, slot in zip(trace.order, trace.slots, strict=True):
        written.insert(slot, trace.tokens[position])
        steps.append(Step(tuple(written), slot))
    return steps
