"""A law over a few listed orders: shapes of its two parameters."""

import pytest
import torch

from voi.distributions import Listed


def test_one_list_of_weights_serves_many_lists_of_orders():
    orders = torch.tensor([[[0, 1], [1, 0]]]).expand(3, 2, 2)
    law = Listed(orders, torch.tensor([0.0, 1.0]))
    assert law.batch_shape == (3,)
    expected = torch.tensor([0.0, 1.0]).log_softmax(-1)
    torch.testing.assert_close(law.log_prob(orders[:, 1]), expected[1].expand(3))


def test_orders_and_weights_must_be_as_many():
    with pytest.raises(ValueError, match=r"orders must be \[\*batch, m, n\] and logits"):
        Listed(torch.tensor([[0, 1], [1, 0]]), torch.zeros(3))
    with pytest.raises(ValueError, match=r"orders must be \[\*batch, m, n\] and logits"):
        Listed(torch.tensor([0, 1]), torch.tensor(0.0))


def test_a_batch_may_be_empty():
    law = Listed(torch.zeros(0, 1, 3, dtype=torch.long), torch.zeros(0, 1))
    assert law.sample((2,)).shape == (2, 0, 3)


def test_no_samples_have_a_shape_too():
    law = Listed(torch.tensor([[0, 1], [1, 0]]), torch.zeros(2))
    assert law.sample((0,)).shape == (0, 2)
    assert law.sample((2, 0)).shape == (2, 0, 2)
