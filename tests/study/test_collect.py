"""What is collected from a model is what the model says when it is asked one by one."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from study_models import CAPTIONS, TEXTS
from voi.batch import collate
from voi.errors import DataError, MissingExtraError
from voi.study import examples_of, generated_traces, learned_traces, run_series
from voi.study.collect import has_sentences, token_counts
from voi.study.pictures import data_uri, pictures_of, region_views
from voi.tokens import build_corpus
from voi.tokens.limits import ANY_LENGTH


def reversed_orders(example):
    return (tuple(reversed(range(len(example.target.split())))),)


class Split:
    """A task of one split."""

    def __init__(self, examples):
        self.examples = examples

    def split(self, name):
        return self.examples

    def known_orders(self, example):
        return ()


def test_learned_orders_are_inferred_from_the_targets(model):
    told = []
    traces = learned_traces(
        model, TEXTS, known_orders=reversed_orders, samples=3, told=lambda *what: told.append(what)
    )
    assert told == [("learned orders", len(TEXTS), len(TEXTS))]
    for example, trace in zip(TEXTS, traces, strict=True):
        assert trace.order == model.infer_order(example.source, example.target)
        assert (trace.source, trace.target, trace.kind) == (
            example.source,
            example.target,
            "inferred",
        )
        assert trace.tokens == tuple(example.target.split())
        assert trace.known_orders == reversed_orders(example)
        assert len(trace.samples) == 3


def test_known_orders_of_other_tokens_are_left_out(model):
    longer = [replace(example, target=f"{example.target} d") for example in TEXTS]
    known = dict(zip(TEXTS, map(reversed_orders, longer), strict=True))
    for collect in (learned_traces, generated_traces):
        traces = collect(model, TEXTS, known_orders=known.__getitem__)
        assert [trace.known_orders for trace in traces] == [None] * len(TEXTS)


def test_scores_are_the_decoders(model):
    corpus, _ = build_corpus(TEXTS, model.codec, ANY_LENGTH)
    for row, trace in enumerate(learned_traces(model, TEXTS)):
        batch = collate(corpus, torch.tensor([row]).numpy())
        orders = torch.tensor([[trace.order]])
        assert trace.score == pytest.approx(
            model.networks.decoder.log_prob(batch, orders).item(), abs=1e-5
        )
        assert trace.samples is None


def test_samples_follow_the_seed_and_leave_the_generator_alone(model):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (
        [trace.samples for trace in learned_traces(model, TEXTS, samples=8, seed=seed)]
        for seed in (0, 0, 1)
    )
    assert torch.rand(1) == expected
    assert first == again != other


def test_generated_orders_are_the_decoders_own(model):
    traces = generated_traces(model, TEXTS, known_orders=reversed_orders, beam=2)
    hypotheses = model.generate([example.source for example in TEXTS], beam=2)
    for example, trace, (best, *_) in zip(TEXTS, traces, hypotheses, strict=True):
        assert (trace.tokens, trace.order, trace.score) == (best.tokens, best.order, best.score)
        assert (trace.kind, trace.reference) == ("generated", example.target)
        is_same = best.tokens == tuple(example.target.split())
        assert trace.known_orders == (reversed_orders(example) if is_same else None)


def test_a_run_has_both_series_and_its_counts(model):
    learned, generated = run_series("mine", model, TEXTS, samples=0)
    assert (learned.name, generated.name) == ("mine, learned", "mine, generated")
    assert learned.counts == token_counts(model.codec) == {"a": 3, "b": 3, "c": 4}
    assert not learned.has_sentences  # the experiment's task is chain
    assert learned.views == []


@pytest.mark.parametrize(
    ("task", "pretokenizer", "expected"),
    [
        ("sorting", "whitespace", False),
        ("sudoku4", "whitespace", False),
        ("django", "whitespace", False),
        ("files", "code", False),
        ("files", "whitespace", True),
        ("wmt16-ro-en", "moses", True),
    ],
)
def test_sentences_have_parts_of_speech(task, pretokenizer, expected):
    assert has_sentences(task, pretokenizer) is expected


def test_an_image_counts_once():
    assert examples_of(Split(CAPTIONS), "test") == [CAPTIONS[0], CAPTIONS[2]]
    assert examples_of(Split(CAPTIONS), "test", 1) == CAPTIONS[:1]
    assert examples_of(Split(TEXTS * 2), "test", 6) == (TEXTS * 2)[:6]
    with pytest.raises(DataError, match="is empty: choose another with --split"):
        examples_of(Split([]), "test")


def test_a_target_that_stayed_empty_has_no_steps_to_show(captioner):
    empty = replace(learned_traces(captioner, CAPTIONS[:1])[0], **dict.fromkeys(
        ("tokens", "order", "slots", "token_scores", "slot_scores"), ()
    ))  # fmt: skip
    (view,) = region_views(captioner, CAPTIONS[:1], [empty], lambda name: None)
    assert (len(view.boxes), view.opacities) == (4, [])


def test_without_pillow_the_extra_that_is_made_of_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[vision\]'"):
        data_uri(np.zeros((2, 2, 3), np.uint8))


def test_images_are_prepared_for_the_gallery(captioner, tmp_path):
    examples = [CAPTIONS[0], CAPTIONS[2]]
    without, _ = run_series(
        "mine", captioner, examples, samples=0, pictures=pictures_of(Split(examples))
    )
    assert [view.image for view in without.views] == ["", ""]
    assert [len(view.boxes) for view in without.views] == [4, 3]
    assert [len(view.opacities) for view in without.views] == [3, 5]
    image = pytest.importorskip("PIL.Image")
    for name in ("one.png", "two.png"):
        image.new("RGB", (700, 100), "red").save(tmp_path / name)
    found, _ = run_series(
        "mine", captioner, examples, samples=0, pictures=pictures_of(Split(examples), tmp_path)
    )
    assert all(view.image.startswith("data:image/jpeg;base64,") for view in found.views)
    (tmp_path / "one.png").write_text("no image")
    with pytest.raises(DataError, match="as an image"):
        run_series("mine", captioner, examples, pictures=pictures_of(Split(examples), tmp_path))
