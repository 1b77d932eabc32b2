"""Shares of sampled orders: those of the model's own samples, and certain where the order is."""

import numpy as np
import torch

from study_models import CAPTIONS, TEXTS, made_model
from voi.study import step_shares


def test_shares_are_those_of_the_samples(model):
    shares = step_shares(model, "c a", ["b", "c", "a", "b"], samples=50, seed=3)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        orders = np.array(model.infer_order("c a", "b c a b", samples=50))
    expected = [[np.mean(orders[:, t] == i) for i in range(4)] for t in range(4)]
    np.testing.assert_allclose(shares, expected)
    assert 0 < shares.max() < 1  # the law is not a point mass, or little is said


def test_every_step_writes_one_position_and_every_position_is_written(captioner):
    shares = step_shares(captioner, CAPTIONS[2].source, ["a", "tree", "by", "the", "road"])
    np.testing.assert_allclose(shares.sum(0), 1)
    np.testing.assert_allclose(shares.sum(1), 1)


def test_a_fixed_order_is_certain():
    shares = step_shares(made_model(TEXTS, kind="r2l"), "a", ["c", "b", "a"])
    np.testing.assert_array_equal(shares, np.eye(3)[::-1])


def test_shares_follow_the_seed_and_leave_the_random_numbers_alone(model):
    before = torch.random.get_rng_state()
    first, again, other = (step_shares(model, "a", ["c", "b", "a"], seed=s) for s in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
