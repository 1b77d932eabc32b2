"""benchmarks/nearness.py: pairs of steps are swapped, and what is told of them is what they are."""

from types import SimpleNamespace

import torch

import nearness
from voi.analysis import normalized_levenshtein

ORDERS = torch.tensor([[3, 1, 0, 2, 4, 5], [2, 0, 1, 3, 4, 5], [0, 1, 2, 3, 4, 5]])
LENGTHS = torch.tensor([6, 3, 1])


def test_pairs_of_steps_are_swapped_within_a_caption():
    torch.manual_seed(0)
    assert nearness.swapped(ORDERS, LENGTHS, 0).equal(ORDERS)
    for _ in range(20):
        found = nearness.swapped(ORDERS, LENGTHS, 1)
        assert (found != ORDERS).sum(-1).tolist() == [2, 2, 0]
    many = nearness.swapped(ORDERS, LENGTHS, 7)
    assert many.sort(-1).values.equal(ORDERS.sort(-1).values)
    for order, before, n in zip(many, ORDERS, LENGTHS.tolist(), strict=True):
        assert order[n:].equal(before[n:])  # padding


def test_a_decoder_that_likes_near_orders_is_told_so():
    """Where log p is minus the distance, both columns agree and the ranks are opposite."""
    orders, lengths = ORDERS[:2], LENGTHS[:2]

    def log_prob(_, drawn):
        distances = normalized_levenshtein(drawn, orders, lengths.expand(drawn.shape[:-1]))
        return -torch.as_tensor(distances)

    decoder = SimpleNamespace(log_prob=log_prob)
    networks, batch = SimpleNamespace(decoder=decoder), SimpleNamespace(lengths=lengths)
    torch.manual_seed(0)
    rows, correlation = nearness.measured(
        SimpleNamespace(batch=batch, common=orders, networks=networks)
    )
    assert [row[0] for row in rows] == [str(count) for count in nearness.SWAPS]
    assert rows[0][1] == "0.00"
    for _, distance, reward in rows:
        assert abs(float(distance) + float(reward)) <= 0.055  # their last digits
    assert abs(correlation + 1) < 1e-6
