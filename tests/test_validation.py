"""What training is told about a split."""

import pytest
import torch

from small_runs import tiny_experiment
from voi import runs
from voi.analysis import normalized_levenshtein
from voi.checkpoint import Checkpoint
from voi.model import Model
from voi.search import Found
from voi.tokens.vocabulary import UNK
from voi.validation import _is_right, validate


@pytest.fixture(scope="module")
def prepared():
    return runs.prepare(tiny_experiment())


def _validated(prepared, networks, batch_size=64):
    torch.manual_seed(0)
    return validate(
        networks,
        prepared.valid,
        num_orders=2,
        max_length=3,
        known_orders=prepared.known_orders("valid", prepared.valid),
        batch_size=batch_size,
    )


def test_accuracy_and_distance_are_those_of_the_model(prepared):
    networks = prepared.networks()
    found = _validated(prepared, networks)
    model = Model(Checkpoint(prepared.experiment, prepared.codec, networks, 0))
    examples = prepared.task.split("valid")
    written = model.generate([e.source for e in examples], beam=1, max_length=3)
    right = [best.text == e.target for (best, *_), e in zip(written, examples, strict=True)]
    assert found.accuracy == pytest.approx(sum(right) / len(right))
    distances = [
        min(
            float(normalized_levenshtein(known, model.infer_order(e.source, e.target)))
            for known in prepared.task.known_orders(e)
        )
        for e in examples
    ]
    assert found.distance == pytest.approx(sum(distances) / len(distances))


def test_values_name_the_score(prepared):
    found = _validated(prepared, prepared.networks())
    assert found.values["score"] == found.values["elbo"]
    assert found.elbo.num_examples == len(prepared.valid)
    parts = (found.values[name] for name in ("tokens", "slots", "entropy"))
    assert found.values["elbo"] == pytest.approx(sum(parts))


def test_batches_do_not_matter(prepared):
    networks = prepared.networks()
    whole, parts = _validated(prepared, networks), _validated(prepared, networks, batch_size=3)
    assert whole.accuracy == parts.accuracy
    assert whole.distance == pytest.approx(parts.distance)
    assert whole.elbo.num_tokens == parts.elbo.num_tokens


def test_a_target_with_an_unknown_word_is_never_right():
    a, b = 5, 6
    for target, is_right in (([a, b], True), ([a, UNK], False), ([b, a], False)):
        written = Found(tuple(target if UNK in target else [a, b]), (0, 1), (), (), 0.0)
        assert _is_right(written, target) == is_right
