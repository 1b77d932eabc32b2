"""What training is told about a split."""

import dataclasses

import numpy as np
import pytest
import torch

from small_runs import tiny_experiment
from voi.analysis import nearest, normalized_levenshtein
from voi.batch import collate
from voi.checkpoint import Checkpoint
from voi.data.tasks import make_task
from voi.model import Model
from voi.prepared import prepare
from voi.search import Found
from voi.tokens.ragged import Ragged
from voi.tokens.vocabulary import UNK
from voi.validation import validate


@pytest.fixture(scope="module")
def prepared():
    return prepare(tiny_experiment())


def _validated(prepared, networks, batch_size=64):
    torch.manual_seed(0)
    return validate(
        networks,
        prepared.judge("valid"),
        num_orders=2,
        max_length=3,
        batch_size=batch_size,
    )


def test_no_order_of_pieces_of_words_is_known():
    """What a task knows are orders of words, of which there are fewer."""
    pytest.importorskip("tokenizers")
    sizes = "data.options={train=20, valid=4, test=4}"
    bpe = ("data.tokens.kind=bpe", "data.tokens.size=25")
    prepared = prepare(tiny_experiment(sizes, *bpe, task="sudoku4"))
    judge = prepared.judge("valid")
    assert min(judge.corpus.targets.lengths) > 8  # cells
    assert _validated(prepared, prepared.networks()).distance is None


def test_accuracy_and_distance_are_those_of_the_model(prepared):
    networks = prepared.networks()
    found = _validated(prepared, networks)
    model = Model(Checkpoint(prepared.experiment, prepared.codec, networks))
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


@pytest.mark.parametrize("has_unknown", [False, True])
def test_a_target_with_an_unknown_word_is_never_right(prepared, has_unknown):
    judge = prepared.judge("valid")
    targets = [row.tolist() for row in judge.corpus.targets]
    targets[0][1] = UNK if has_unknown else targets[0][1]
    ids = Ragged.of(targets)
    judge = dataclasses.replace(judge, corpus=dataclasses.replace(judge.corpus, targets=ids))
    assert judge.is_right(_written(targets[0]), 0) is not has_unknown
    assert not judge.is_right(_written(targets[0][1:]), 0)


def _written(target):
    """Return what search finds when it writes ids from left to right."""
    return Found(tuple(target), tuple(range(len(target))), (), (), 0.0)


@pytest.fixture(scope="module")
def sudoku():
    options = "data.options={blanks=6, openings=3, train=32, valid=8, test=8}"
    return prepare(tiny_experiment(options, task="sudoku4"))


def test_the_distance_of_a_sudoku_is_the_one_to_all_valid_orders(sudoku):
    networks, task = sudoku.networks(), sudoku.task
    found = _validated(sudoku, networks)
    model = Model(Checkpoint(sudoku.experiment, sudoku.codec, networks))
    examples = task.split("valid")[: len(sudoku.valid)]
    orders = [model.infer_order(e.source, e.target) for e in examples]
    exact = [task.order_distance(e, order) for e, order in zip(examples, orders, strict=True)]
    assert found.distance == pytest.approx(np.mean(exact))
    known = map(task.known_orders, examples)
    listed = [nearest(order, few) for order, few in zip(orders, known, strict=True)]
    assert np.mean(listed) > np.mean(exact)  # so that the test tells them apart


def test_what_a_task_accepts_is_right(sudoku):
    judge = sudoku.judge("valid")
    target = judge.corpus.targets[0].tolist()
    assert judge.is_right(_written(target), 0)
    assert judge.is_right(_written(target[::-1]), 0)
    assert not judge.is_right(_written(target[1:]), 0)


def test_whether_best_orders_are_known():
    prepared = prepare(tiny_experiment())
    judge, batch = prepared.judge("valid"), collate(prepared.valid, np.arange(2))
    assert judge.knows_orders(batch)
    assert not dataclasses.replace(judge, task=make_task("pylines", {})).knows_orders(batch)
