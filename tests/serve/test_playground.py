"""The answers of the API, over a real port: they are those of the model, and obey."""

import json
from threading import Event, Thread

import pytest
import torch

from serve_models import ask, chain_model, file_model, refused, send, serving
from voi.permutation import all_orders
from voi.search import Sampling
from voi.serve import Playground
from voi.serve.given import paying_steps
from voi.study.frozen import frozen_batch

SOURCE = "from-left a b c"


def log_joint(model, target, source=SOURCE):
    """Return log p(y, z | x) of every order of a target, and the orders."""
    batch = frozen_batch(model.codec, source, target.split())
    orders = all_orders(len(target.split()))
    with torch.no_grad():
        scores = model.networks.decoder.log_prob(batch, orders.unsqueeze(1))[:, 0]
    return scores.double(), orders.tolist()


def test_hypotheses_are_the_models(server, model):
    found = ask(server, "generate", source=SOURCE, beam=4, nbest=3)["hypotheses"]
    (expected,) = model.generate([SOURCE], beam=4, nbest=3)
    assert [record["target"] for record in found] == [h.text for h in expected]
    assert [tuple(record["order"]) for record in found] == [h.order for h in expected]
    for record in found:
        terms = sum(record["token_scores"]) + sum(record["slot_scores"])
        assert record["score"] == pytest.approx(terms, abs=1e-4)
        assert record["given"] == {"positions": [], "gaps": [], "num_first": 0}


def test_the_runs_settings_are_the_defaults(server, model):
    (found,) = ask(server, "generate", source=SOURCE)["hypotheses"]
    assert found["target"] == model.generate([SOURCE])[0][0].text


def test_samples_depend_on_the_seed(server, model):
    options = {"source": SOURCE, "samples": 6, "temperature": 1.5, "top_p": 0.9}
    found = ask(server, "generate", seed=3, **options)["hypotheses"]
    (expected,) = model.generate([SOURCE], sample=Sampling(6, 1.5, 0.9, 3))
    assert [record["target"] for record in found] == [h.text for h in expected]
    other = ask(server, "generate", seed=4, **options)["hypotheses"]
    assert [r["target"] for r in found] != [r["target"] for r in other]


def test_gaps_are_filled_and_what_was_given_is_marked(server):
    for record in ask(
        server, "generate", source=SOURCE, gaps="B ___ A ___", beam=4, nbest=4, max_length=6
    )["hypotheses"]:
        first, second = record["given"]["positions"]
        assert (record["tokens"][first], record["tokens"][second]) == ("B", "A")
        assert first == 0
        assert first + 1 < second < len(record["tokens"]) - 1  # something stands in both gaps
        assert record["given"]["gaps"] == [1, 2]
        assert record["given"]["num_first"] == 2
        assert record["order"][:2] == [first, second]


def test_prefixes_and_keywords_hold(server):
    options = {"source": SOURCE, "beam": 4, "nbest": 4, "max_length": 5}
    for record in ask(server, "generate", prefix="C B", **options)["hypotheses"]:
        assert record["tokens"][:2] == ["C", "B"]
        assert record["given"]["positions"] == [0, 1]
    for in_order in (False, True):
        words = {"keywords": ["C", "A"], "keywords_in_order": in_order}
        for record in ask(server, "generate", **options, **words)["hypotheses"]:
            marked = [record["tokens"][i] for i in record["given"]["positions"]]
            assert marked == ["C", "A"] if in_order else sorted(marked) == ["A", "C"]


@pytest.mark.parametrize(
    ("words", "required", "steps"),
    [
        ("a b a", [["a"]], [0]),
        ("a b a", [["a"], ["a"]], [0, 2]),
        ("b a c d", [["c", "d"], ["a"]], [1, 2, 3]),
        ("a a b", [["a", "a"], ["b"]], [0, 1, 2]),
        ("x", [], []),
    ],
)
def test_required_words_are_paid_once(words, required, steps):
    assert paying_steps(words.split(), required) == steps


def test_a_wide_search_finds_the_best_of_all_orders(server, model):
    scores, orders = log_joint(model, "B A C")
    (found,) = ask(server, "order", source=SOURCE, target="B A C", by="beam", beam=32)["orders"]
    assert found["order"] == orders[int(scores.argmax())]
    assert found["score"] == pytest.approx(scores.max().item(), abs=1e-4)
    assert (found["tokens"], found["kind"], found["count"]) == (["B", "A", "C"], "inferred", 1)


def test_orders_are_the_models_with_scores_of_the_decoder(server, model):
    scores, orders = log_joint(model, "B A C")
    (mode,) = ask(server, "order", source=SOURCE, target="B A C")["orders"]
    assert tuple(mode["order"]) == model.infer_order(SOURCE, "B A C")
    request = {"source": SOURCE, "target": "B A C", "by": "samples", "samples": 40}
    drawn = ask(server, "order", **request, seed=1)["orders"]
    assert drawn == ask(server, "order", **request, seed=1)["orders"]
    assert sum(record["count"] for record in drawn) == 40
    assert len({tuple(record["order"]) for record in drawn}) == len(drawn)
    for record in [mode, *drawn]:
        expected = scores[orders.index(record["order"])].item()
        assert record["score"] == pytest.approx(expected, abs=1e-4)


def test_the_likelihood_of_a_short_target_is_the_sum_over_orders(server, model):
    scores, _ = log_joint(model, "B A C")
    found = ask(server, "likelihood", source=SOURCE, target="B A C", samples=16)
    assert found["exact"] == pytest.approx(scores.logsumexp(0).item(), abs=1e-4)
    assert found["elbo"] <= found["bound"] + 1e-9
    assert (found["num_tokens"], found["num_samples"]) == (3, 16)
    alone = ask(server, "likelihood", source=SOURCE, target="B A C", samples=1)
    assert alone["standard_error"] is None  # one sample has none, and JSON has no NaN


@pytest.mark.parametrize(
    ("target", "unknown"), [("B A C", []), ("zebra A yak zebra", ["zebra", "yak"])]
)
def test_unknown_words_of_a_target_are_named(server, target, unknown):
    for name in ("likelihood", "order"):
        assert ask(server, name, source=SOURCE, target=target)["unknown"] == unknown


def test_a_word_that_is_copied_from_the_source_is_known(tmp_path):
    model = file_model(tmp_path, "".join(f"x{i} a\tx{i} b\n" for i in range(4)))
    playground = Playground(model, "mine")
    found = playground.likelihood({"source": "x9 a", "target": "x9 y b", "samples": 1})
    assert found["unknown"] == ["y"]


def test_about_says_what_may_be_asked(server):
    status, _, text = send(server, "GET", "/api/about")
    about = json.loads(text)
    assert (status, about["run"], about["task"], about["source"]) == (
        200,
        "runs/chain",
        "chain",
        "text",
    )
    assert about["limits"]["beam"] == 32
    assert about["defaults"]["max_length"] == 3
    assert about["inserts"]
    assert len(about["examples"]) == 8
    assert about["examples"][0]["source"].startswith("from-")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"beam": 33}, "beam must be from 1 to 32, got 33"),
        ({"beam": 0}, "beam must be"),
        ({"beam": True}, "beam must be a whole number"),
        ({"beam": "5"}, "beam must be a whole number"),
        ({"bem": 3}, 'did you mean "beam"'),
        ({"nbest": 3, "beam": 2}, "nbest must be at most the beam"),
        ({"samples": 65}, "samples must be"),
        ({"samples": 2, "temperature": 0}, "temperature must be"),
        ({"samples": 2, "top_p": 1.1}, "top_p must be"),
        ({"seed": -1}, "seed must be"),
        ({"length_penalty": 1e999}, "JSON"),
        ({"max_length": 0}, "max_length must be"),
        ({"max_length": 257}, "max_length must be"),
        ({"keywords": "A"}, "keywords must be a list"),
        ({"keywords": [1]}, "keywords.0 must be a text"),
        ({"keywords": [" "]}, "empty"),
        ({"gaps": "A ___", "prefix": "A"}, "gaps and prefix"),
        ({"gaps": "A"}, "expected a text with ___"),
        ({"gaps": "<b> ___"}, "'<b>' cannot stand"),
        ({"prefix": "A B C", "max_length": 2}, "raise max_length"),
        ({"samples": 2, "merge": True}, "without sample"),
        ({"source": "a " * 513}, "at most 512 tokens, got 513"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(server, body, reason):
    assert reason in refused(server, "generate", **{"source": SOURCE, **body})


@pytest.mark.parametrize("name", ["order", "likelihood"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, 'expected a "target"'),
        ({"target": " "}, "at least one token"),
        ({"target": "A " * 257}, "at most 256 tokens, got 257"),
        ({"target": "A", "samples": 0}, "samples must be"),
        ({"target": 3}, "target must be a text"),
    ],
)
def test_targets_are_checked(server, name, body, reason):
    assert reason in refused(server, name, source=SOURCE, **body)


def test_no_source_is_nothing_given(server, model):
    (found,) = ask(server, "generate", source="  ")["hypotheses"]
    assert found["source"] is None
    assert found["target"] == model.generate([None])[0][0].text


def test_a_decoder_without_slots_continues_and_does_not_insert():
    model = chain_model("decoder.head=sequential", "order.kind=l2r")
    with serving(Playground(model, "l2r")) as server:
        assert not json.loads(send(server, "GET", "/api/about")[2])["inserts"]
        assert "cannot insert" in refused(server, "generate", source=SOURCE, gaps="A ___ B")
        assert "cannot insert" in refused(server, "generate", source=SOURCE, keywords=["A"])
        (found,) = ask(server, "generate", source=SOURCE, prefix="B")["hypotheses"]
        assert found["tokens"][0] == "B"


def test_data_that_is_gone_leaves_texts_to_be_typed(tmp_path):
    model = file_model(tmp_path, "a b\tb a\nc\tc\n")
    (tmp_path / "pairs.tsv").unlink()
    playground = Playground(model, "mine")
    assert playground.about()["examples"] == []
    assert "pairs.tsv" in playground.about()["note"]
    assert playground.generate({"source": "a b"})["hypotheses"]


def test_one_request_computes_at_a_time(model, monkeypatch):
    inside, may_go, order = Event(), Event(), []

    def generate(sources, **options):
        order.append(f"in {sources[0]}")
        inside.set()
        assert may_go.wait(30)
        order.append(f"out {sources[0]}")
        return [[]]

    playground = Playground(model, "chain")
    monkeypatch.setattr(model, "generate", generate)
    first, second = (
        Thread(target=playground.generate, args=({"source": source},)) for source in "ab"
    )
    first.start()
    assert inside.wait(30)
    second.start()
    second.join(0.3)
    assert order == ["in a"]  # the second one waits
    may_go.set()
    first.join(30)
    second.join(30)
    assert order == ["in a", "out a", "in b", "out b"]


# ---- images


def test_images_are_chosen_by_name(image_server):
    about = json.loads(send(image_server, "GET", "/api/about")[2])
    assert about["source"] == "image"
    assert about["images"] == ["valid-0", "valid-1", "valid-2", "test-0", "test-1"]
    status, _, text = send(image_server, "GET", "/api/image?name=test-1")
    image = json.loads(text)
    assert status == 200
    assert image["image"].startswith("data:image/png;base64,")
    assert len(image["boxes"]) == len(image["labels"]) >= 2
    (found,) = ask(image_server, "generate", source="test-1", max_length=4)["hypotheses"]
    assert found["source"] == "test-1"
    assert len(found["opacities"]) == len(found["order"])
    assert {len(row) for row in found["opacities"]} == {len(image["boxes"])}


@pytest.mark.parametrize("name", ["test-2", "train-0", "", "/etc/passwd", "../../etc/passwd"])
def test_no_other_image_can_be_asked_for(image_server, name, tmp_path):
    assert "name of an image such as valid-0" in refused(image_server, "generate", source=name)
    status, _, text = send(image_server, "GET", f"/api/image?name={name}")
    assert status == 400
    assert "name of an image" in text


def test_a_run_of_texts_has_no_images(server):
    status, _, text = send(server, "GET", "/api/image?name=x")
    assert (status, "no images" in text) == (400, True)
