"""log p(y | x) against enumeration."""

import copy
import dataclasses
import math

import pytest
import torch

from chance import errors
from enumeration import all_orders
from small_models import text_batch
from small_runs import tiny_experiment
from voi.likelihood import EXACT_LENGTH, Likelihood, likelihoods
from voi.networks import Networks

LAWS = ["gumbel-matching", "plackett-luce", "matrix-plackett-luce"]  # those that reach all orders
TARGETS = [[4, 5, 6, 4], [6, 6], [5]]
SOURCES = [[4, 5], [6], [5, 5, 4]]


def _networks(*settings, seed=0):
    torch.manual_seed(seed)
    networks = Networks(tiny_experiment(*settings), torch.arange(7)).eval()
    with torch.no_grad():
        for parameter in networks.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return networks


def _enumerated(networks, row):
    batch = text_batch([TARGETS[row]], [SOURCES[row]])
    joint = networks.decoder.log_prob(batch, all_orders(len(TARGETS[row])).unsqueeze(1))
    return joint.double().logsumexp(0).item()


@pytest.mark.parametrize("law", LAWS)
def test_exact_value_is_the_sum_over_all_orders(law):
    networks = _networks(f"order.law={law}")
    found = likelihoods(networks, text_batch(TARGETS, SOURCES), num_samples=4)
    for row, likelihood in enumerate(found):
        assert likelihood.exact == pytest.approx(_enumerated(networks, row), abs=1e-5)
        assert float(likelihood) == likelihood.exact


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
def test_the_bound_rises_to_the_exact_value(law):
    """Many weights w, in units of p(y): E log mean w = -var(mean w) / 2. Three comparisons."""
    networks = _networks(f"order.law={law}", seed=1)
    torch.manual_seed(0)
    one, eight = (_bounds(networks, *size) for size in ((1, 192), (8, 64)))
    exact = _enumerated(networks, 0)
    for bounds in (one, eight):
        error = bounds.std().item() / math.sqrt(len(bounds))
        assert bounds.mean().item() <= exact + errors(3) * error
    assert one.mean() < eight.mean()  # by 5 standard errors or more
    (many,) = likelihoods(networks, text_batch(TARGETS[:1], SOURCES[:1]), 16_384, chunk=512)
    variance = many.standard_error**2
    assert abs(many.bound + variance / 2 - exact) < errors(3) * math.sqrt(variance)


def _bounds(networks, num_samples, times):
    """Return bounds of one target, drawn again and again."""
    batch = text_batch(TARGETS[:1] * times, SOURCES[:1] * times)
    return torch.tensor([found.bound for found in likelihoods(networks, batch, num_samples)])


@pytest.mark.statistical
def test_weights_average_to_the_probability():
    """E[ p(y, z) / q(z) ] = p(y): within 4 standard errors, also under Gumbel-Matching."""
    networks = _networks(seed=2)
    torch.manual_seed(0)
    (found,) = likelihoods(networks, text_batch(TARGETS[:1], SOURCES[:1]), 20_000, chunk=500)
    relative = math.exp(found.bound - found.exact)
    assert abs(relative - 1) < errors() * found.standard_error


def test_elbo_is_never_above_the_bound():
    networks = _networks(seed=3)
    for found in likelihoods(networks, text_batch(TARGETS, SOURCES), 16):
        assert found.elbo <= found.bound + 1e-9


def test_a_fixed_order_gives_its_own_joint():
    networks = _networks("order.kind=l2r", "training.num_orders=1")
    batch = text_batch([[4, 5]], [[6]])
    (found,) = likelihoods(networks, batch, 3)
    expected = networks.decoder.log_prob(batch, torch.tensor([[[0, 1]]])).item()
    assert found.bound == pytest.approx(expected, abs=1e-5)
    assert found.bound <= found.exact


def test_long_targets_have_no_exact_value():
    networks = _networks()
    target = [4] * (EXACT_LENGTH + 1)
    (found,) = likelihoods(networks, text_batch([target], [[5]]), 4)
    assert found.exact is None
    assert float(found) == found.bound


def test_a_decoder_without_slots_has_one_order():
    """Its probabilities of all targets sum to one when each is counted in reading order alone."""
    settings = ["decoder.head=sequential", "order.kind=l2r", "training.num_orders=1"]
    networks = _networks(*settings)
    batch = text_batch([[4, 5, 6], [4] * 9], [[6], [5]])
    for row, found in enumerate(likelihoods(networks, batch, 2)):
        order = torch.arange(9).expand(1, 2, 9)
        expected = networks.decoder.log_prob(batch, order)[0, row].item()
        assert found.exact == pytest.approx(expected, abs=1e-5)
        assert found.bound == pytest.approx(expected, abs=1e-5)


@pytest.mark.statistical
def test_a_law_that_does_not_reach_all_orders_gives_a_bound():
    """It rises to the sum over the orders of two ascending runs, below that over all."""
    networks = _networks("order.law=early-late", seed=1)
    batch = text_batch(TARGETS[:1], SOURCES[:1])
    orders = all_orders(len(TARGETS[0]))
    reached = orders[(orders.diff(dim=-1) < 0).sum(-1) <= 1].unsqueeze(1)
    with torch.no_grad():
        sum_of_reached = networks.decoder.log_prob(batch, reached).double().logsumexp(0).item()
    torch.manual_seed(0)
    (found,) = likelihoods(networks, batch, 4096, chunk=512)
    assert sum_of_reached < found.exact
    assert abs(found.bound - sum_of_reached) < errors(1) * found.standard_error + 1e-4


@pytest.mark.parametrize("num_samples", [0, -1])
def test_orders_must_be_drawn(num_samples):
    with pytest.raises(ValueError, match=f"num_samples must be at least 1, got {num_samples}"):
        likelihoods(_networks(), text_batch(TARGETS, SOURCES), num_samples)


def test_padding_costs_an_enumeration_nothing(monkeypatch):
    """Each target is summed over its orders at its own length."""
    networks, seen = _networks("order.law=plackett-luce"), []
    score = networks.decoder.step_log_probs

    def recorded(batch, orders, source):
        seen.append(orders.shape[-1])
        return score(batch, orders, source)

    monkeypatch.setattr(networks.decoder, "step_log_probs", recorded)
    wide = text_batch([[4, 5]], [[4]], target_width=30)
    narrow = text_batch([[4, 5]], [[4]])
    values = [likelihoods(networks, batch, 4)[0].exact for batch in (wide, narrow)]
    assert values[0] == pytest.approx(values[1])
    assert seen == [30, 2, 2, 2]


def test_a_likelihood_is_a_number():
    found = Likelihood(-2.5, 0.1, -3.0, -2.25, 64)
    assert (found < 0, found + 1, f"{found:.1f}", math.isfinite(found)) == (
        True,
        -1.25,
        "-2.2",
        True,
    )
    for twin in (copy.deepcopy(found), dataclasses.replace(found, elbo=-3.0)):
        assert dataclasses.asdict(twin) == dataclasses.asdict(found)
        assert twin == found == -2.25
