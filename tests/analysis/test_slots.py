"""Slots from orders and orders from slots, on plain lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voi.analysis import order_of_slots, slots_of

ORDERS = st.integers(0, 7).flatmap(lambda n: st.permutations(range(n)))


@given(ORDERS)
def test_slots_follow_their_definition(order):
    expected = [sum(order[s] < order[t] for s in range(t)) for t in range(len(order))]
    assert list(slots_of(order)) == expected


@pytest.mark.parametrize(
    ("slots", "order"),
    [([], []), ([0, 1, 2], [0, 1, 2]), ([0, 0, 0], [2, 1, 0]), ([0, 1, 1, 0], [1, 3, 2, 0])],
)
def test_orders_by_hand(slots, order):
    assert order_of_slots(slots) == order


def test_slots_beyond_what_is_written_are_refused():
    for slots in ([0, 2], [0, -1], [1]):
        with pytest.raises(ValueError, match="between 0 and their step"):
            order_of_slots(slots)


@given(ORDERS)
def test_slots_lead_back_to_their_order(order):
    assert order_of_slots(slots_of(order)) == list(order)
