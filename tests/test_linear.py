"""Linear maps by oneDNN against those of torch, values and gradients."""

import pytest
import torch
from torch.nn import functional as F

from voi.linear import Linear, linear, onednn_linear

SHAPES = [(5,), (2, 3), (2, 0), (1, 1)]


@pytest.fixture
def called(monkeypatch):
    """All products are large enough; the ones that oneDNN computed are counted."""
    found = []

    def counted(*inputs):
        found.append(inputs)
        return onednn_linear(*inputs)

    monkeypatch.setattr("voi.linear._LEAST_PRODUCTS", 0)
    monkeypatch.setattr("voi.linear.onednn_linear", counted)
    if not torch.backends.mkldnn.is_available():
        pytest.skip("torch was built without oneDNN")
    return found


def inputs(shape, dtype=torch.float32):
    torch.manual_seed(0)
    x, weight, bias = torch.randn(*shape, 7), torch.randn(4, 7), torch.randn(4)
    return [value.to(dtype).requires_grad_() for value in (x, weight, bias)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("has_bias", [True, False])
def test_values_and_gradients_are_those_of_torch(called, shape, has_bias):
    given = inputs(shape)[: 3 if has_bias else 2]
    upstream = torch.randn(*shape, 4)
    values = [function(*given) for function in (linear, F.linear)]
    torch.testing.assert_close(*values)
    torch.testing.assert_close(*(torch.autograd.grad(value, given, upstream) for value in values))
    assert len(called) == 2  # value, gradient of x


def test_strides_do_not_matter(called):
    x, weight, bias = inputs((6,))
    views = x.detach().t().contiguous().t(), weight.detach().t().contiguous().t(), bias.detach()
    spread = x.detach()[:1].expand(6, -1)
    torch.testing.assert_close(linear(*views), F.linear(*views))
    torch.testing.assert_close(linear(spread, weight, bias), F.linear(spread, weight, bias))
    value = linear(x, weight, bias)
    torch.testing.assert_close(  # a gradient without memory of its own
        torch.autograd.grad(value.sum(), x), torch.autograd.grad(F.linear(x, weight).sum(), x)
    )


def test_only_gradients_that_are_asked_for_are_computed(called):
    x, weight, bias = inputs((5,))
    linear(x.detach(), weight, bias).sum().backward()
    assert len(called) == 1
    assert x.grad is None
    frozen = linear(x, weight.detach(), None)
    assert torch.autograd.grad(frozen.sum(), x)[0].shape == x.shape


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # of leaving `flags`
def test_other_numbers_and_switches_are_left_to_torch(called):
    linear(*inputs((5,), torch.float64))
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(*inputs((5,))).dtype == torch.bfloat16
    with torch.backends.mkldnn.flags(enabled=False):
        linear(*inputs((5,)))
    assert not called


def test_small_products_are_left_to_torch(called, monkeypatch):
    layer = Linear(7, 4)
    monkeypatch.setattr("voi.linear._LEAST_PRODUCTS", 5 * 7 * 4)
    with torch.no_grad():
        layer(torch.randn(4, 7))
    layer(torch.randn(4, 7))
    assert not called
    with torch.no_grad():
        layer(torch.randn(5, 7))
    layer(torch.randn(5, 7))
    assert len(called) == 2


def test_second_derivatives_are_refused(called):
    x, weight, bias = inputs((5,))
    total = linear(x.tanh(), weight.tanh(), bias).sum()  # with a constant as gradient
    (gradient,) = torch.autograd.grad(total, x, create_graph=True)
    for behind in (x, weight):
        with pytest.raises(RuntimeError, match="differentiated under"):
            torch.autograd.grad(gradient.square().sum(), behind, retain_graph=True)


def test_a_vector_and_functional_gradients_are_left_to_torch(called):
    x, weight, bias = inputs(())
    linear(x, weight, bias).sum().backward()
    layer = Linear(7, 4)
    parameters = dict(layer.named_parameters())

    def total(given):
        return torch.func.functional_call(layer, given, (torch.ones(3, 7),)).sum()

    gradient = torch.func.grad(total)(parameters)["weight"]
    torch.testing.assert_close(gradient, torch.full((4, 7), 3.0))
    assert not called
