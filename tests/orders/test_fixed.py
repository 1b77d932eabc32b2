"""Orders that are not learned, against examples written by hand and plain Python versions."""

import random
import sys
import types

import pytest
import torch

from chance import assert_frequencies
from small_models import text_batch, tiny_decoder
from voi.analysis.reference import (
    common_order,
    l2r_order,
    r2l_order,
    rare_order,
    tree_order,
)
from voi.config import OrderConfig
from voi.distributions import Delta, Uniform
from voi.errors import ConfigError
from voi.orders import KINDS, make_orders
from voi.tokens import UNK

A, BUS, RED, THE = 4, 5, 6, 7
COUNTS = torch.tensor([0, 50, 0, 0, 9, 4, 2, 9])  # "a" and "the" are equally frequent


def law(kind, targets, counts=COUNTS, width=0):
    return make_orders(kind, OrderConfig(), counts, tiny_decoder())(
        text_batch(targets, target_width=width)
    )


EXAMPLES = [
    ("l2r", [BUS, A, RED], [0, 1, 2]),
    ("r2l", [BUS, A, RED], [2, 1, 0]),
    ("common", [RED, A, BUS], [1, 2, 0]),
    ("common", [THE, BUS, A, THE], [0, 2, 3, 1]),  # ties and repeated words from the left
    ("common", [UNK, RED, UNK, A], [3, 1, 0, 2]),  # unknown words are the rarest
    ("rare", [RED, A, BUS], [0, 2, 1]),
    ("rare", [THE, BUS, A, THE], [1, 0, 2, 3]),
    ("rare", [A, RED, UNK, A, UNK], [2, 4, 1, 0, 3]),
    ("tree", [A], [0]),
    ("tree", [A] * 2, [0, 1]),
    ("tree", [A] * 3, [1, 0, 2]),
    ("tree", [A] * 4, [1, 0, 2, 3]),
    ("tree", [A] * 6, [2, 0, 4, 1, 3, 5]),
    ("tree", [A] * 7, [3, 1, 5, 0, 2, 4, 6]),
]


@pytest.mark.parametrize(("kind", "target", "expected"), EXAMPLES)
def test_examples_by_hand(kind, target, expected):
    q = law(kind, [target])
    assert isinstance(q, Delta)
    assert q.mode.tolist() == [expected]


@pytest.mark.parametrize("kind", ["l2r", "r2l", "common", "rare", "tree"])
def test_examples_together_and_padded(kind):
    """Rows of a batch are ordered each by itself; padding stays in place at the tail."""
    pairs = [(target, order) for name, target, order in EXAMPLES if name == kind]
    targets = [target for target, _ in pairs]
    q = law(kind, targets, width=9)
    tails = [order + list(range(len(order), 9)) for _, order in pairs]
    assert q.mode.tolist() == tails
    assert torch.equal(q.sample((2,)), torch.tensor([tails, tails]))
    assert not q.log_prob(torch.tensor(tails)).any()
    assert q.support.check(q.mode).all()


def reference(kind, tokens):
    counts = {str(word): int(COUNTS[word]) for word in range(4, len(COUNTS))}
    if kind in ("common", "rare"):
        return (common_order if kind == "common" else rare_order)(tokens, counts)
    return {"l2r": l2r_order, "r2l": r2l_order, "tree": tree_order}[kind](tokens)


@pytest.mark.parametrize("kind", ["l2r", "r2l", "common", "rare", "tree"])
def test_plain_python_agrees(kind):
    rng = random.Random(0)
    words = [UNK, A, BUS, RED, THE]
    targets = [[rng.choice(words) for _ in range(rng.randint(1, 12))] for _ in range(60)]
    found = law(kind, targets).mode
    for target, order in zip(targets, found.tolist(), strict=True):
        assert order[: len(target)] == reference(kind, list(map(str, target)))


def test_frequencies_above_the_precision_of_float32_are_told_apart():
    counts = torch.tensor([0, 0, 0, 0, 2**24, 2**24 + 1])
    assert law("common", [[4, 5]], counts).mode.tolist() == [[1, 0]]


@pytest.mark.statistical
def test_random_orders_are_uniform_and_fresh():
    torch.manual_seed(0)
    q = law("random", [[A, BUS, RED], [A]], width=4)
    assert isinstance(q, Uniform)
    orders = q.sample((6000,))
    assert (orders[:, :, 3] == 3).all()
    assert (orders[:, 1] == torch.arange(4)).all()
    kinds, counts = orders[:, 0].unique(dim=0, return_counts=True)
    assert len(kinds) == 6
    assert_frequencies(counts, [1 / 6] * 6, 6000)


def test_orders_of_targets_without_tokens():
    for kind in KINDS:
        if kind != "voi":
            policy = make_orders(kind, OrderConfig(), COUNTS, tiny_decoder())
            assert policy(text_batch([[], []])).sample((2,)).shape == (2, 2, 0)


def test_counts_are_kept_as_they_were():
    counts = COUNTS.clone()
    policy = make_orders("rare", OrderConfig(), counts, tiny_decoder())
    assert torch.equal(counts, COUNTS)
    assert policy.state_dict()["counts"][UNK] == 0


@pytest.mark.parametrize("kind", ["l2rr", "random_order", "xyz"])
def test_unknown_names(kind):
    with pytest.raises(ConfigError, match=f'unknown order "{kind}": (did you mean|known)'):
        make_orders(kind, OrderConfig(), COUNTS, tiny_decoder())


def reversed_within_length(batch):
    n = batch.target.shape[1]
    steps = torch.arange(n).expand(len(batch), n)
    return torch.where(batch.target_mask, batch.lengths[:, None] - 1 - steps, steps)


BAD = {
    "as_list": lambda batch: [[0]],
    "one_row": lambda batch: torch.arange(batch.target.shape[1]),
    "wide": lambda batch: torch.arange(batch.target.shape[1] + 1).expand(len(batch), -1),
    "repeating": lambda batch: torch.zeros_like(batch.target),
    "real": lambda batch: reversed_within_length(batch).float(),
    "moves_padding": lambda batch: torch.tensor([[2, 1, 0], [2, 0, 1]]),
}


def without_arguments():
    return torch.zeros(1)


def broken(batch):
    return {}["key"]


@pytest.fixture
def user_module(monkeypatch):
    module = types.ModuleType("user_orders")
    module.good = reversed_within_length
    module.__dict__.update(BAD, number=7, none=without_arguments, broken=broken)
    monkeypatch.setitem(sys.modules, "user_orders", module)
    return "user_orders"


def test_user_function(user_module):
    targets = [[A, BUS, RED], [A, A]]
    q = law(f"{user_module}:good", targets, width=4)
    assert torch.equal(q.mode, law("r2l", targets, width=4).mode)


@pytest.mark.parametrize("name", BAD)
def test_user_function_with_a_wrong_return(user_module, name):
    with pytest.raises(ConfigError, match=f"^{user_module}:{name} must return [^\n]*$"):
        law(f"{user_module}:{name}", [[A, BUS, RED], [A, A]])


def test_user_function_with_a_wrong_signature(user_module):
    with pytest.raises(
        ConfigError, match=r"^order 'user_orders:none' must take \(batch\), [^\n]*$"
    ):
        law(f"{user_module}:none", [[A, BUS, RED], [A, A]])


def test_user_function_that_fails(user_module):
    with pytest.raises(ConfigError, match=r"^user_orders:broken failed \(KeyError: 'key'\)[^\n]*$"):
        law(f"{user_module}:broken", [[A, BUS, RED], [A, A]])


@pytest.mark.parametrize(
    "name", ["user_orders:missing", "user_orders:number", "no_such_module:f", ":f", ".x:f", "m:"]
)
def test_user_function_that_is_not_there(user_module, name):
    with pytest.raises(ConfigError, match="give module:"):
        make_orders(name, OrderConfig(), COUNTS, tiny_decoder())


@pytest.mark.parametrize("text", ["def f(batch:\n", "f = missing\n"])
def test_user_module_with_a_fault(text, tmp_path, monkeypatch):
    (tmp_path / "faulty_orders.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"^order 'faulty_orders:f' cannot be imported \(\w+Err"):
        make_orders("faulty_orders:f", OrderConfig(), COUNTS, tiny_decoder())
