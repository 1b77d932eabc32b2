"""Removals: the same as asking the model about a source that lacks the part."""

import dataclasses

import numpy as np
import pytest

from study_models import CAPTIONS, TEXTS, made_model
from voi.analysis import (
    generation_ranks,
    kendall_tau,
    normalized_levenshtein,
    order_rank_correlation,
)
from voi.data import Example, Regions
from voi.errors import DataError
from voi.study import perturb
from voi.study.frozen import frozen_batch


def test_a_removal_is_the_order_without_the_part(model):
    words = ["a", "b", "c", "a", "b"]
    found = perturb(model, " ".join(words), "c b a c")
    assert found.order == model.infer_order("a b c a b", "c b a c")
    assert found.tokens == ("c", "b", "a", "c")
    assert sorted(removal.part for removal in found.removals) == [0, 1, 2, 3, 4]
    for removal in found.removals:
        rest = " ".join(words[: removal.part] + words[removal.part + 1 :])
        assert removal.name == words[removal.part]
        assert removal.order == model.infer_order(rest, "c b a c")
        assert removal.nld == normalized_levenshtein(removal.order, found.order)
        assert removal.orc == order_rank_correlation(removal.order, found.order)
        assert removal.tau == kendall_tau(removal.order, found.order)


def test_ranks_are_compared_where_they_are_asked_for(model):
    source, target = "a b c a b c a", "c b a c a b"
    by_order, by_rank = (perturb(model, source, target, compare=x) for x in ("orders", "ranks"))
    assert (by_order.compared, by_rank.compared) == ("orders", "ranks")
    assert by_rank.order == by_order.order
    for removal in by_rank.removals:
        pair = generation_ranks(removal.order), generation_ranks(by_rank.order)
        assert removal.nld == normalized_levenshtein(*pair)
        assert removal.orc == order_rank_correlation(*pair)
        assert removal.tau == kendall_tau(*pair)
    correlations = [{r.part: r.orc for r in x.removals} for x in (by_order, by_rank)]
    assert correlations[0] != correlations[1]


def test_the_largest_effect_comes_first_and_ties_keep_their_places(model):
    removals = perturb(model, "a b c a b c a", "c b a c a b").removals
    assert len({removal.nld for removal in removals}) > 1  # the source matters to this model
    keys = [(-removal.nld, removal.part) for removal in removals]
    assert keys == sorted(keys)


def test_more_parts_than_fit_a_batch(model):
    source = " ".join("abc"[i % 3] for i in range(70))
    found = perturb(model, source, "b a c")
    last = next(removal for removal in found.removals if removal.part == 69)
    assert last.order == model.infer_order(source.rsplit(" ", 1)[0], "b a c")


def test_regions_are_removed_with_their_boxes(captioner):
    source = CAPTIONS[0].source
    found = perturb(captioner, source, ["a", "red", "bus"])
    assert found.order == captioner.infer_order(source, "a red bus")
    assert {r.part: r.name for r in found.removals}[0] == "bus"
    assert {r.part: r.name for r in found.removals}[1] == "region"  # without a label
    for removal in found.removals:
        keep = np.arange(4) != removal.part
        rest = Regions(source.features[keep], source.boxes[keep])
        assert removal.order == captioner.infer_order(rest, "a red bus")


def test_removing_the_only_part_leaves_nothing(model):
    (only,) = perturb(model, "b", "c b a").removals
    assert only.order == model.infer_order(None, "c b a")


def test_a_copied_word_stays_what_it_is():
    """Without its source word a copy could not be encoded; frozen, it keeps its id."""
    examples = [*TEXTS, Example("x a y", "b"), Example("q", "a")]
    model = made_model(examples, tokens={"copy": True, "min_count": 2, "num_copies": 3})
    batch = frozen_batch(model.codec, "x a y", ["y", "b", "nowhere"])
    encoded = model.codec.encode(Example("x a y", "y b nowhere"))
    assert batch.target[0].tolist() == encoded.target
    assert batch.source[0].tolist() == encoded.source
    assert encoded.target[0] in model.codec.vocabulary.copies
    found = perturb(model, "x a y", "y b")
    assert [removal.name for removal in sorted(found.removals, key=lambda r: r.part)] == list("xay")


def tagger(tokens):
    return ["NOUN" if token == "a" else "VERB" for token in tokens]


def test_a_generator_that_sees_parts_of_speech_sees_them():
    model = made_model(TEXTS, tokens={"tags": f"{__name__}:tagger"}, tags=True)
    found = perturb(model, "a b", "c b a")
    assert found.order == model.infer_order("a b", "c b a")
    batch = frozen_batch(model.codec, "a b", ["c", "a"])
    assert batch.tags[0].tolist() == model.codec.encode(Example("a b", "c a")).tags


def test_what_cannot_be_perturbed_is_said(model, captioner):
    bare = Regions(np.zeros((0, 3), np.float32), np.zeros((0, 4), np.float32), "bare")
    for asked, source in ((model, None), (model, " "), (captioner, bare)):
        with pytest.raises(DataError, match="nothing to remove"):
            perturb(asked, source, "a")
    with pytest.raises(DataError, match="at least one token"):
        perturb(model, "a", [])


def test_a_fixed_order_does_not_change():
    model = made_model(TEXTS, kind="r2l")
    found = perturb(model, "a b", "c b a")
    assert found.order == (2, 1, 0)
    assert [dataclasses.astuple(r)[2:5] for r in found.removals] == [(0.0, 1.0, 1.0)] * 2


def test_orders_can_be_searched_under_the_decoder(model):
    """Without a part the order is what the search finds for the shortened source."""
    found = perturb(model, "a b c", "c b a", beam=6)
    assert found.order == model.infer_order("a b c", "c b a", beam=6)
    shortened = {0: "b c", 1: "a c", 2: "a b"}
    for removal in found.removals:
        assert removal.order == model.infer_order(shortened[removal.part], "c b a", beam=6)
