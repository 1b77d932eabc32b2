"""Token and slot heads against plain implementations, values and gradients."""

from functools import partial

import pytest
import torch

from voi.decoder import heads
from voi.decoder.heads import SlotHead, token_logits, token_terms
from voi.permutation import Neighbours
from voi.tokens import PAD, START

ROWS, WIDTH, SIZE = 11, 6, 9
PRODUCIBLE = [token for token in range(SIZE) if token not in (PAD, START)]


def inputs(dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(ROWS, WIDTH, generator=generator, dtype=dtype)
    weight = torch.randn(SIZE, WIDTH, generator=generator, dtype=dtype)
    picks = torch.randint(len(PRODUCIBLE), (ROWS,), generator=generator)
    return hidden.requires_grad_(), weight.requires_grad_(), torch.tensor(PRODUCIBLE)[picks]


def plain_terms(hidden, weight, tokens):
    """The full table of log-probabilities over producible tokens, then the entries asked for."""
    table = (hidden @ weight[PRODUCIBLE].T).log_softmax(-1)
    columns = torch.tensor([PRODUCIBLE.index(token) for token in tokens.tolist()])
    return table[torch.arange(len(tokens)), columns], table.mean(-1)


@pytest.fixture(params=[1, 4, ROWS - 1, ROWS, 1000])
def rows_per_chunk(request, monkeypatch):
    monkeypatch.setattr(heads, "CHUNK", request.param * SIZE)
    return request.param


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_terms_are_those_of_a_full_softmax(rows_per_chunk, dtype, tolerance):
    hidden, weight, tokens = inputs(dtype)
    chosen, mean = token_terms(hidden, weight, tokens)
    assert chosen.dtype == mean.dtype == dtype
    for value, expected in zip((chosen, mean), plain_terms(hidden, weight, tokens), strict=True):
        torch.testing.assert_close(value, expected, rtol=tolerance, atol=tolerance)


def test_gradients_are_those_of_a_full_softmax(rows_per_chunk):
    hidden, weight, tokens = inputs()
    upstream = torch.randn(2, ROWS, dtype=torch.float64)
    found, expected = (
        torch.autograd.grad(torch.stack(terms(hidden, weight, tokens)), (hidden, weight), upstream)
        for terms in (token_terms, plain_terms)
    )
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_gradients_are_those_of_finite_differences(rows_per_chunk):
    hidden, weight, tokens = inputs()
    assert torch.autograd.gradcheck(
        lambda h, w: token_terms(h, w, tokens), (hidden, weight), fast_mode=True
    )


def test_tokens_that_are_far_too_unlikely_for_float32(rows_per_chunk):
    """A probability of exp(-200) is zero in float32, its logarithm is not."""
    hidden, weight, tokens = inputs(torch.float32)
    exact = plain_terms(25 * hidden.double(), weight.double(), tokens)
    assert (exact[0] < -104).any()  # where float32 ends
    assert (exact[0] > -60).any()
    for value, expected in zip(token_terms(25 * hidden, weight, tokens), exact, strict=True):
        torch.testing.assert_close(value.double(), expected, rtol=1e-5, atol=1e-4)


def test_a_second_backward_pass_gives_the_same_gradients(rows_per_chunk):
    """Logits kept for the backward pass are overwritten there, so they must not be used twice."""
    hidden, weight, tokens = inputs()
    total = token_terms(hidden, weight, tokens).chosen.sum()
    first = torch.autograd.grad(total, (hidden, weight), retain_graph=True)
    second = torch.autograd.grad(total, (hidden, weight))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_second_derivatives_are_refused():
    hidden, weight, tokens = inputs()
    total = token_terms(hidden.tanh(), weight.tanh(), tokens).chosen.sum()
    (gradient,) = torch.autograd.grad(total, hidden, create_graph=True)
    for behind in (hidden, weight):
        with pytest.raises(RuntimeError, match="differentiated under"):
            torch.autograd.grad(gradient.square().sum(), behind, retain_graph=True)


def test_second_derivatives_under_torch_func_are_those_of_a_softmax():
    hidden, weight, tokens = (x.detach() for x in inputs())

    def total(terms, hidden):
        chosen, mean = terms(hidden, weight, tokens)
        return chosen.sum() + mean.square().sum()

    found, wanted = (
        torch.func.jacrev(torch.func.jacrev(partial(total, terms)))(hidden)
        for terms in (token_terms, plain_terms)
    )
    torch.testing.assert_close(found, wanted)


def test_no_tokens_at_all():
    hidden, weight, _ = inputs()
    chosen, mean = token_terms(hidden[:0], weight, torch.zeros(0, dtype=torch.long))
    assert chosen.shape == mean.shape == (0,)
    (chosen.sum() + mean.sum()).backward()
    assert not weight.grad.any()


def test_low_precision_keeps_terms_in_float32():
    hidden, weight, tokens = inputs(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        chosen, mean = token_terms(hidden, weight, tokens)
    assert chosen.dtype == mean.dtype == torch.float32
    for value, expected in zip((chosen, mean), plain_terms(hidden, weight, tokens), strict=True):
        torch.testing.assert_close(value, expected, rtol=0.02, atol=0.1)
    (chosen.sum() + mean.sum()).backward()
    assert hidden.grad.dtype == weight.grad.dtype == torch.float32


def test_pad_and_start_have_no_probability():
    hidden, weight, _ = inputs()
    probabilities = token_logits(hidden.detach(), weight.detach()).softmax(-1)
    assert not probabilities[:, [PAD, START]].any()
    assert (probabilities[:, PRODUCIBLE] > 0).all()


def test_slot_names_on_the_circle():
    """Scores given by hand: three written elements, read START, 2, 1, make three slots."""
    head = SlotHead(1)
    scores = torch.tensor([[0.1, 0.7, -0.4], [1.2, -0.3, 0.5]])  # right of, left of each element
    queries = torch.ones(1, 3, 1)
    keys = scores.t().reshape(1, 3, 2, 1)
    written = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    last_slots = []
    for left, right in ((0, 2), (2, 1), (1, 0)):
        neighbours = Neighbours(torch.tensor([[0, 0, left]]), torch.tensor([[0, 1, right]]))
        terms = head(queries, keys, written, neighbours)[0]
        last_slots.append(terms[2])
        torch.testing.assert_close(terms[0], torch.tensor(0.0))  # one slot only
    e = scores.exp()
    expected = torch.stack([e[0, 0] + e[1, 2], e[0, 2] + e[1, 1], e[0, 1] + e[1, 0]]) / e.sum()
    torch.testing.assert_close(torch.stack(last_slots).exp(), expected)
    torch.testing.assert_close(torch.stack(last_slots).exp().sum(), torch.tensor(1.0))


def test_confident_tokens_keep_their_gradient_in_bfloat16(rows_per_chunk):
    hidden, weight, tokens = (
        x.to(torch.bfloat16) if x.is_floating_point() else x for x in inputs()
    )
    hidden = (hidden + 3 * weight[tokens]).detach().requires_grad_()
    weight = weight.detach().requires_grad_()
    fine = hidden.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    found = torch.autograd.grad(token_terms(hidden, weight, tokens).chosen.sum(), hidden)[0]
    expected = torch.autograd.grad(plain_terms(*fine, tokens)[0].sum(), fine[0])[0]
    probs = plain_terms(*fine, tokens)[0].exp()
    sure = (probs > 0.99) & (probs < 0.9999)
    assert sure.any()
    assert (found - expected)[sure].norm() < 0.05 * expected[sure].norm()


def test_a_frequent_token_keeps_the_gradient_of_smoothing_in_bfloat16():
    """Its rows are many and small; each of them is lost where they are added in bfloat16."""
    hidden, weight, _ = inputs(torch.bfloat16)
    hidden = hidden.detach().repeat(50, 1) / 4 + 1
    tokens = torch.full((len(hidden),), PRODUCIBLE[2])
    coarse, fine = weight.detach().requires_grad_(), weight.detach().double().requires_grad_()

    def smoothed(terms):
        return 0.9 * terms[0].sum() + 0.1 * terms[1].sum()

    smoothed(token_terms(hidden, coarse, tokens)).backward()
    smoothed(plain_terms(hidden.double(), fine, tokens)).backward()
    row = PRODUCIBLE[2]
    assert (coarse.grad - fine.grad)[row].norm() < 0.01 * fine.grad[row].norm()
