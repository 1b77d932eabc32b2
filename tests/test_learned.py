"""What is told of a model when its training ends."""

import pytest
import torch

from small_runs import tiny_experiment
from voi.checkpoint import Checkpoint
from voi.data import Example
from voi.learned import SHOWN_EXAMPLES, learned
from voi.model import Model
from voi.prepared import prepare


class Captions:
    """Five captions of two sources, and no test split."""

    split_names = ("train", "valid")

    def split(self, name):
        sources = ["from-left a a a"] * 3 + ["from-left a b c"] * 2
        return [Example(source, "A B C") for source in sources]

    def known_orders(self, example):
        return ()


@pytest.fixture(scope="module")
def model():
    prepared = prepare(tiny_experiment())
    return Model(Checkpoint(prepared.experiment, prepared.codec, prepared.networks()))


def test_it_is_of_the_last_split_and_agrees_with_the_model(model):
    before = torch.random.get_rng_state()
    found = learned(model)
    torch.testing.assert_close(torch.random.get_rng_state(), before)
    examples = model.task().split("test")
    assert (found.split, found.num_targets) == ("test", len(examples))
    assert len(found.shown) == SHOWN_EXAMPLES
    for one in found.shown:
        assert one.example in examples
        assert one.order == model.infer_order(one.example.source, one.example.target)
        assert one.best_orders == model.task().known_orders(one.example)
        assert one.written.text == model.generate([one.example.source])[0][0].text
    assert learned(model).validation.values == found.validation.values


def test_orders_of_other_tokens_are_not_shown(model, monkeypatch):
    class Longer(Captions):
        def known_orders(self, example):
            return (tuple(range(len(example.target))),)  # of letters, not of words

    monkeypatch.setattr(model, "task", Longer)
    assert {one.best_orders for one in learned(model).shown} == {()}


def test_a_source_is_shown_once(model, monkeypatch):
    monkeypatch.setattr(model, "task", Captions)
    found = learned(model)
    assert (found.split, found.num_targets) == ("valid", 5)
    assert [one.example.source for one in found.shown] == ["from-left a a a", "from-left a b c"]
    assert found.validation.distance is None
