"""Attention with few keys against that of torch, values and gradients."""

import math

import pytest
import torch
from torch.nn import functional as F

from voi.attention import _ShortRows, attend


@pytest.fixture
def called(monkeypatch):
    """The calls that were not left to torch."""
    found = []
    short = _ShortRows.apply

    def counted(*inputs):
        found.append(inputs)
        return short(*inputs)

    monkeypatch.setattr("voi.attention._ShortRows.apply", counted)
    return found


def inputs(n, m, dtype=torch.float32):
    """Queries, keys, values, as they come from a projection, and a bias."""
    torch.manual_seed(0)
    heads = [torch.randn(2, length, 3, 4).transpose(1, 2) for length in (n, m, m)]
    return [x.to(dtype).requires_grad_() for x in (*heads, torch.randn(2, 3, n, m))]


def visible_keys(m):
    """A mask for two rows: all keys, and the first one alone."""
    return torch.stack([torch.ones(m), torch.eye(m)[0]]).bool()[:, None, None]


def by_torch(queries, keys, values, visible, bias=None):
    """The function of torch, which takes a mask or a bias and not both."""
    mask = visible if bias is None else bias.masked_fill(~visible, -math.inf)
    return F.scaled_dot_product_attention(queries, keys, values, mask, scale=1.0)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (1, 15), (9, 1)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_values_and_gradients_are_those_of_torch(called, n, m, has_bias):
    *heads, bias = inputs(n, m)
    given = [*heads, bias] if has_bias else heads
    upstream = torch.randn(2, n, 3, 4).transpose(1, 2)
    values = [f(*heads, visible_keys(m), *given[3:]) for f in (attend, by_torch)]
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*(torch.autograd.grad(value, given, upstream) for value in values))
    assert len(called) == 1


def test_no_queries_have_no_values(called):
    *heads, bias = inputs(0, 3)
    value = attend(*heads, visible_keys(3), bias)
    assert value.shape == (2, 3, 0, 4)
    assert not torch.autograd.grad(value.sum(), heads)[1].any()
    assert called


def test_large_logits_stay_finite(called):
    queries, keys, values, bias = inputs(4, 6)
    given = 300 * queries, keys, values, visible_keys(6), 1000 * bias
    torch.testing.assert_close(attend(*given), by_torch(*given))
    assert called


def test_a_query_that_sees_nothing_gets_zeros(called):
    *heads, _ = inputs(4, 6)
    nothing = torch.zeros(2, 1, 1, 6, dtype=torch.bool)
    value = attend(*heads, nothing)
    torch.testing.assert_close(value, by_torch(*heads, nothing))
    assert not value.any()
    assert not torch.autograd.grad(value.sum(), heads)[0].any()
    assert called


def test_only_gradients_that_are_asked_for_are_given(called):
    queries, keys, values, bias = inputs(4, 6)
    attend(queries, keys.detach(), values, visible_keys(6), bias.detach()).sum().backward()
    assert keys.grad is None
    assert bias.grad is None
    assert queries.grad is not None
    assert called


def test_many_keys_none_and_other_numbers_are_left_to_torch(called):
    for m in (0, 16):
        *heads, bias = inputs(4, m)
        for biases in ([], [bias]):
            value = attend(*heads, visible_keys(m) if m else torch.ones(2, 1, 1, 0).bool(), *biases)
            assert value.shape == (2, 3, 4, 4)
    *heads, bias = inputs(4, 6, torch.float64)
    attend(*heads, visible_keys(6), bias)
    with torch.autocast("cpu", torch.bfloat16):
        *heads, bias = inputs(4, 6)
        assert attend(*heads, visible_keys(6), bias).dtype == torch.bfloat16
    assert not called


def test_many_keys_with_a_bias_are_those_of_torch(called):
    *heads, bias = inputs(5, 20)
    torch.testing.assert_close(
        attend(*heads, visible_keys(20), bias), by_torch(*heads, visible_keys(20), bias)
    )
    assert not called


def test_functional_gradients_are_left_to_torch(called):
    queries, keys, values, _ = (x.detach() for x in inputs(4, 6))

    def total(given):
        return attend(given, keys, values, visible_keys(6)).sum()

    gradient = torch.func.grad(total)(queries)
    queries.requires_grad_()
    assert not called
    torch.testing.assert_close(gradient, torch.autograd.grad(total(queries), queries)[0])


def test_second_derivatives_are_refused(called):
    *heads, bias = inputs(4, 6)
    for behind in (*heads, bias):
        seen = [x.tanh() for x in (*heads, bias)]  # whose own second derivative would be found
        value = attend(*seen[:3], visible_keys(6), seen[3]).sum()  # with a constant as gradient
        (gradient,) = torch.autograd.grad(value, behind, create_graph=True)
        with pytest.raises(RuntimeError, match="differentiated under"):
            torch.autograd.grad(gradient.square().sum(), behind)
