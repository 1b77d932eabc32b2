import inspect
import math

import pytest
import torch

from enumeration import all_orders, best_matching, matching_scores
from voi.distributions import GumbelMatching, log_permanent_bethe, log_permanent_exact
from voi.distributions.permanent import marginals_exact
from voi.distributions.subsets import subset_levels


def random_logits(*shape, scale=1.0, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(*shape, generator=generator, dtype=dtype)


def enumerated_marginals(logits):
    weights = matching_scores(logits).softmax(dim=0)  # [n!, batch]
    matrices = torch.eye(logits.shape[-1], dtype=logits.dtype)[all_orders(logits.shape[-1])]
    return torch.einsum("zb,zti->bti", weights, matrices)


def textbook_propagation(X, iterations):
    """Sum-product in ratio form for one matrix: value and marginals of the Bethe permanent."""
    n = len(X)
    half, is_other = X / 2, ~torch.eye(n, dtype=torch.bool)
    a, b = torch.zeros(n, n, dtype=X.dtype), torch.zeros(n, n, dtype=X.dtype)
    for _ in range(iterations):
        row, column = half + b, half + a
        for i in range(n):
            for j in range(n):
                a[i, j] = half[i, j] - row[i, is_other[j]].logsumexp(0)
        column = half + a
        for i in range(n):
            for j in range(n):
                b[i, j] = half[i, j] - column[is_other[i], j].logsumexp(0)
    gamma = torch.sigmoid(a + b)
    inverse_entropy = torch.special.xlogy(gamma, gamma) - torch.special.xlogy(1 - gamma, 1 - gamma)
    return (gamma * X - inverse_entropy).sum(), gamma


@pytest.mark.parametrize("n", range(1, 6))
def test_exact_is_the_sum_over_orders(n):
    logits = random_logits(3, n, n, scale=3)
    torch.testing.assert_close(log_permanent_exact(logits), matching_scores(logits).logsumexp(0))
    torch.testing.assert_close(marginals_exact(logits), enumerated_marginals(logits))


@pytest.mark.parametrize("n", [0, 1, 7, 16])
def test_exact_counts_orders(n):
    value = log_permanent_exact(torch.zeros(n, n, dtype=torch.float64))
    assert value.item() == pytest.approx(math.lgamma(n + 1), abs=1e-9)


def test_exact_keeps_its_digits_where_weights_differ_widely():
    logits = torch.tensor([[0.0, 500.0], [-500.0, -1000.0]], dtype=torch.float64)
    value = log_permanent_exact(logits.requires_grad_())
    (gradient,) = torch.autograd.grad(value, logits)
    expected = matching_scores(logits.detach()).logsumexp(0)
    torch.testing.assert_close(value.detach(), expected)
    torch.testing.assert_close(gradient, enumerated_marginals(logits.detach()[None])[0])


def test_exact_gradient_is_right_twice():
    logits = random_logits(2, 4, 4).requires_grad_()
    lengths = torch.tensor([4, 3])
    assert torch.autograd.gradcheck(lambda x: log_permanent_exact(x, lengths), logits)
    assert torch.autograd.gradgradcheck(lambda x: log_permanent_exact(x, lengths), logits)


def test_exact_names_its_limit_and_the_way_out():
    with pytest.raises(ValueError, match=r'n <= 16, got n = 17.*partition="bethe"'):
        log_permanent_exact(torch.zeros(17, 17))


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_bethe_lies_in_its_bounds(n, scale):
    logits = random_logits(8, n, n, scale=scale, seed=n)
    bethe = log_permanent_bethe(logits, tolerance=1e-6, max_iterations=20000)
    exact = log_permanent_exact(logits)
    assert (bethe.residual <= 1e-6).all()
    assert (bethe.value <= exact + 1e-9).all()
    assert (bethe.value >= exact - n / 2 * math.log(2) - 1e-9).all()


@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (4, 1.0), (4, 3.0), (6, 2.0)])
def test_bethe_is_textbook_belief_propagation(n, scale):
    logits = random_logits(n, n, scale=scale, seed=n)
    bethe = log_permanent_bethe(logits, tolerance=1e-12, max_iterations=5000)
    value, gamma = textbook_propagation(logits, iterations=300)
    torch.testing.assert_close(bethe.value, value, rtol=0, atol=1e-9)
    torch.testing.assert_close(bethe.marginals, gamma, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_bethe_of_equal_weights_has_a_closed_form(n):
    bethe = log_permanent_bethe(torch.zeros(n, n, dtype=torch.float64))
    closed = n * math.log(n) + n * (n - 1) * math.log1p(-1 / n)  # gamma = 1 / n
    assert bethe.value.item() == pytest.approx(closed, abs=1e-9)
    torch.testing.assert_close(bethe.marginals, torch.full((n, n), 1 / n, dtype=torch.float64))


def test_bethe_of_one_token_is_exact():
    bethe = log_permanent_bethe(torch.tensor([[2.5]]))
    assert (bethe.value.item(), bethe.marginals.item(), bethe.residual.item()) == (2.5, 1.0, 0.0)


def test_bethe_of_no_token_is_zero():
    bethe = log_permanent_bethe(torch.zeros(2, 0, 0))
    assert bethe.value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [100.0, 3000.0])
def test_bethe_survives_weights_beyond_the_floating_range(scale, dtype):
    logits = random_logits(4, 5, 5, scale=scale, dtype=dtype)
    bethe = log_permanent_bethe(logits, max_iterations=5000)
    lowest = matching_scores(logits).amax(dim=0)  # one matching alone, gamma = P
    highest = log_permanent_exact(logits)
    rounding = 10 * torch.finfo(dtype).eps * highest.abs()
    assert (bethe.value >= lowest - rounding).all()
    assert (bethe.value <= highest + rounding).all()
    best = torch.eye(5, dtype=dtype)[best_matching(logits)]
    torch.testing.assert_close(bethe.marginals, best, rtol=0, atol=1e-3)


def test_bethe_gradient_is_its_marginals():
    logits = random_logits(2, 3, 3, scale=0.5).requires_grad_()
    bethe = log_permanent_bethe(logits, tolerance=1e-10)
    (gradient,) = torch.autograd.grad(bethe.value.sum(), logits)
    torch.testing.assert_close(gradient, bethe.marginals)
    assert not bethe.marginals.requires_grad
    assert torch.autograd.gradcheck(
        lambda x: log_permanent_bethe(x, tolerance=1e-10).value, logits, atol=1e-5
    )


def test_bethe_reports_an_unfinished_iteration():
    logits = random_logits(6, 6, scale=2)
    assert log_permanent_bethe(logits, max_iterations=2).residual > 1e-3
    with pytest.raises(ValueError, match="at least 1, got 0"):
        log_permanent_bethe(logits, max_iterations=0)


@pytest.mark.parametrize("iterations", [8, 10, 12, 16])
def test_bethe_value_is_off_by_the_square_of_the_residual(iterations):
    logits = random_logits(6, 6, scale=2)
    rough = log_permanent_bethe(logits, max_iterations=iterations, tolerance=0.0)
    fine = log_permanent_bethe(logits, max_iterations=5000, tolerance=1e-12)
    assert rough.residual > 1e-4
    assert (rough.value - fine.value).abs() < 10 * rough.residual**2


@pytest.mark.parametrize("junk", [0.0, 50.0, -torch.inf, torch.inf, torch.nan])
def test_padding_is_never_seen(junk):
    lengths = torch.tensor([5, 0, 1, 3])
    logits = random_logits(4, 5, 5)
    block = torch.arange(5) < lengths[:, None]
    padded = logits.masked_fill(~(block[:, None] & block[:, :, None]), junk).requires_grad_()
    exact = log_permanent_exact(padded, lengths)
    bethe = log_permanent_bethe(padded, lengths)
    gradients = torch.autograd.grad((exact + bethe.value).sum(), padded)[0]
    assert gradients.isfinite().all()
    exact_marginals = marginals_exact(padded.detach(), lengths)
    for row, n in enumerate(lengths.tolist()):
        alone = logits[row, :n, :n]
        alone_bethe = log_permanent_bethe(alone)
        torch.testing.assert_close(exact[row], log_permanent_exact(alone))
        torch.testing.assert_close(bethe.value[row], alone_bethe.value)
        torch.testing.assert_close(bethe.residual[row], alone_bethe.residual)
        whole = torch.eye(5, dtype=torch.float64)
        whole[:n, :n] = alone_bethe.marginals
        torch.testing.assert_close(bethe.marginals[row], whole)
        whole[:n, :n] = marginals_exact(alone)
        torch.testing.assert_close(exact_marginals[row], whole)


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_logits_of_tokens_must_be_finite(bad):
    logits = torch.zeros(3, 3)
    logits[0, 1] = bad
    exact = () if bad == -torch.inf else (log_permanent_exact,)
    for compute in (*exact, log_permanent_bethe, GumbelMatching):
        with pytest.raises(ValueError, match="logits"):
            compute(logits)


@pytest.mark.parametrize("n", range(1, 6))
def test_forbidden_places_count_for_nothing_in_an_exact_permanent(n):
    generator = torch.Generator().manual_seed(n)
    is_allowed = torch.rand(20, n, n, generator=generator) < 0.6
    logits = torch.randn(20, n, n, generator=generator, dtype=torch.float64)
    logits = logits.masked_fill(~is_allowed, -torch.inf).requires_grad_()
    orders = all_orders(n)
    by_order = logits[:, torch.arange(n), orders].sum(-1)  # [20, n!]
    expected = by_order.exp().sum(-1).log()
    torch.testing.assert_close(log_permanent_exact(logits), expected)
    has_orders = expected.isfinite()
    (found,) = torch.autograd.grad(log_permanent_exact(logits)[has_orders].sum(), logits)
    weights = (by_order - expected.unsqueeze(-1))[has_orders].exp()  # [rows, n!]
    marginals = torch.einsum("ro,oti->rti", weights, torch.eye(n, dtype=torch.float64)[orders])
    torch.testing.assert_close(found[has_orders], marginals)
    assert not found[~has_orders].any()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("compute", [log_permanent_exact, log_permanent_bethe, GumbelMatching])
def test_logits_are_no_whole_numbers(compute):
    with pytest.raises(ValueError, match=r"floating-point numbers, got torch\.int64"):
        compute(torch.zeros(3, 3, dtype=torch.int64))


def test_bethe_can_be_unpacked_and_is_finer_in_float64():
    logits = 3 * torch.randn(6, 6, generator=torch.Generator().manual_seed(0)).double()
    value, marginals, residual = log_permanent_bethe(logits)
    assert residual <= 1e-8 < log_permanent_bethe(logits.float()).residual
    torch.testing.assert_close(marginals.sum(-2), torch.ones(6).double(), atol=1e-7, rtol=0)
    step = torch.zeros(6, 6).double()
    step[2, 3] = 1e-4
    rise = log_permanent_bethe(logits + step).value - log_permanent_bethe(logits - step).value
    torch.testing.assert_close(rise / 2e-4, marginals[2, 3], atol=1e-6, rtol=0)
    assert value == log_permanent_bethe(logits).value


@pytest.mark.parametrize("compute", [log_permanent_exact, log_permanent_bethe, marginals_exact])
def test_only_square_matrices_have_a_permanent(compute):
    for shape in ((3,), (1, 3), (2, 3, 1)):
        with pytest.raises(ValueError, match=r"logits must be \[\*batch, n, n\]"):
            inspect.unwrap(compute)(torch.zeros(shape))  # without the checks of tests
    for length in (-1, 4):
        with pytest.raises(ValueError, match="lengths must lie between 0 and n = 3"):
            compute(torch.zeros(3, 3), torch.tensor(length))


def test_what_inference_computed_first_serves_gradients_later():
    subset_levels.cache_clear()
    X = torch.randn(3, 3)
    with torch.inference_mode():
        log_permanent_exact(X.clone())
    log_permanent_exact(X.requires_grad_()).backward()
    assert X.grad.sum() == pytest.approx(3)


def test_rows_that_tie_at_large_scores_are_scaled_until_they_converge():
    """The marginals are those of belief propagation, and their columns sum to one."""
    torch.manual_seed(0)
    X = torch.randn(100, 5, 5, dtype=torch.float64) * 1000
    X[:, 0] = X[:, 1]
    bethe = log_permanent_bethe(X)
    assert (bethe.residual > 1e-2).sum() == 0
    torch.testing.assert_close(
        bethe.marginals.sum(-2), torch.ones(100, 5).double(), atol=0.02, rtol=0
    )


def test_exact_is_limited_by_the_longest_row_not_by_padding():
    torch.manual_seed(0)
    X, lengths = torch.randn(2, 20, 20, dtype=torch.float64), torch.tensor([3, 5])
    found = log_permanent_exact(X, lengths)
    for row, n, value in zip(X, lengths.tolist(), found, strict=True):
        expected = matching_scores(row[:n, :n]).logsumexp(-1)
        torch.testing.assert_close(value, expected)
    assert marginals_exact(X, lengths).shape == X.shape
