"""What every law over orders promises; a new law joins by one line in `LAWS`."""

import pytest
import torch
from torch.distributions import constraints

from chance import assert_frequencies
from enumeration import all_orders
from voi.distributions import (
    Delta,
    EarlyLate,
    GumbelMatching,
    Listed,
    MatrixPlackettLuce,
    PlackettLuce,
    Uniform,
    permutation,
)
from voi.distributions.matching import assignment


def full(X):
    return torch.full(X.shape[:-2], X.shape[-1])


def two_orders(X, n=None):
    X, lengths = X.nan_to_num(), full(X) if n is None else n
    both = torch.stack([assignment(X, lengths), assignment(-X, lengths)], dim=-2)
    return Listed(both, torch.tensor([1.0, 0.0]).expand(*lengths.shape, 2), n)


LAWS = {
    "gumbel-matching": GumbelMatching,
    "gumbel-matching-exact": lambda X, n=None: GumbelMatching(X, n, partition="exact"),
    "gumbel-sinkhorn": lambda X, n=None: GumbelMatching(X, n, sampler="sinkhorn", tau=0.5),
    "plackett-luce": lambda X, n=None: PlackettLuce(X.diagonal(dim1=-2, dim2=-1), n),
    "matrix-plackett-luce": MatrixPlackettLuce,
    "early-late": lambda X, n=None: EarlyLate(X.diagonal(dim1=-2, dim2=-1), n),
    "uniform": lambda X, n=None: Uniform(full(X) if n is None else n, size=X.shape[-1]),
    "delta": lambda X, n=None: Delta(assignment(X.nan_to_num(), full(X) if n is None else n), n),
    "listed": two_orders,
}
LEARNED = [name for name in LAWS if name not in ("uniform", "delta", "listed")]
NORMALISED = [name for name in LAWS if name not in ("gumbel-matching", "gumbel-sinkhorn")]
SAMPLED_AS_SCORED = [name for name in NORMALISED if name != "gumbel-matching-exact"]
WITH_ENTROPY = ["gumbel-matching-exact", "early-late", "uniform", "delta", "listed"]

every_law = pytest.mark.parametrize("name", LAWS)


def logits(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


def possible(law, orders):
    """Return those of some orders `[K, n]` that every row of a law can draw."""
    return orders[law.log_prob(orders.unsqueeze(1)).isfinite().all(1)]


def padded(X, lengths, junk):
    is_token = torch.arange(X.shape[-1]) < lengths[:, None]
    return X.masked_fill(~(is_token[:, None, :] & is_token[:, :, None]), junk)


def with_tail(order, n):
    """Continue orders of a row alone by the identity, to n steps."""
    tail = torch.arange(order.shape[-1], n).expand(*order.shape[:-1], -1)
    return torch.cat([order, tail], dim=-1)


@every_law
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("sample_shape", [(), (4,), (4, 2)])
def test_shapes(name, batch, sample_shape):
    law = LAWS[name](logits(*batch, 4, 4))
    orders = law.sample(sample_shape)
    assert (law.batch_shape, law.event_shape) == (batch, (4,))
    assert orders.shape == (*sample_shape, *batch, 4)
    assert orders.dtype == torch.int64
    assert law.log_prob(orders).shape == (*sample_shape, *batch)
    assert law.log_potential(orders).shape == (*sample_shape, *batch)
    assert law.mode.shape == (*batch, 4)
    assert law.support.check(orders).all()
    assert permutation.check(orders).all()


@every_law
@pytest.mark.parametrize("size", [0, 1])
def test_nothing_and_one_token(name, size):
    law = LAWS[name](logits(2, size, size))
    only = torch.zeros(2, size, dtype=torch.int64)
    assert torch.equal(law.sample((3,)), only.expand(3, 2, size))
    assert torch.equal(law.mode, only)
    torch.testing.assert_close(law.log_prob(only).double(), torch.zeros(2, dtype=torch.float64))


@every_law
def test_values_broadcast_against_the_batch(name):
    law = LAWS[name](logits(3, 4, 4))
    orders = all_orders(4)
    table = law.log_prob(orders.unsqueeze(1))  # [24, 3]
    assert table.shape == (24, 3)
    torch.testing.assert_close(law.log_prob(orders[5]), table[5])
    torch.testing.assert_close(law.log_prob(orders[[5, 6, 7]]), table[[5, 6, 7], [0, 1, 2]])


@every_law
def test_expand_repeats_the_law(name):
    X, lengths = logits(3, 4, 4), torch.tensor([4, 2, 3])
    law = LAWS[name](X, lengths)
    wide = law.expand((2, 3))
    orders = law.sample((5,)).unsqueeze(1)
    assert type(wide) is type(law)
    assert wide.batch_shape == (2, 3)
    assert wide.sample((5,)).shape == (5, 2, 3, 4)
    assert torch.equal(wide.mode, law.mode.expand(2, 3, 4))
    expected = law.log_prob(orders).expand(5, 2, 3)
    torch.testing.assert_close(wide.log_prob(orders), expected)
    for option in ("partition", "sampler", "tau", "sinkhorn_iterations", "_validate_args"):
        assert getattr(wide, option, None) == getattr(law, option, None)


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_have_the_type_of_the_logits(name, dtype):
    X = logits(2, 4, 4)
    law = LAWS[name](X.to(dtype))
    orders = LAWS[name](X).mode
    assert law.log_prob(orders).dtype == dtype
    torch.testing.assert_close(
        law.log_prob(orders).double(), LAWS[name](X).log_prob(orders), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("name", LEARNED)
def test_samples_and_modes_carry_no_gradient_and_scores_do(name):
    law = LAWS[name](logits(2, 4, 4).requires_grad_())
    orders = law.sample((3,))
    assert not orders.requires_grad
    assert not law.mode.requires_grad
    assert law.log_prob(orders).requires_grad
    assert law.log_potential(orders).requires_grad


@pytest.mark.parametrize("name", ["uniform", "delta"])
def test_fixed_laws_carry_no_gradient(name):
    law = LAWS[name](logits(2, 4, 4).requires_grad_())
    assert not law.log_potential(law.mode).requires_grad


@pytest.mark.parametrize("name", NORMALISED)
@pytest.mark.parametrize("n", range(6))
def test_mass_is_one(name, n):
    law = LAWS[name](logits(2, n, n, seed=n))
    total = law.log_prob(all_orders(n).unsqueeze(1)).logsumexp(dim=0)
    torch.testing.assert_close(total, torch.zeros_like(total), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "uniform"])
@pytest.mark.parametrize("n", range(1, 6))
def test_mode_is_the_most_likely_of_all_orders(name, n):
    law = LAWS[name](2 * logits(20, n, n, seed=n))
    best = law.log_prob(all_orders(n).unsqueeze(1)).argmax(dim=0)
    assert torch.equal(law.mode, all_orders(n)[best])


@pytest.mark.statistical
@pytest.mark.parametrize("name", SAMPLED_AS_SCORED)
def test_samples_follow_the_density(name):
    torch.manual_seed(1)
    count, lengths, X = 20_000, torch.tensor([4, 3]), logits(2, 4, 4)
    drawn = LAWS[name](X, lengths).sample((count,))
    for row, n in enumerate(lengths.tolist()):
        orders = all_orders(n)
        counts = (drawn[:, row, None, :n] == orders).all(-1).sum(dim=0)
        expected = LAWS[name](X[row, :n, :n]).log_prob(orders).double().exp()
        assert_frequencies(counts, expected, count)


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_of_the_score(name):
    parameters = (0.5 * logits(2, 4, 4)).requires_grad_()
    lengths = torch.tensor([4, 4])
    orders = possible(LAWS[name](parameters, lengths), all_orders(4))[::5].unsqueeze(1)
    assert torch.autograd.gradcheck(
        lambda X: LAWS[name](X, lengths).log_prob(orders), parameters, atol=1e-4
    )


@pytest.mark.parametrize("name", LEARNED)
def test_potential_differs_from_the_density_by_a_constant(name):
    law = LAWS[name](logits(2, 4, 4))
    orders = possible(law, all_orders(4)).unsqueeze(1)
    gap = law.log_potential(orders) - law.log_prob(orders)
    torch.testing.assert_close(gap, gap[:1].expand_as(gap))


@pytest.mark.parametrize("name", WITH_ENTROPY)
def test_entropy_is_the_enumerated_one(name):
    law = LAWS[name](logits(2, 4, 4))
    log_q = law.log_prob(all_orders(4).unsqueeze(1))
    expected = -torch.special.xlogy(log_q.exp(), log_q.exp()).sum(dim=0)
    torch.testing.assert_close(law.entropy(), expected)


@pytest.mark.parametrize("name", ["plackett-luce", "matrix-plackett-luce"])
def test_entropy_without_closed_form_is_refused(name):
    with pytest.raises(NotImplementedError, match=r"estimate it by -q.log_prob\(q.sample"):
        LAWS[name](logits(2, 4, 4)).entropy()


@every_law
@pytest.mark.parametrize("junk", [7.0, torch.nan, torch.inf])
def test_a_ragged_row_is_the_row_alone(name, junk):
    lengths = torch.tensor([5, 3, 1, 0])
    X = logits(4, 5, 5)
    law = LAWS[name](padded(X, lengths, junk), lengths)
    drawn = law.sample((6,))
    assert law.support.check(drawn).all()
    density, potential = law.log_prob(drawn), law.log_potential(drawn)
    for row, n in enumerate(lengths.tolist()):
        alone = LAWS[name](X[row, :n, :n])
        orders = drawn[:, row, :n]
        torch.testing.assert_close(density[:, row], alone.log_prob(orders))
        torch.testing.assert_close(potential[:, row], alone.log_potential(orders))
        assert torch.equal(law.mode[row], with_tail(alone.mode, 5))


@pytest.mark.parametrize("name", [name for name in LAWS if "plackett" not in name])
def test_a_ragged_entropy_is_that_of_the_row_alone(name):
    lengths = torch.tensor([5, 3, 1, 0])
    X = logits(4, 5, 5)
    law = LAWS[name](padded(X, lengths, torch.nan), lengths)
    for row, n in enumerate(lengths.tolist()):
        alone = LAWS[name](X[row, :n, :n])
        torch.testing.assert_close(law.entropy()[row], alone.entropy())
        if isinstance(law, GumbelMatching):
            torch.testing.assert_close(law.gumbel_entropy()[row], alone.gumbel_entropy())


def test_a_ragged_gumbel_entropy_of_scores_is_that_of_the_row_alone():
    lengths, s = torch.tensor([5, 3, 1, 0]), logits(4, 5)
    law = PlackettLuce(torch.where(torch.arange(5) < lengths.unsqueeze(-1), s, torch.nan), lengths)
    alone = [PlackettLuce(row[:n]).gumbel_entropy() for row, n in zip(s, lengths, strict=True)]
    torch.testing.assert_close(law.gumbel_entropy(), torch.stack(alone))


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_stay_out_of_the_padding(name):
    lengths = torch.tensor([4, 2, 0])
    X = padded(logits(3, 4, 4), lengths, torch.nan).requires_grad_()
    law = LAWS[name](X, lengths)
    (gradient,) = torch.autograd.grad(law.log_prob(law.sample((5,))).sum(), X)
    assert gradient.isfinite().all()
    assert torch.equal(gradient, padded(gradient, lengths, 0.0))
    alone = X[1, :2, :2].detach().requires_grad_()
    orders = law.sample((5,))
    (whole,) = torch.autograd.grad(LAWS[name](X, lengths).log_prob(orders)[:, 1].sum(), X)
    (part,) = torch.autograd.grad(LAWS[name](alone).log_prob(orders[:, 1, :2]).sum(), alone)
    torch.testing.assert_close(whole[1, :2, :2], part)


@every_law
@pytest.mark.parametrize(
    "order", [[0, 1, 1], [0, 1, 3], [0, 2, 1], [0, 1]], ids=["twice", "far", "tail", "short"]
)
def test_values_outside_the_support_are_refused(name, order):
    law = LAWS[name](logits(3, 3), torch.tensor(2))
    with pytest.raises(ValueError, match=r"support|event_shape"):
        law.log_prob(torch.tensor(order))
    with pytest.raises(ValueError, match=r"support|event_shape"):
        law.log_potential(torch.tensor(order))


@every_law
def test_orders_are_integers(name):
    law = LAWS[name](logits(3, 3))
    with pytest.raises(ValueError, match="support"):
        law.log_prob(torch.tensor([0.0, 1.0, 2.0]))


@every_law
@pytest.mark.parametrize("length", [-1, 4, 2.0])
def test_lengths_fit_the_order(name, length):
    given = {
        "delta": lambda X, n: Delta(torch.arange(3), n),
        "listed": lambda X, n: Listed(torch.arange(3).expand(2, 3), torch.zeros(2), n),
    }
    make = given.get(name, LAWS[name])
    with pytest.raises(ValueError, match="lengths"):
        make(logits(3, 3), torch.tensor(length))


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_logits_are_finite(name, bad):
    X = logits(3, 3)
    X[1, 1] = bad
    with pytest.raises(ValueError, match="logits"):
        LAWS[name](X)


@pytest.mark.parametrize("law", [GumbelMatching, MatrixPlackettLuce])
def test_score_matrices_are_square(law):
    with pytest.raises(ValueError, match=r"\[\*batch, n, n\].*\[2, 3\]"):
        law(torch.zeros(2, 3))


@pytest.mark.parametrize("law", [PlackettLuce, EarlyLate])
def test_scores_of_positions_are_a_vector(law):
    with pytest.raises(ValueError, match="scalar"):
        law(torch.tensor(1.0))


def test_delta_keeps_the_tail():
    with pytest.raises(ValueError, match=r"order\[t\] = t"):
        Delta(torch.tensor([0, 2, 1]), torch.tensor(2))
    with pytest.raises(ValueError, match="order"):
        Delta(torch.tensor([0, 0, 1]))


def test_uniform_takes_the_longest_row_as_its_size():
    law = Uniform(torch.tensor([2, 4]))
    assert law.event_shape == (4,)
    torch.testing.assert_close(law.entropy().exp(), torch.tensor([2.0, 24.0]))


def test_checks_can_be_switched_off():
    law = GumbelMatching(torch.full((2, 2), torch.nan), validate_args=False)
    assert law.log_potential(torch.tensor([0, 0])).isnan()


@every_law
def test_expand_to_no_batch_and_int32_orders(name):
    law = LAWS[name](logits(4, 4))
    assert law.expand(torch.Size([])).batch_shape == ()
    torch.testing.assert_close(law.log_prob(law.mode.int()), law.log_prob(law.mode))


@every_law
def test_a_law_of_ones_own_stays_one_when_expanded(name):
    law = LAWS[name](logits(4, 4))
    own = type("Own", (type(law),), {})
    law.__class__ = own
    assert type(law.expand((2,))) is own


@pytest.mark.parametrize("score", [15.0, 17.0, 20.0])
def test_entropies_near_zero_keep_their_digits(score):
    scores = torch.full((10,), score)
    expected = EarlyLate(scores.double()).entropy()
    torch.testing.assert_close(EarlyLate(scores).entropy().double(), expected, rtol=0.01, atol=0)


@pytest.mark.parametrize("name", [*LEARNED, "uniform", "delta"])
def test_empty_batches(name):
    law = LAWS[name](logits(0, 4, 4))
    assert law.batch_shape == (0,)
    assert law.sample((3,)).shape == (3, 0, 4)


OFFSET = {
    "plackett-luce": PlackettLuce,
    "matrix-plackett-luce": lambda x: MatrixPlackettLuce(x.expand(3, 3)),
    "gumbel-exact": lambda x: GumbelMatching(x.expand(3, 3).clone(), partition="exact"),
    "gumbel-bethe": lambda x: GumbelMatching(x.expand(3, 3).clone()),
}


@pytest.mark.statistical
@pytest.mark.parametrize("law", OFFSET.values(), ids=OFFSET)
def test_what_all_scores_have_in_common_costs_no_digits(law):
    scores = torch.tensor([0.0, 1.0, 2.0])
    far, near = law(scores + 1e7), law(scores)
    orders = all_orders(3)
    torch.testing.assert_close(far.log_prob(orders), near.log_prob(orders))
    if isinstance(far, GumbelMatching):
        torch.testing.assert_close(far.entropy(), near.entropy())
    torch.manual_seed(0)
    drawn = far.sample((4000,))
    torch.manual_seed(0)
    assert (drawn == near.sample((4000,))).all(-1).float().mean() > 0.999


def test_scores_far_apart_give_no_probability_above_one():
    torch.manual_seed(0)
    scores = 1e3 * torch.randn(50, 20)
    law = PlackettLuce(scores)
    log_prob = law.log_prob(law.mode)
    assert (log_prob <= 0).all()
    exact = PlackettLuce(scores.double()).log_prob(law.mode).float()
    torch.testing.assert_close(log_prob, exact, atol=3e-4, rtol=0)


def test_exact_laws_of_targets_without_tokens():
    law = GumbelMatching(torch.zeros(2, 4, 4), torch.tensor([0, 0]), partition="exact")
    assert torch.equal(law.entropy(), torch.zeros(2))
    assert torch.equal(law.marginals, torch.eye(4).expand(2, 4, 4))


def test_lengths_may_be_plain_numbers():
    logits = torch.zeros(2, 3)
    for lengths in ([2, 3], torch.tensor([2, 3], dtype=torch.int32)):
        assert PlackettLuce(logits, lengths).lengths.tolist() == [2, 3]
        assert Uniform(lengths).lengths.tolist() == [2, 3]
    assert Uniform(3).event_shape == (3,)
    assert Delta([1, 0, 2], 2).lengths == 2
    assert Uniform([]).sample((2,)).shape == (2, 0, 0)
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        Uniform(-1)
    assert Delta([]).order.dtype == torch.int64
    assert Delta(torch.tensor([1, 0], dtype=torch.uint8)).sample().dtype == torch.int64
    with pytest.raises(ValueError, match="got the number 3"):
        Delta(3)
    with pytest.raises(
        ValueError, match=r"broadcast with the batch shape \[2\], got the shape \[3\]"
    ):
        PlackettLuce(logits, torch.tensor([1, 2, 3]))


def test_a_law_made_from_another_says_what_its_own_arguments_must_be():
    class Flattened(PlackettLuce):
        arg_constraints = {"power": constraints.positive}  # noqa: RUF012

        def __init__(self, logits, lengths=None, power=1.0, validate_args=None):
            self.power = torch.as_tensor(power)
            super().__init__(logits, lengths, validate_args)

    class Renamed(Flattened):
        pass

    for law in (Flattened, Renamed):
        assert set(law.arg_constraints) == {"logits", "lengths", "power"}
        assert "power" in repr(law(torch.zeros(3), power=2.0))
        with pytest.raises(ValueError, match="parameter power"):
            law(torch.zeros(3), power=-1.0)
        with pytest.raises(ValueError, match="parameter logits"):
            law(torch.tensor([0.0, torch.nan]))
