import math

import pytest
import torch
from torch.distributions import Gumbel, kl_divergence

from chance import assert_frequencies, errors
from enumeration import all_orders, best_matching, matching_scores
from voi.distributions import GumbelMatching, MatrixPlackettLuce
from voi.distributions.matching import THREADED_SIZE, assignment, gumbel_noise, log_sinkhorn


def logits(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


def same_noise(law, sample_shape, seed):
    """Draw orders, and the noise they were drawn with."""
    torch.manual_seed(seed)
    orders = law.sample(sample_shape)
    torch.manual_seed(seed)
    return orders, gumbel_noise(law.logits.expand(*sample_shape, *law.logits.shape))


@pytest.mark.statistical
def test_noise_is_standard_gumbel():
    torch.manual_seed(0)
    noise = gumbel_noise(torch.empty(200_000, dtype=torch.float32)).double()
    reference = Gumbel(torch.tensor(0.0, dtype=torch.float64), torch.tensor(1.0).double())
    uniform = reference.cdf(noise)
    points = torch.linspace(0.1, 0.9, 9).double()
    assert_frequencies([(uniform < point).sum() for point in points], points, 200_000)
    assert (noise.mean() - reference.mean).abs() < errors() * reference.stddev / 200_000**0.5


def test_noise_has_no_end_at_the_bits_of_float32(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda shape, **kind: torch.full(shape, 1 - 1e-12, **kind))
    for law in (torch.float32, torch.bfloat16):
        assert gumbel_noise(torch.empty(1, dtype=law)).item() == pytest.approx(27.63, abs=1e-2)


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_samples_are_the_best_matchings_of_the_noisy_scores(n, dtype):
    law = GumbelMatching(logits(3, n, n, dtype=dtype))
    orders, noise = same_noise(law, (50,), seed=n)
    assert torch.equal(orders, best_matching(law.logits + noise))


def test_ragged_samples_are_the_best_matchings_of_their_block():
    lengths = torch.tensor([5, 3, 1, 0])
    law = GumbelMatching(logits(4, 5, 5), lengths)
    orders, noise = same_noise(law, (30,), seed=0)
    for row, n in enumerate(lengths.tolist()):
        best = best_matching((law.logits + noise)[:, row, :n, :n])
        assert torch.equal(orders[:, row, :n], best)
        assert torch.equal(orders[:, row, n:], torch.arange(n, 5).expand(30, -1))


@pytest.mark.statistical
def test_marginals_of_samples_match_brute_force_on_fresh_noise():
    torch.manual_seed(2)
    count, X = 20_000, logits(4, 4)
    noise = Gumbel(torch.zeros(4, 4).double(), torch.ones(4, 4).double()).sample((count,))
    eye = torch.eye(4, dtype=torch.float64)
    drawn = eye[GumbelMatching(X).sample((count,))].mean(dim=0)
    brute = eye[best_matching(X + noise)].mean(dim=0)
    both = (drawn + brute) / 2
    standard_error = (2 * both * (1 - both) / count).sqrt()
    assert ((drawn - brute).abs() <= errors(16) * standard_error).all()


@pytest.mark.statistical
def test_the_sampled_law_is_flatter_than_the_scored_one():
    torch.manual_seed(3)
    count = 20_000
    law = GumbelMatching(2 * torch.eye(3).double(), partition="exact")  # 0.94 against 0.83
    scored = law.log_prob(law.mode).exp()
    sampled = (law.sample((count,)) == law.mode).all(-1).double().mean()
    assert scored - sampled > 10 * (scored * (1 - scored) / count).sqrt()


def test_threads_solve_what_a_loop_solves():
    scores = logits(7, THREADED_SIZE, THREADED_SIZE)
    lengths = torch.tensor([THREADED_SIZE, 3, 1, 0, 20, 2, THREADED_SIZE])
    alone = assignment(scores, lengths)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        together = assignment(scores, lengths)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(together, alone)


def scaled(matrix, iterations):
    """Sinkhorn's scaling of a positive matrix, columns then rows."""
    for _ in range(iterations):
        matrix = matrix / matrix.sum(dim=-2, keepdim=True)
        matrix = matrix / matrix.sum(dim=-1, keepdim=True)
    return matrix


def test_log_sinkhorn_scales_each_block():
    lengths = torch.tensor([5, 3, 0])
    X = logits(3, 5, 5)
    log_matrix = log_sinkhorn(X, lengths, iterations=2)
    for row, n in enumerate(lengths.tolist()):
        whole = torch.eye(5, dtype=torch.float64)
        whole[:n, :n] = scaled(X[row, :n, :n].exp(), 2)
        torch.testing.assert_close(log_matrix[row].exp(), whole)


@pytest.mark.parametrize("tau", [0.2, 1.0, 3.0])
def test_sinkhorn_sampler_matches_on_the_scaled_matrix(tau):
    law = GumbelMatching(logits(5, 5), sampler="sinkhorn", tau=tau, sinkhorn_iterations=30)
    orders, noise = same_noise(law, (300,), seed=5)
    matrix = scaled(((law.logits + noise) / tau).exp(), 30)
    assert torch.equal(orders, best_matching(matrix))


def test_a_matching_on_the_scaled_matrix_is_not_one_on_the_scores():
    torch.manual_seed(6)
    scores = logits(40, 12, 12) + gumbel_noise(logits(40, 12, 12))
    lengths = torch.full((40,), 12)
    log_matrix = log_sinkhorn(scores, lengths, iterations=200)
    direct = assignment(scores, lengths)
    assert torch.equal(assignment(log_matrix, lengths), direct)
    assert not torch.equal(assignment(log_matrix.exp(), lengths), direct)


@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_gumbel_entropy_is_the_divergence_of_the_noise(tau):
    X = logits(2, 3, 3)
    ours = GumbelMatching(X, tau=tau).gumbel_entropy()
    noisy = Gumbel(X / tau, torch.full_like(X, 1 / tau))
    standard = Gumbel(torch.zeros_like(X), torch.ones_like(X))
    exact = torch.tensor(6.0).log() - kl_divergence(noisy, standard).sum(dim=(-2, -1))
    torch.testing.assert_close(ours, exact)


@pytest.mark.statistical
def test_gumbel_entropy_agrees_with_samples_of_the_densities():
    torch.manual_seed(7)
    count, X, tau = 100_000, 0.5 * logits(3, 3), 0.8
    noisy = Gumbel(X / tau, torch.full_like(X, 1 / tau))
    standard = Gumbel(torch.zeros_like(X), torch.ones_like(X))
    draws = noisy.sample((count,))
    log_ratio = (noisy.log_prob(draws) - standard.log_prob(draws)).sum(dim=(-2, -1))
    estimate = torch.tensor(6.0).log() - log_ratio.mean()
    ours = GumbelMatching(X, tau=tau).gumbel_entropy()
    assert (ours - estimate).abs() < errors() * log_ratio.std() / count**0.5


def test_gumbel_entropy_at_unit_temperature_and_its_tangent():
    X = torch.tensor([[-30.0, 0.0], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    ours = GumbelMatching(X).gumbel_entropy()
    low = -X.clamp(max=-10) - 10  # how far the exponent is beyond 10
    entries = X + torch.exp(-X.clamp(min=-10)) * (1 + low) - 1
    torch.testing.assert_close(ours, torch.tensor(2.0).double().log() - entries.sum())
    (gradient,) = torch.autograd.grad(ours, X)
    assert gradient[0, 0].item() == pytest.approx(math.exp(10) - 1)  # the slope of the tangent


@pytest.mark.statistical
def test_gumbel_entropy_bounds_the_entropy_of_the_samples():
    torch.manual_seed(8)
    law = GumbelMatching(0.5 * logits(3, 3))
    drawn = (law.sample((20_000,)).unsqueeze(1) == all_orders(3)).all(-1).double().mean(dim=0)
    entropy = -torch.special.xlogy(drawn, drawn).sum()
    spread = torch.special.xlogy(drawn, drawn).mul(drawn.log()).nansum() - entropy**2
    assert law.gumbel_entropy() < entropy + errors() * (spread / 20_000).sqrt()


def test_bethe_entropy_is_that_of_its_marginals():
    law = GumbelMatching(logits(2, 5, 5).requires_grad_())
    gamma = law.bethe.marginals
    entries = torch.special.xlogy(1 - gamma, 1 - gamma) - torch.special.xlogy(gamma, gamma)
    expected = entries.sum(dim=(-2, -1))
    torch.testing.assert_close(law.entropy().detach(), expected, rtol=0, atol=1e-4)
    (gradient,) = torch.autograd.grad(law.entropy().sum(), law.logits)
    assert gradient.abs().max() == 0  # as documented: the marginals are held fixed


def test_the_bethe_entropy_of_scores_whose_sum_is_beyond_half_precision():
    X = 100 + logits(40, 40).half()
    expected = GumbelMatching(X.double()).entropy().half()
    torch.testing.assert_close(GumbelMatching(X).entropy(), expected)


def test_exact_entropy_can_be_maximised():
    X = logits(2, 3, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: GumbelMatching(x, partition="exact").entropy(), X)
    with torch.no_grad():
        assert not GumbelMatching(X, partition="exact").entropy().requires_grad


def test_exact_marginals_are_those_of_the_gibbs_law():
    law = GumbelMatching(logits(4, 4), partition="exact")
    weights = matching_scores(law.logits).softmax(dim=0)
    expected = torch.einsum("z,zti->ti", weights, torch.eye(4).double()[all_orders(4)])
    torch.testing.assert_close(law.marginals, expected)


@pytest.mark.parametrize("partition", ["bethe", "exact"])
def test_the_permanent_cancels_against_a_baseline_of_the_same_samples(partition):
    torch.manual_seed(9)
    X = logits(3, 4, 4).requires_grad_()
    lengths = torch.tensor([4, 3, 2])
    orders, rewards = (
        GumbelMatching(X, lengths).sample((6,)),
        torch.randn(6, 3, dtype=torch.float64),
    )
    for baseline in (rewards.mean(0), (rewards.sum(0) - rewards) / 5):
        advantages, law = rewards - baseline, GumbelMatching(X, lengths, partition=partition)
        (full,) = torch.autograd.grad(
            (advantages * law.log_prob(orders)).mean(), X, retain_graph=True
        )
        (short,) = torch.autograd.grad((advantages * law.log_potential(orders)).mean(), X)
        torch.testing.assert_close(short, full)


def test_potential_computes_no_permanent():
    law = GumbelMatching(logits(2, 20, 20), partition="exact")  # beyond the exact permanent
    assert law.log_potential(law.sample((2,))).shape == (2, 2)
    with pytest.raises(ValueError, match="n <= 16"):
        law.log_prob(law.mode)


def test_bethe_is_found_once_and_can_be_differentiated_twice():
    X = logits(2, 4, 4).requires_grad_()
    law = GumbelMatching(X)
    first, second = (torch.autograd.grad(law.log_prob(law.mode).sum(), X)[0] for _ in range(2))
    assert torch.equal(first, second)
    assert law.bethe is law.bethe
    matrix = torch.eye(4, dtype=torch.float64)[law.mode]
    torch.testing.assert_close(first, matrix - law.bethe.marginals)


def test_a_proposal_needs_scores_that_forbid_nothing():
    X = torch.zeros(3, 3)
    X[2, 1] = -torch.inf
    law = GumbelMatching(X, partition="exact", validate_args=False)
    assert law.log_prob(torch.tensor([0, 2, 1])) == -torch.inf
    with pytest.raises(ValueError, match="needs finite scores"):
        law.proposal()


@pytest.mark.statistical
def test_importance_weights_of_the_proposal_are_consistent():
    torch.manual_seed(10)
    count, target = 20_000, 1.5 * logits(24, seed=11)  # log p(y, z) of each of 4! orders
    orders = all_orders(4)
    proposal = GumbelMatching(0.5 * logits(4, 4)).proposal()
    drawn = proposal.sample((count,))
    which = (drawn.unsqueeze(1) == orders).all(-1).double().argmax(dim=1)
    weights = (target[which] - proposal.log_prob(drawn)).exp()
    exact = target.logsumexp(0).exp()
    variance = (2 * target - proposal.log_prob(orders)).exp().sum() - exact**2  # of a weight
    assert (weights.mean() - exact).abs() < errors() * (variance / count).sqrt()


def test_the_proposal_keeps_the_lengths():
    lengths = torch.tensor([4, 2])
    assert torch.equal(GumbelMatching(logits(2, 4, 4), lengths).proposal().lengths, lengths)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"partition": "Bethe"}, '"bethe" or "exact", got .Bethe'),
        ({"sampler": "hungarian"}, '"assignment" or "sinkhorn", got .hungarian'),
        ({"tau": 0.0}, "tau must be positive"),
        ({"sinkhorn_iterations": 0}, "at least 1"),
    ],
)
def test_options_are_checked(option, message):
    with pytest.raises(ValueError, match=message):
        GumbelMatching(torch.zeros(2, 2), **option)


def test_the_proposal_does_not_miss_the_mode():
    """Row 0 likes position 0 best, but the matching gives it position 1: 36 + 40 beats 40 + 0."""
    law = GumbelMatching(torch.tensor([[40.0, 36.0], [40.0, 0.0]]))
    proposal = law.proposal()
    assert law.mode.tolist() == [1, 0]
    assert MatrixPlackettLuce(law.logits).log_prob(law.mode).exp() < 0.02
    assert proposal.log_prob(law.mode).exp() >= 0.5


@pytest.mark.statistical
@pytest.mark.parametrize("lengths", [[4, 4], [4, 2]])
def test_the_proposal_is_a_distribution_and_sampled_as_scored(lengths):
    torch.manual_seed(0)
    law = GumbelMatching(torch.randn(2, 4, 4), torch.tensor(lengths), validate_args=False)
    proposal, count = law.proposal(), 20_000
    drawn = proposal.sample((count,))
    for row, n in enumerate(lengths):
        tail = torch.arange(n, 4).expand(len(all_orders(n)), -1)
        orders = torch.cat([all_orders(n), tail], dim=-1)
        probs = proposal.log_prob(orders.unsqueeze(1))[:, row].exp()
        assert probs.sum().item() == pytest.approx(1, abs=1e-5)
        counts = [(drawn[:, row] == order).all(-1).sum() for order in orders]
        assert_frequencies(counts, probs, count)
    assert torch.equal(
        proposal.expand((3, 2)).sample().sort(-1).values[..., -1], torch.full((3, 2), 3)
    )


def test_low_scores_are_drawn_back():
    """The entropy term rises with a very low score, at any temperature, with a finite gradient."""
    for tau in (0.1, 1.0):
        X = torch.tensor([[-5.0, 0.0], [0.0, -300.0]], requires_grad=True)
        GumbelMatching(X, tau=tau).gumbel_entropy().backward()
        assert X.grad.isfinite().all()
        assert (X.grad.diagonal() > 0).all()


@pytest.mark.parametrize("score", [5.0, 20.0, 300.0])
def test_steps_that_tie_are_scored_by_the_same_approximation(score):
    """Two steps want the same position: of both orders, equally likely, Bethe counts one."""
    X = torch.full((20, 20), -1000.0).fill_diagonal_(0.0)
    X[:2, :2] = torch.tensor([[score, 0.0], [score, 0.0]])
    q = GumbelMatching(X)
    assert q.bethe.residual < 1e-5
    assert q.bethe.value.item() == pytest.approx(score)
    assert GumbelMatching(X.mT).bethe.value.item() == pytest.approx(score)
    torch.testing.assert_close(q.marginals.sum(0), torch.ones(20))
    assert q.log_prob(torch.arange(20)).item() == pytest.approx(0.0, abs=1e-4)
    assert q.entropy().item() == pytest.approx(0.0, abs=1e-4)


def test_scores_that_hardly_move_hardly_move_the_density():
    """A ratio of PPO: the weights of all orders move by less than 1 %."""

    def law(gap):
        X = torch.full((1, 8, 8), -30.0)
        for first in range(0, 8, 2):
            X[0, first : first + 2, first : first + 2] = torch.tensor([[1 + gap, 0.0], [1.0, 0.0]])
        return GumbelMatching(X)

    torch.manual_seed(0)
    orders = law(0.012).sample((4,))
    gaps = [0.0, 0.003, 0.006, 0.009, 0.012, 0.015, 0.018]
    by_gap = torch.stack([law(gap).log_prob(orders) for gap in gaps])
    assert by_gap.diff(dim=0).abs().max() < 0.01


def test_inference_mode_changes_nothing():
    X = torch.tensor([[0.5, 1.0, 0.0], [0.2, 0.3, 2.0], [0.0, 0.0, 0.1]])
    expected = GumbelMatching(X, partition="exact").entropy()
    with torch.inference_mode():
        torch.testing.assert_close(GumbelMatching(X, partition="exact").entropy(), expected)


def test_the_gumbel_entropy_of_low_temperatures_keeps_its_digits():
    X = torch.full((2, 2), 3.0, requires_grad=True)
    entropy = GumbelMatching(X, tau=0.02).gumbel_entropy()
    (gradient,) = torch.autograd.grad(entropy, X)
    assert gradient.isfinite().all()
    noisy, noise = Gumbel(*torch.tensor([150.0, 50.0]).double()), Gumbel(0.0, 1.0)
    expected = math.log(2) - 4 * kl_divergence(noisy, noise).item()
    assert entropy.item() == pytest.approx(expected, rel=1e-5)


def test_what_inference_mode_computed_can_be_differentiated_around():
    X = torch.randn(2, 4, 4, requires_grad=True)
    q = GumbelMatching(X)
    with torch.inference_mode():
        q.entropy()
    q.log_prob(torch.arange(4)).sum().backward()
    assert X.grad is not None


@pytest.mark.parametrize("scale", [30.0, 100.0])
def test_a_bethe_entropy_is_one_where_belief_propagation_has_not_converged(scale):
    torch.manual_seed(0)
    X = scale * torch.randn(300, 5, 5, dtype=torch.float64)
    X[:, 1] = X[:, 0]  # ties, at which it takes long
    entropy = GumbelMatching(X).entropy()
    assert entropy.min() > -1e-9
    assert entropy.max() <= math.log(120) + 1e-9
    columns = torch.tensor([0.0, 100, 200, 300, 400], dtype=torch.float64)  # changes no order
    torch.testing.assert_close(GumbelMatching(X + columns).entropy(), entropy, atol=1e-3, rtol=0)


@pytest.mark.parametrize("is_inference", [False, True])
def test_a_law_whose_scores_are_changed_in_place_is_the_law_of_the_new_ones(is_inference):
    with torch.inference_mode(is_inference):
        X, order = torch.zeros(3, 3), torch.arange(3)
        law = GumbelMatching(X)
        law.log_prob(order)
        X[0, 0] = 3.0
        torch.testing.assert_close(law.log_prob(order), GumbelMatching(X.clone()).log_prob(order))
        assert law.bethe is law.bethe


def test_forbidden_places_have_no_part_in_the_exact_entropy():
    X = torch.zeros(3, 3, dtype=torch.float64)
    X[0, 0] = -torch.inf  # four of six orders are left, all alike
    law = GumbelMatching(X, partition="exact", validate_args=False)
    torch.testing.assert_close(law.entropy().item(), math.log(4))


def test_the_sinkhorn_sampler_draws_no_order_that_is_forbidden():
    torch.manual_seed(15)
    X = logits(50, 4, 4)
    others = ~torch.eye(4, dtype=torch.bool)  # left to right stays
    X = X.masked_fill((torch.rand(50, 4, 4) < 0.35) & others, -torch.inf)
    law = GumbelMatching(
        X, sampler="sinkhorn", sinkhorn_iterations=1, partition="exact", validate_args=False
    )
    assert law.log_prob(law.sample((40,))).isfinite().all()


@pytest.mark.parametrize("scale", [0.5, 2.0, 5.0])
def test_the_rough_entropy_is_near_the_one_of_converged_marginals(scale):
    law = GumbelMatching(scale * logits(8, 12, 12))
    torch.testing.assert_close(law.rough_entropy(), law.entropy(), rtol=0.1, atol=0.1)
    assert not GumbelMatching(logits(3, 3).requires_grad_()).rough_entropy().requires_grad
