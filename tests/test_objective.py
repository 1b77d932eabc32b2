"""Estimators against exact gradients by enumeration; the ELBO against log p(y | x)."""

from itertools import product
from math import log

import pytest
import torch

from chance import errors
from enumeration import all_orders
from small_models import text_batch, tiny_decoder
from voi.config import ObjectiveConfig
from voi.decoder import StepLogProbs
from voi.distributions import (
    Delta,
    GumbelMatching,
    MatrixPlackettLuce,
    OrderLaw,
    PlackettLuce,
    Uniform,
)
from voi.objective import (
    Elbo,
    advantages,
    centered,
    decoder_loss,
    elbo,
    entropy,
    order_loss,
    ppo_loss,
)

N = 3
ORDERS = all_orders(N)  # [6, 3]
LAWS = {
    "plackett-luce": PlackettLuce,
    "matrix-plackett-luce": MatrixPlackettLuce,
    "gibbs": lambda X: GumbelMatching(X, partition="exact"),  # by its scores, not by its samples
}


def parameters(name, seed=0):
    shape = (N,) if name == "plackett-luce" else (N, N)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rewards(seed=7):
    """log p(y, z | x) of each of the 6 orders, made up."""
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(len(ORDERS), generator=generator, dtype=torch.float64) - 5


def exact_gradient(name, beta):
    """The gradient of E_q[reward] + beta H(q) by the sum over all orders."""
    X = parameters(name).requires_grad_()
    log_q = LAWS[name](X).log_prob(ORDERS)
    value = (log_q.exp() * (rewards() - beta * log_q)).sum()
    return torch.autograd.grad(value, X)[0]


def surrogate_gradients(name, tuples, beta, config, loss=order_loss):
    """Minus the gradient of the loss for each K-tuple of orders, `tuples [K, M]` by their index.

    M copies of the parameters make a batch, so that one backward pass gives M gradients.
    """
    num_tuples = tuples.shape[1]
    X = parameters(name)
    copies = X.expand(num_tuples, *X.shape).clone().requires_grad_()
    value = loss(LAWS[name](copies), ORDERS[tuples], rewards()[tuples], beta, config)
    return -torch.autograd.grad(value, copies)[0] * num_tuples


def expectation(name, num_orders, beta, config):
    """The mean of the estimate over all K-tuples, each with its probability."""
    tuples = torch.tensor(list(product(range(len(ORDERS)), repeat=num_orders))).T
    with torch.no_grad():
        weights = LAWS[name](parameters(name)).log_prob(ORDERS)[tuples].sum(0).exp()  # [M]
    gradients = surrogate_gradients(name, tuples, beta, config)
    return torch.einsum("m,m...->...", weights, gradients)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("num_orders", [2, 3])
@pytest.mark.parametrize("name", LAWS)
def test_leave_one_out_is_unbiased(name, num_orders, beta):
    found = expectation(name, num_orders, beta, ObjectiveConfig(baseline="leave_one_out"))
    torch.testing.assert_close(found, exact_gradient(name, beta), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("num_orders", [2, 3])
@pytest.mark.parametrize("name", LAWS)
def test_the_mean_shrinks_the_gradient(name, num_orders):
    found = expectation(name, num_orders, 0.3, ObjectiveConfig(baseline="mean"))
    shrunk = (num_orders - 1) / num_orders * exact_gradient(name, 0.3)
    torch.testing.assert_close(found, shrunk, rtol=1e-10, atol=1e-10)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["plackett-luce", "matrix-plackett-luce"])
def test_sampled_gradients_agree_with_the_exact_one(name):
    """20,000 draws of K = 4 orders."""
    torch.manual_seed(0)
    with torch.no_grad():
        orders = LAWS[name](parameters(name)).sample((4, 20_000))
    tuples = (orders.unsqueeze(-2) == ORDERS).all(-1).long().argmax(-1)
    gradients = surrogate_gradients(name, tuples, 0.5, ObjectiveConfig())
    error = gradients.std(0) / 20_000**0.5
    difference = gradients.mean(0) - exact_gradient(name, 0.5)
    assert (difference.abs() <= errors(difference.numel()) * error + 1e-12).all()
    assert exact_gradient(name, 0.5).abs().max() > 10 * error.max()  # the test can tell


def test_each_example_has_its_own_baseline():
    values = torch.tensor([[1.0, 10.0], [3.0, 40.0], [8.0, 10.0]])
    mean, others = (centered(values, values, baseline) for baseline in ("mean", "leave_one_out"))
    torch.testing.assert_close(mean[:, 0], torch.tensor([-3.0, -1.0, 4.0]))
    torch.testing.assert_close(others[:, 0], torch.tensor([1 - 5.5, 3 - 4.5, 8 - 2.0]))
    torch.testing.assert_close(others[:, 1], torch.tensor([-15.0, 30.0, -15.0]))


def test_the_loss_is_a_mean_over_orders_and_examples():
    X = torch.zeros(2, N, dtype=torch.float64)
    orders = torch.stack([ORDERS[[0, 3]], ORDERS[[5, 1]]])
    reward = torch.tensor([[1.0, 2.0], [3.0, 7.0]], dtype=torch.float64)
    config = ObjectiveConfig(baseline="mean")
    gain = torch.tensor([[-1.0, -2.5], [1.0, 2.5]], dtype=torch.float64)
    q = PlackettLuce(X)
    torch.testing.assert_close(
        order_loss(q, orders, reward, 0.0, config), -(gain * q.log_prob(orders)).sum() / 4
    )


def test_one_order_is_an_error():
    q = PlackettLuce(torch.zeros(2, N))
    with pytest.raises(ValueError, match="at least 2 orders per example, got 1"):
        order_loss(q, q.sample((1,)), torch.zeros(1, 2), 1.0, ObjectiveConfig())


def test_rewards_carry_no_gradient():
    reward = torch.randn(4, 2, requires_grad=True)
    q = PlackettLuce(torch.randn(2, N, requires_grad=True))
    loss = order_loss(q, q.sample((4,)), reward, 1.0, ObjectiveConfig())
    loss.backward()
    assert reward.grad is None


@pytest.mark.parametrize("baseline", ["mean", "leave_one_out"])
def test_standardised_advantages(baseline):
    """Divided by the deviation over the K orders, or 1; the entropy is added after that."""
    torch.manual_seed(0)
    reward, potential = torch.randn(2, 5, 3)
    reward = reward * torch.tensor([0.1, 10.0, 100.0])
    config = ObjectiveConfig(standardize=True, baseline=baseline)
    gain = advantages(reward, potential, 0.7, config)
    factor = 5 / 4 if baseline == "leave_one_out" else 1.0
    for b in range(3):
        values, scores = reward[:, b].tolist(), potential[:, b].tolist()
        mean, score = sum(values) / 5, sum(scores) / 5
        deviation = max(1.0, (sum((v - mean) ** 2 for v in values) / 4) ** 0.5)
        expected = [
            factor * (v - mean) / deviation - 0.7 * factor * (s - score)
            for v, s in zip(values, scores, strict=True)
        ]
        torch.testing.assert_close(gain[:, b], torch.tensor(expected))


def test_standardising_equal_rewards_gives_zero():
    gain = advantages(
        torch.full((4, 2), -3.0), torch.randn(4, 2), 0.0, ObjectiveConfig(standardize=True)
    )
    assert not gain.any()


class Normalised(OrderLaw):
    """A law whose potential is its normalised log-probability."""

    def __init__(self, law):
        super().__init__(law.lengths, law.size, validate_args=False)
        self.law = law

    def log_potential(self, value):
        return self.law.log_prob(value)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("partition", ["exact", "bethe"])
def test_the_permanent_cancels(partition, standardize):
    torch.manual_seed(0)
    X = torch.randn(2, 4, 4, dtype=torch.float64, requires_grad=True)
    q = GumbelMatching(X, lengths=torch.tensor([4, 3]), partition=partition)
    orders, reward = q.sample((5,)), torch.randn(5, 2, dtype=torch.float64)
    config = ObjectiveConfig(standardize=standardize)
    losses = [order_loss(law, orders, reward, 0.5, config) for law in (q, Normalised(q))]
    gradients = [torch.autograd.grad(loss, X, retain_graph=True)[0] for loss in losses]
    assert gradients[0].any()
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-10)


def test_no_permanent_is_computed(monkeypatch):
    monkeypatch.setattr(GumbelMatching, "_log_partition", lambda self: pytest.fail("was computed"))
    q = GumbelMatching(torch.randn(2, N, N))
    order_loss(q, q.sample((3,)), torch.randn(3, 2), 1.0, ObjectiveConfig())


@pytest.mark.parametrize("weight", [0.0, 0.4])
def test_the_gumbel_term_is_added_and_leaves_the_reward_alone(weight):
    torch.manual_seed(0)
    X = torch.randn(2, N, N, dtype=torch.float64, requires_grad=True)
    q = GumbelMatching(X)
    orders, reward = q.sample((4,)), torch.randn(4, 2, dtype=torch.float64)
    config = ObjectiveConfig(entropy="gumbel")
    loss = order_loss(q, orders, reward, weight, config)
    plain = order_loss(q, orders, reward, 0.0, ObjectiveConfig())
    bonus = sum(log(6) - (X[b] + torch.exp(-X[b]) - 1).sum() for b in range(2)) / 2
    torch.testing.assert_close(loss, plain - weight * bonus)
    torch.testing.assert_close(
        torch.autograd.grad(loss, X)[0],
        torch.autograd.grad(plain - weight * bonus, X)[0],
    )


@pytest.mark.parametrize("law", ["uniform", "delta"])
def test_laws_without_parameters_give_a_constant(law):
    lengths = torch.tensor([3, 2])
    q = Uniform(lengths) if law == "uniform" else Delta(ORDERS[[5, 2]], lengths)
    loss = order_loss(q, q.sample((3,)), torch.randn(3, 2), 1.0, ObjectiveConfig())
    assert torch.isfinite(loss)
    assert not loss.requires_grad


def ppo_inputs(seed=0):
    torch.manual_seed(seed)
    X = torch.randn(2, N, N, dtype=torch.float64, requires_grad=True)
    q = MatrixPlackettLuce(X)
    orders, reward = q.sample((5,)), torch.randn(5, 2, dtype=torch.float64)
    return X, q, orders, reward


@pytest.mark.parametrize("standardize", [False, True])
def test_ppo_at_ratio_one_is_the_policy_gradient(standardize):
    X, q, orders, reward = ppo_inputs()
    config = ObjectiveConfig(estimator="ppo", standardize=standardize)
    old = q.log_prob(orders).detach()
    gain = advantages(reward, old, 0.5, config)
    found = torch.autograd.grad(ppo_loss(q, orders, gain, old, 0.5, config), X)[0]
    expected = torch.autograd.grad(order_loss(q, orders, reward, 0.5, config), X)[0]
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("ratio", "gain", "learns"),
    [
        (1.05, 1.0, True),
        (1.2, 1.0, False),  # already more likely than the clip allows
        (1.2, -1.0, True),  # worse, and more likely: may still be taken back
        (0.95, -1.0, True),
        (0.8, -1.0, False),
        (0.8, 1.0, True),
    ],
)
def test_clipping_stops_gradients(ratio, gain, learns):
    X, q, orders, _ = ppo_inputs()
    old = q.log_prob(orders).detach() - log(ratio)
    config = ObjectiveConfig(estimator="ppo", ppo_clip=0.1)
    loss = ppo_loss(q, orders, torch.full_like(old, gain), old, 0.0, config)
    gradient = torch.autograd.grad(loss, X)[0]
    assert bool(gradient.any()) == learns
    reached = ratio if learns else max(0.9, min(1.1, ratio))
    torch.testing.assert_close(loss.item(), -reached * gain)


def test_ppo_takes_the_gumbel_term():
    X = torch.randn(2, N, N, requires_grad=True)
    q = GumbelMatching(X)
    orders = q.sample((3,))
    old = q.log_prob(orders).detach()
    config = ObjectiveConfig(estimator="ppo", entropy="gumbel")
    nothing = torch.zeros_like(old)
    loss = ppo_loss(q, orders, nothing, old, 0.5, config)
    torch.testing.assert_close(loss, -0.5 * q.gumbel_entropy().mean())


def terms_of(target, orders):
    """A tiny decoder's terms for one target in several orders, [K, 1, ...]."""
    with torch.no_grad():
        decoder = tiny_decoder().double()
        return decoder.step_log_probs(text_batch([target]), orders.unsqueeze(1))


@pytest.mark.parametrize("target", [[5], [4, 5], [4, 5, 4], [6, 4, 5, 1]])
def test_elbo_is_below_the_log_likelihood(target):
    """Of the uniform law (all orders, so exact), of point masses, and of a law of random scores."""
    n = len(target)
    orders, lengths = all_orders(n), torch.tensor([n])
    terms = terms_of(target, orders)
    log_likelihood = terms.joint.logsumexp(0).item()
    uniform = elbo(Uniform(lengths), orders.unsqueeze(1), terms, lengths)
    exact = terms.joint.mean().item() + sum(map(log, range(1, n + 1)))
    assert uniform.total == pytest.approx(exact, abs=1e-5)
    assert uniform.total <= log_likelihood + 1e-5
    for k, order in enumerate(orders):
        one = StepLogProbs(*(getattr(terms, x)[k : k + 1] for x in ("tokens", "slots", "means")))
        point = elbo(Delta(order.unsqueeze(0)), order.expand(1, 1, n), one, lengths)
        assert point.total == pytest.approx(terms.joint[k].item())
        assert point.total <= log_likelihood + 1e-9
    q = MatrixPlackettLuce(torch.randn(1, n, n, dtype=torch.float64))
    log_q = q.log_prob(orders.unsqueeze(1))
    assert (log_q.exp() * (terms.joint - log_q)).sum() <= log_likelihood + 1e-9


@pytest.mark.statistical
def test_elbo_of_samples_estimates_the_exact_one():
    """4,000 sampled orders of an exact law: within 4 standard errors of the enumerated bound."""
    torch.manual_seed(0)
    target, lengths = [4, 5, 6], torch.tensor([3])
    q = PlackettLuce(torch.randn(1, 3, dtype=torch.float64))
    every = all_orders(3).unsqueeze(1)
    log_q, log_p = q.log_prob(every), terms_of(target, all_orders(3)).joint
    exact = (log_q.exp() * (log_p - log_q)).sum()
    orders = q.sample((4000,))
    terms = terms_of(target, orders.squeeze(1))
    error = (terms.joint - q.log_prob(orders)).std() / 4000**0.5
    assert abs(elbo(q, orders, terms, lengths).total - exact) < errors() * error


def test_elbo_is_tight_at_the_posterior():
    """Two tokens: Plackett-Luce can be the posterior, and every sample gives log p(y | x)."""
    orders = all_orders(2)
    log_p = terms_of([4, 5], orders).joint[:, 0]
    q = PlackettLuce(log_p.unsqueeze(0))
    sampled = q.sample((3,))
    value = elbo(q, sampled, terms_of([4, 5], sampled.squeeze(1)), torch.tensor([2]))
    assert value.total == pytest.approx(log_p.logsumexp(0).item(), abs=1e-9)


def test_parts_of_the_elbo_add_up():
    decoder, batch = tiny_decoder(), text_batch([[4, 5, 6], [5]])
    q = Uniform(batch.lengths)
    orders = q.sample((3,))
    value = elbo(q, orders, decoder.step_log_probs(batch, orders), batch.lengths)
    joint = decoder.log_prob(batch, orders)
    assert value.tokens + value.slots == pytest.approx(joint.mean(0).sum().item(), abs=1e-5)
    assert value.entropy == pytest.approx(log(6), abs=1e-5)
    assert value.total == value.tokens + value.slots + value.entropy
    assert (value.num_tokens, value.num_examples) == (4 + 2, 2)
    parts = value.per_token
    assert parts["elbo"] == pytest.approx(parts["tokens"] + parts["slots"] + parts["entropy"])
    assert parts["elbo"] == pytest.approx(value.total / 6)
    total = value + Elbo(-1.0, -2.0, 0.5, 3, 1)
    assert total.total == pytest.approx(value.total - 2.5)
    assert (total.num_tokens, total.num_examples) == (9, 3)


def test_entropy_is_the_laws_own_or_that_of_the_samples():
    X = torch.randn(1, N, N, dtype=torch.float64)
    exact = GumbelMatching(X, partition="exact")
    log_q = exact.log_prob(ORDERS.unsqueeze(1))
    torch.testing.assert_close(entropy(exact, ORDERS.unsqueeze(1)), -(log_q.exp() * log_q).sum(0))
    q = MatrixPlackettLuce(X)
    orders = q.sample((5,))
    torch.testing.assert_close(entropy(q, orders), -q.log_prob(orders).mean(0))


def test_decoder_loss_is_the_smoothed_mean():
    terms = terms_of([4, 5, 4], all_orders(3))
    torch.testing.assert_close(decoder_loss(terms, 0.0), -terms.joint.mean())
    smoothed = 0.8 * terms.tokens.sum(-1) + 0.2 * terms.means.sum(-1) + terms.slots.sum(-1)
    torch.testing.assert_close(decoder_loss(terms, 0.2), -smoothed.mean())


@pytest.mark.parametrize("baseline", ["mean", "leave_one_out"])
@pytest.mark.parametrize("standardize", [False, True])
def test_orders_divided_over_processes_have_one_baseline(baseline, standardize):
    """Each of two processes has two of four orders and hears of the others' values."""
    torch.manual_seed(0)
    joint, potential = torch.randn(2, 4, 3)
    config = ObjectiveConfig(baseline=baseline, standardize=standardize)
    whole = advantages(joint, potential, 0.5, config)
    for own in (slice(0, 2), slice(2, 4)):
        asked = iter([joint, potential])
        found = advantages(joint[own], potential[own], 0.5, config, gather=lambda _: next(asked))  # noqa: B023
        torch.testing.assert_close(found, whole[own])


@pytest.mark.parametrize("gain", [-1.0, 0.0, 1.0])
def test_ratios_beyond_all_numbers_keep_gradients_finite(gain):
    scores = torch.tensor([[100.0, 0.0]], requires_grad=True)
    orders = torch.tensor([[[0, 1]]])
    old = torch.full((1, 1), -200.0)
    config = ObjectiveConfig(estimator="ppo")
    loss = ppo_loss(PlackettLuce(scores), orders, torch.full((1, 1), gain), old, 0.0, config)
    (gradient,) = torch.autograd.grad(loss, scores)
    assert loss.isfinite()
    assert gradient.isfinite().all()
