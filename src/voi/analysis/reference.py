"""Fixed orders to compare with, on plain token lists: order[t] = position written at step t."""

from collections import deque
from collections.abc import Mapping, Sequence


def l2r_order(tokens: Sequence[object]) -> list[int]:
    """Return the left-to-right order.

    >>> l2r_order(["a", "red", "bus"])
    [0, 1, 2]
    """
    return list(range(len(tokens)))


def r2l_order(tokens: Sequence[object]) -> list[int]:
    """Return the right-to-left order.

    >>> r2l_order(["a", "red", "bus"])
    [2, 1, 0]
    """
    return list(reversed(range(len(tokens))))


def common_order(tokens: Sequence[str], counts: Mapping[str, int]) -> list[int]:
    """Return the order from the most to the least frequent token, equal counts from the left.

    `counts` are the frequencies of target tokens in the training set; an absent token counts 0.

    >>> common_order(["a", "red", "bus", "a"], {"a": 9, "bus": 4})
    [0, 3, 2, 1]
    """
    return sorted(range(len(tokens)), key=lambda i: -counts.get(tokens[i], 0))


def rare_order(tokens: Sequence[str], counts: Mapping[str, int]) -> list[int]:
    """Return the order from the least to the most frequent token, equal counts from the left.

    Because ties go by position in both, this is not `common_order` reversed.

    >>> rare_order(["a", "red", "bus", "a"], {"a": 9, "bus": 4})
    [1, 2, 0, 3]
    """
    return sorted(range(len(tokens)), key=lambda i: counts.get(tokens[i], 0))


def tree_order(tokens: Sequence[object]) -> list[int]:
    """Return the balanced binary order: the middle, then the middle of each half, level by level.

    A stretch of even length is split at the lower of its two middles; a level goes left to right.

    >>> tree_order("a b c d e f".split())
    [2, 0, 4, 1, 3, 5]
    """
    order: list[int] = []
    stretches = deque([(0, len(tokens))])
    while stretches:
        start, end = stretches.popleft()
        if start < end:
            middle = (start + end - 1) // 2
            order.append(middle)
            stretches += [(start, middle), (middle + 1, end)]
    return order
