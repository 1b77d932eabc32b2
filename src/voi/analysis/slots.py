"""Orders and slots on plain lists, as voi.permutation has them on tensors."""

from bisect import bisect_left
from collections.abc import Sequence


def slots_of(order: Sequence[int]) -> tuple[int, ...]:
    """Return how many tokens stand to the left of each token when it is written.

    slot[t] = #{ s < t : order[s] < order[t] }

    >>> slots_of((2, 0, 1))
    (0, 0, 1)
    """
    written: list[int] = []
    slots = []
    for position in order:
        slots.append(bisect_left(written, position))
        written.insert(slots[-1], position)
    return tuple(slots)


def order_of_slots(slots: Sequence[int]) -> list[int]:
    """Return order[t], the final position of step t's token: the inverse of `slots_of`.

    >>> order_of_slots([0, 0, 1])
    [2, 0, 1]
    """
    written: list[int] = []
    for step, slot in enumerate(slots):
        if not 0 <= slot <= step:
            raise ValueError(
                f"slots must lie between 0 and their step, as many tokens are written then, got "
                f"{slot} at step {step}"
            )
        written.insert(slot, step)
    order = [0] * len(written)
    for place, step in enumerate(written):
        order[step] = place
    return order
