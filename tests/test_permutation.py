import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from enumeration import all_orders
from voi.permutation import (
    from_matrix,
    from_slots,
    insertion_neighbours,
    insertion_slots,
    inverse,
    is_permutation,
    relative_positions,
    to_matrix,
    token_mask,
)

SIZES = range(6)
orders = (
    st.integers(0, 30)
    .flatmap(lambda n: st.permutations(range(n)))
    .map(lambda z: torch.tensor(z, dtype=torch.int64))
)


def insert_one_by_one(order):
    """Play the insertions on a Python list; return slots, neighbours and the final sequence."""
    written, slots, left, right = [], [], [], []
    for t, position in enumerate(order):
        slot = sum(order[s] < position for s in written)
        circle = [0, *(s + 1 for s in written), 0]
        slots.append(slot)
        left.append(circle[slot])
        right.append(circle[slot + 1])
        written.insert(slot, t)
    return slots, left, right, [order[t] for t in written]


@pytest.mark.parametrize("n", SIZES)
def test_inverse_undoes_the_order(n):
    order = all_orders(n)
    assert torch.equal(order.gather(-1, inverse(order)), torch.arange(n).expand_as(order))


@pytest.mark.parametrize("n", SIZES)
def test_matrix_permutes_as_indexing_does(n):
    order, values = all_orders(n), torch.randn(n)
    assert torch.equal(to_matrix(order).float() @ values, values[order])
    assert torch.equal(from_matrix(to_matrix(order)), order)
    assert torch.equal(from_matrix(to_matrix(order).float()), order)


@pytest.mark.parametrize("n", SIZES)
def test_insertions_match_a_list_that_grows(n):
    order = all_orders(n)
    slots, neighbours = insertion_slots(order), insertion_neighbours(order)
    for row, z in enumerate(order.tolist()):
        expected_slots, left, right, final = insert_one_by_one(z)
        assert slots[row].tolist() == expected_slots
        assert neighbours.left[row].tolist() == left
        assert neighbours.right[row].tolist() == right
        assert final == list(range(n))


@pytest.mark.parametrize("n", SIZES)
def test_slots_and_orders_are_one_to_one(n):
    order = all_orders(n)
    slots = insertion_slots(order)
    assert torch.equal(from_slots(slots), order)
    assert len({tuple(row) for row in slots.tolist()}) == len(order)
    assert (slots <= torch.arange(n)).all()


def test_left_to_right_fills_the_last_slot():
    order = torch.arange(7)
    assert torch.equal(insertion_slots(order), order)
    assert torch.equal(insertion_neighbours(order).left, order)
    assert torch.equal(insertion_neighbours(order).right, torch.zeros(7, dtype=torch.int64))


@given(orders)
def test_long_orders_come_back_from_their_slots(order):
    assert torch.equal(from_slots(insertion_slots(order)), order)
    _, left, right, _ = insert_one_by_one(order.tolist())
    assert insertion_neighbours(order).left.tolist() == left
    assert insertion_neighbours(order).right.tolist() == right


@given(orders)
def test_relations_are_signs_of_position_differences(order):
    relations = relative_positions(order)
    z = order.tolist()
    assert relations.tolist() == [[(b > a) - (b < a) for b in z] for a in z]


@pytest.mark.parametrize(
    "function",
    [
        inverse,
        to_matrix,
        insertion_slots,
        lambda order: from_slots(insertion_slots(order)),
        relative_positions,
    ],
)
def test_leading_dimensions_are_rows_apart(function):
    order = all_orders(3).reshape(2, 3, 3)
    together = function(order)
    assert together.shape[:2] == (2, 3)
    for a in range(2):
        for b in range(3):
            assert torch.equal(together[a, b], function(order[a, b]))


@pytest.mark.parametrize("slots", [[0, 2], [0, -1], [1]])
def test_slots_that_are_not_there_are_refused(slots):
    with pytest.raises(ValueError, match="slots must lie between 0 and their step"):
        from_slots(torch.tensor(slots))


def test_from_slots_leaves_its_argument_alone():
    slots = torch.tensor([0, 0, 1])
    from_slots(slots)
    assert slots.tolist() == [0, 0, 1]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", [torch.int8, torch.uint8])
def test_positions_beyond_a_small_kind_of_slots_come_back(kind):
    order = torch.arange(299, -1, -1)  # from the right: every slot is 0
    assert torch.equal(from_slots(insertion_slots(order).to(kind)), order)


def test_is_permutation_finds_exactly_the_orders():
    grid = torch.cartesian_prod(*[torch.arange(-1, 4)] * 3)  # [125, 3]
    orders = {tuple(z) for z in all_orders(3).tolist()}
    assert is_permutation(grid).tolist() == [tuple(row) in orders for row in grid.tolist()]


def test_is_permutation_asks_for_the_identity_on_the_tail():
    order = all_orders(4)
    for length in range(5):
        accepted = is_permutation(order, torch.tensor(length))
        expected = [z[length:] == list(range(length, 4)) for z in order.tolist()]
        assert accepted.tolist() == expected


def test_is_permutation_broadcasts_lengths_over_samples():
    order = torch.tensor([[[0, 1, 2], [1, 0, 2]], [[0, 2, 1], [0, 2, 1]]])  # [K, batch, n]
    lengths = torch.tensor([3, 2])
    assert is_permutation(order, lengths).tolist() == [[True, True], [True, False]]


def test_small_integers_are_orders_too():
    order = torch.tensor([2, 0, 1], dtype=torch.int32)
    assert inverse(order).tolist() == [1, 2, 0]


def test_token_mask():
    assert token_mask(torch.tensor([0, 2]), 2).tolist() == [[False, False], [True, True]]
    assert token_mask(torch.tensor([0]), 0).shape == (1, 0)


@pytest.mark.parametrize("off", [0.0, 6e-8, 1e-3])
def test_matrices_may_be_off_by_rounding(off):
    orders = all_orders(4)
    matrices = torch.eye(4)[orders] * (1 - off) + off / 4
    assert torch.equal(from_matrix(P=matrices), orders)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "matrix",
    [torch.ones(3, 3), torch.eye(3)[[0, 0, 2]], torch.zeros(2, 2), torch.zeros(1, 0)],
)
def test_what_is_no_permutation_matrix_has_no_order(matrix):
    with pytest.raises(ValueError, match="expected a permutation matrix"):
        from_matrix(matrix)


@pytest.mark.usefixtures("unchecked")
def test_unsigned_orders_have_relations_too():
    order = torch.tensor([1, 0, 2])
    assert torch.equal(relative_positions(order.byte()), relative_positions(order))
