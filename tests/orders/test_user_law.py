"""A user's law: what it must give is asked before anything is learned with it."""

import sys
import types

import pytest
import torch

from small_models import tiny_generator
from voi.distributions import OrderLaw, PlackettLuce
from voi.errors import ConfigError


class Fine(PlackettLuce):
    pass


class OneArgument(OrderLaw):
    def __init__(self, logits):
        raise AssertionError("is not called")


class NoLaw:
    def __init__(self, logits, lengths, validate_args=False):
        pass


class NoMethods(OrderLaw):
    logits_shape = "vector"

    def __init__(self, logits, lengths, validate_args=False):
        super().__init__(lengths, logits.shape[-1], validate_args)


class OneSample(PlackettLuce):
    def sample(self, sample_shape=()):
        return super().sample()


class NoPermutation(PlackettLuce):
    def sample(self, sample_shape=()):
        return torch.zeros_like(super().sample(sample_shape))


class WrongMode(PlackettLuce):
    @property
    def mode(self):
        return super().mode[:, :1]


class ScorePerToken(PlackettLuce):
    def log_prob(self, value):
        return super().log_prob(value).unsqueeze(-1)


class MatrixWanted(PlackettLuce):
    logits_shape = "matrix"


MESSAGES = {
    OneArgument: r"law 'own:OneArgument' must take \(logits, lengths, validate_args=False\)",
    NoLaw: "own:NoLaw must be a voi.distributions.OrderLaw with sample, log_prob and mode",
    NoMethods: "own:NoMethods failed .NotImplementedError: ",
    OneSample: r"own:OneSample.sample must give a tensor of shape \(4, 2, 3\)",
    NoPermutation: r"own:NoPermutation.sample must give permutations .* got \[0, 0, 0\]",
    WrongMode: r"own:WrongMode.mode must give a tensor of shape \(2, 3\)",
    ScorePerToken: r"own:ScorePerToken.log_prob must .* shape \(4, 2\) .* got \(4, 2, 1\)",
    MatrixWanted: r"own:MatrixWanted failed \(RuntimeError: .*\): expected a voi.dist",
}


@pytest.fixture
def own(monkeypatch):
    module = types.ModuleType("own")
    module.__dict__.update({law.__name__: law for law in (Fine, *MESSAGES)})
    monkeypatch.setitem(sys.modules, "own", module)


def test_trying_a_law_draws_no_random_numbers_of_the_run(own):
    before = tiny_generator(law="plackett-luce").state_dict()
    after = tiny_generator(law="own:Fine").state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("law", MESSAGES, ids=lambda law: law.__name__)
def test_what_is_wrong_with_a_law_is_said_in_one_line(own, law):
    with pytest.raises(ConfigError, match=MESSAGES[law]) as caught:
        tiny_generator(law=f"own:{law.__name__}")
    assert "\n" not in str(caught.value)


def test_a_law_is_tried_where_networks_have_no_numbers(own):
    """As where one process puts the parts of a sharded network together."""
    with torch.device("meta"):
        assert tiny_generator(law="own:Fine").law.__name__ == "Fine"
