import itertools
import math

import pytest
import torch

from chance import assert_frequencies
from enumeration import all_orders
from voi.distributions import MatrixPlackettLuce, PlackettLuce
from voi.distributions.matrix_plackett_luce import best_by_beam, best_by_subsets


def logits(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def picked_one_by_one(rows, order):
    """The log probability of an order, drawn by softmax over what is left, row t at step t."""
    left, total = list(range(len(order))), 0.0
    for row, position in zip(rows, order, strict=True):
        total += row[left].log_softmax(0)[left.index(position)]
        left.remove(position)
    return total


@pytest.mark.parametrize("n", range(1, 6))
def test_densities_are_products_of_softmaxes_over_what_is_left(n):
    X, orders = logits(n, n), all_orders(n)
    stepwise = torch.stack([picked_one_by_one(X, z) for z in orders.tolist()])
    torch.testing.assert_close(MatrixPlackettLuce(X).log_prob(orders), stepwise)
    same_rows = torch.stack([picked_one_by_one([X[0]] * n, z) for z in orders.tolist()])
    torch.testing.assert_close(PlackettLuce(X[0]).log_prob(orders), same_rows)


def test_equal_rows_make_the_matrix_law_plackett_luce():
    scores, orders = (
        logits(3, 6),
        torch.stack([torch.randperm(6) for _ in range(30)]).reshape(10, 3, 6),
    )
    rows = scores.unsqueeze(-2).expand(3, 6, 6)
    vector, matrix = PlackettLuce(scores), MatrixPlackettLuce(rows)
    torch.testing.assert_close(matrix.log_prob(orders), vector.log_prob(orders))


@pytest.mark.parametrize("law", [PlackettLuce, MatrixPlackettLuce])
def test_scores_far_apart_give_finite_densities_and_gradients(law):
    shape = (4,) if law is PlackettLuce else (4, 4)
    X = (1000 * logits(*shape)).requires_grad_()
    log_prob = law(X).log_prob(all_orders(4))
    (gradient,) = torch.autograd.grad(log_prob.sum(), X)
    assert log_prob.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("law", [PlackettLuce, MatrixPlackettLuce])
def test_the_expected_score_is_zero(law):
    X = logits(*((4,) if law is PlackettLuce else (4, 4))).requires_grad_()
    log_prob = law(X).log_prob(all_orders(4))
    (expected,) = torch.autograd.grad((log_prob.exp().detach() * log_prob).sum(), X)
    torch.testing.assert_close(expected, torch.zeros_like(expected))


def test_beam_and_subsets_find_the_same_small_modes():
    X, lengths = 2 * logits(40, 5, 5), torch.arange(40) % 6
    exact, beam = best_by_subsets(X, lengths), best_by_beam(X, lengths, beam_size=120)
    assert torch.equal(exact, beam)


def test_greedy_is_a_beam_of_one():
    X = logits(6, 6)
    used, greedy = [], []
    for row in X:
        best = max(set(range(6)) - set(used), key=lambda i, row=row: row[i].item())
        used.append(best)
        greedy.append(best)
    assert best_by_beam(X, torch.tensor(6), beam_size=1).tolist() == greedy


def test_long_modes_are_orders_no_worse_than_greedy():
    X, lengths = logits(8, 14, 14), torch.tensor([14, 13, 12, 11, 10, 5, 1, 0])
    law = MatrixPlackettLuce(X, lengths)
    assert law.support.check(law.mode).all()
    greedy = best_by_beam(X, lengths, beam_size=1)
    assert (law.log_prob(law.mode) >= law.log_prob(greedy) - 1e-12).all()
    assert (law.log_prob(law.mode) > law.log_prob(greedy) + 1e-3).any()


def test_the_greedy_order_need_not_be_the_mode():
    # Step 0 likes position 0 slightly better, but step 1 is sure of itself only if 0 is left.
    X = torch.tensor([[0.1, 0.0, -9.0], [6.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    law = MatrixPlackettLuce(X)
    best = max(itertools.permutations(range(3)), key=lambda z: law.log_prob(torch.tensor(z)).item())
    assert law.mode.tolist() == list(best) == [1, 0, 2]


def test_ties_are_broken_by_position():
    assert PlackettLuce(torch.zeros(5)).mode.tolist() == [0, 1, 2, 3, 4]


def test_a_mode_within_the_limit_is_exact_where_a_beam_errs():
    X = 3 * logits(50, 7, 7)
    X[:, :3] /= 60  # early steps nearly tied: what they leave for later decides
    lengths = torch.full((50,), 7)
    hard = (best_by_beam(X, lengths) != best_by_subsets(X, lengths)).any(dim=-1)
    law = MatrixPlackettLuce(X[hard])
    best = law.log_prob(all_orders(7).unsqueeze(1)).argmax(dim=0)
    assert hard.any()
    assert torch.equal(law.mode, all_orders(7)[best])


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 4.0])
def test_the_gumbel_entropy_is_a_lower_bound(n, scale):
    """Of the sum over all orders; with equal scores of 0 both are log n!."""
    s = scale * logits(20, n, seed=n)
    law = PlackettLuce(s)
    log_prob = law.log_prob(all_orders(n).unsqueeze(1))  # [orders, 20]
    entropy = -(log_prob.exp() * log_prob).sum(dim=0)
    written = math.lgamma(n + 1) - (s + torch.exp(-s) - 1).sum(dim=-1)
    within = (s > -10).all(dim=-1)  # below that the tangent takes over
    torch.testing.assert_close(law.gumbel_entropy()[within], written[within])
    assert (law.gumbel_entropy() <= entropy + 1e-9).all()
    if scale == 0:
        torch.testing.assert_close(law.gumbel_entropy(), entropy)


def test_the_gumbel_entropy_of_very_low_scores_has_a_finite_gradient():
    s = torch.tensor([-5.0, 0.0, 3.0, -300.0], requires_grad=True)
    PlackettLuce(s).gumbel_entropy().backward()
    assert s.grad.isfinite().all()
    assert (s.grad[[0, 3]] > 0).all()  # drawn back up
    assert s.grad[2] < 0


def test_a_short_mode_is_exact_beside_a_long_row():
    torch.manual_seed(0)
    X = 0.3 * torch.randn(500, 10, 10)
    padded = torch.zeros(501, 11, 11)
    padded[:500, :10, :10] = X
    lengths = torch.tensor([10] * 500 + [11])
    mode = MatrixPlackettLuce(padded, lengths).mode
    assert torch.equal(mode[:500, :10], MatrixPlackettLuce(X).mode)
    assert torch.equal(mode[:500, 10], torch.full((500,), 10))


@pytest.mark.parametrize("n", [5, 11])
def test_what_all_scores_have_in_common_changes_no_mode(n):
    X = (8 * logits(100, n, n)).round().float() / 8  # beside 1e6 no digit of these is lost
    near, far = MatrixPlackettLuce(X), MatrixPlackettLuce(X + 1e6)
    torch.testing.assert_close(near.log_prob(far.mode), near.log_prob(near.mode))


@pytest.mark.statistical
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_drawn_as_it_is_scored(dtype):
    """A rare order, whose chance eight bits of uniform noise would halve."""
    law, total = PlackettLuce(torch.tensor([6.0, 0.0], dtype=dtype)), 2_000_000
    torch.manual_seed(0)
    rare = (law.sample((total,))[:, 0] == 1).sum()
    assert_frequencies([rare], [1 / (1 + math.exp(6))], total)
