"""Where tokens are pieces of words, rules hold for the words."""

import math
import random

import pytest
import torch

from small_models import roughen
from small_runs import tiny_experiment
from voi import Sampling
from voi.checkpoint import Checkpoint
from voi.data import Example
from voi.model import Model
from voi.networks import Networks
from voi.search import rules_with_gaps, rules_with_keywords
from voi.tokens import build_codec

WORDS = ("bus", "buses", "busy", "red", "reds", "a")
SEARCHES = {"beam": {"beam": 4, "nbest": 4}, "samples": {"sample": Sampling(num_samples=50)}}


def piece_model(seed, size=30):
    """Return a model with random weights that writes pieces of words."""
    rng = random.Random(0)
    examples = [Example("x", " ".join(rng.choices(WORDS, k=4))) for _ in range(200)]
    codec = build_codec({"kind": "bpe", "size": size}, examples)
    experiment = tiny_experiment("search.max_length=8")
    torch.manual_seed(seed)
    return Model(Checkpoint(experiment, codec, roughen(Networks.of(experiment, codec))))


@pytest.fixture(scope="module")
def model():
    return piece_model(0)


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("words", [["bus"], ["red", "bus"], ["busy", "a", "bus"]], ids=str)
def test_keywords_stay_the_words_they_are(model, words, in_order, options):
    (found,) = model.generate(["x"], keywords=[words], keywords_in_order=in_order, **options)
    for one in found:
        written = [word for word in one.text.split() if word in words]
        assert set(written) == set(words), one.tokens
        if in_order:
            rest = iter(written)
            assert all(word in rest for word in words), one.tokens


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_words_beside_a_gap_stay_what_they_are(model, options):
    (found,) = model.generate(["x"], gaps=["bus ___ red"], **options)
    for one in found:
        assert one.text.startswith("bus "), one.tokens
        assert one.text.split()[-1] == "red", one.tokens


@pytest.mark.parametrize("max_length", [3, 4, 8])
@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("seed", range(5))
def test_a_mark_alone_fills_no_gap(options, max_length, seed):
    """A piece that only begins a word is no word."""
    model = piece_model(seed)
    (found,) = model.generate(["x"], gaps=["bus ___ red"], max_length=max_length, **options)
    assert found
    for one in found:
        assert len(one.text.split()) > 2, one.tokens
        assert len(one.tokens) <= max_length
        assert math.isfinite(one.score)


def test_where_every_word_begins_with_a_mark_alone_gaps_can_still_be_filled():
    model = piece_model(0, size=1)
    assert rules_with_gaps("a ___", model.codec, "x").marks == frozenset()
    (found,) = model.generate(["x"], gaps=["a ___ a"], max_length=8, **SEARCHES["samples"])
    assert len(found) == 50


def test_a_gap_at_the_end_of_letters_may_go_on_with_the_word(model):
    codec = model.codec
    assert not any(rules_with_gaps("re___", codec, "x").sealed)
    assert rules_with_gaps("red ___", codec, "x").sealed[-1]
    (found,) = model.generate(["x"], gaps=["bus___"], sample=Sampling(num_samples=50))
    assert any(not one.text.startswith("bus ") for one in found)


def test_whole_words_have_no_pieces():
    codec = build_codec({}, [Example("x", "a bus")])
    assert not rules_with_keywords(["bus"], codec, "x", in_order=False).joins
