"""A model as users hold it: text in, hypotheses, orders and likelihoods out."""

import dataclasses
from itertools import permutations

import numpy as np
import pytest
import torch

import voi
from small_runs import tiny_experiment
from voi import checkpoint
from voi.checkpoint import Checkpoint
from voi.data import Example, Regions
from voi.errors import CheckpointError, ConfigError, DataError, DataWarning
from voi.model import Model
from voi.networks import Networks
from voi.tokens import build_codec

SOURCES = ["from-left a b c", "from-right c c a"]


@pytest.fixture(scope="module")
def run(trained):
    return trained


@pytest.fixture(scope="module")
def model(run):
    return voi.load(run)


def test_hypotheses_tell_how_they_were_written(model):
    for (best, *_), source in zip(model.generate(SOURCES, beam=3), SOURCES, strict=True):
        assert str(best) == best.text == " ".join(best.tokens)
        assert sorted(best.order) == list(range(len(best.tokens)))
        if best.tokens:
            assert [tokens for tokens, _ in best.steps()][-1] == best.tokens
        trace = best.to_trace(source)
        assert (trace.order, trace.slots, trace.source) == (best.order, best.slots, source)


def test_generating_and_scoring_keep_no_graph(model, monkeypatch):
    seen = []
    states = model.networks.decoder.encode

    def watched(batch):
        seen.append(torch.is_grad_enabled())
        return states(batch)

    monkeypatch.setattr(model.networks.decoder, "encode", watched)
    model.generate(SOURCES)
    model.log_likelihood(SOURCES[0], "A B C", samples=2)
    assert seen
    assert not any(seen)


def test_a_single_source_and_many(model):
    alone = model.generate(SOURCES[0])
    assert len(alone) == 1
    many = model.generate(SOURCES * 20)
    assert [h.text for (h,) in many[::2]] == [alone[0][0].text] * 20


def test_nbest_and_merging(model):
    plain = model.generate(SOURCES, beam=8, nbest=8)
    merged = model.generate(SOURCES, beam=8, nbest=8, merge=True)
    for hypotheses, groups in zip(plain, merged, strict=True):
        assert len({h.text for h in groups}) == len(groups)
        assert {h.text for h in groups} == {h.text for h in hypotheses}
        for group in groups:
            parts = [h.score for h in hypotheses if h.text == group.text]
            total = torch.tensor(parts, dtype=torch.float64).logsumexp(0).item()
            assert group.score == pytest.approx(total)


def test_orders_of_given_targets(model):
    order = model.infer_order(SOURCES[0], "A B C")
    assert sorted(order) == [0, 1, 2]
    drawn = model.infer_order(SOURCES[0], "A B C", samples=5)
    assert len(drawn) == 5
    assert all(sorted(one) == [0, 1, 2] for one in drawn)


def test_orders_can_be_searched_under_the_decoder(model):
    source, target = SOURCES[0], "A B C"
    found = model.infer_order(source, target, beam=6)
    batch = model._batch(source, target)
    orders = torch.tensor(list(permutations(range(3)))).unsqueeze(1)  # [6, 1, 3]
    best = model.networks.decoder.log_prob(batch, orders).argmax()
    assert found == tuple(orders[best, 0].tolist())
    with pytest.raises(ConfigError, match="not both"):
        model.infer_order(source, target, samples=2, beam=6)


def test_a_source_of_another_kind_is_refused(model):
    image = Regions(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32))
    with pytest.raises(DataError, match="trained on text: expected str as source, got Regions"):
        model.generate([image])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("source", [3, ["a", "b"], b"a"])
def test_what_is_no_source_is_told(model, source):
    with pytest.raises(ConfigError) as caught:
        model.generate([SOURCES[0], source], gaps=["A ___", "B ___"])
    (line,) = str(caught.value).splitlines()
    assert line.startswith("expected sources that are texts, voi.Regions or None, got ")
    assert line.endswith(f"{source!r} at index 1")


def test_likelihood(model):
    found = model.log_likelihood(SOURCES[0], "A B C", samples=8)
    assert found.elbo <= found.bound
    assert found.exact is not None


def test_shared_as_a_folder(model, tmp_path):
    model.save_pretrained(tmp_path / "shared")
    again = Model.from_pretrained(tmp_path / "shared")
    assert again.generate(SOURCES) == model.generate(SOURCES)
    assert not list((tmp_path / "shared").glob("state.*"))


def test_a_model_takes_the_place_of_a_model_only(model, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    model.save_pretrained(folder)  # of an empty folder
    model.save_pretrained(folder)  # of a model
    (folder / "chapter.txt").write_text("work")
    with pytest.raises(CheckpointError, match=r"something else than a model \(chapter\.txt\)"):
        model.save_pretrained(folder)
    assert (folder / "chapter.txt").read_text() == "work"
    with pytest.raises(CheckpointError, match="choose another folder"):
        model.save_pretrained(folder / "chapter.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]
    assert (folder / "chapter.txt").read_text() == "work"


def test_results_beside_a_model_are_not_written_over(model, tmp_path):
    model.save_pretrained(tmp_path / "mine")
    results = tmp_path / "mine" / "evaluation" / "test-beam1"
    results.mkdir(parents=True)
    with pytest.raises(CheckpointError, match=r"something else than a model \(evaluation\)"):
        model.save_pretrained(tmp_path / "mine")  # of whom is not known
    (results / "hypotheses.about.json").write_text("{}")
    with pytest.raises(
        CheckpointError, match=r"holds results of voi evaluate .*: remove .*uation,"
    ):
        model.save_pretrained(tmp_path / "mine")
    (tmp_path / "mine" / "chapter.txt").write_text("work")
    with pytest.raises(CheckpointError, match=r"something else .* \(chapter\.txt, evaluation\)"):
        model.save_pretrained(tmp_path / "mine")
    assert (results / "hypotheses.about.json").is_file()


def test_a_model_knows_its_run(model, run, tmp_path):
    assert model.run == run
    model.save_pretrained(tmp_path / "mine")
    assert voi.load(tmp_path / "mine").run == tmp_path / "mine"
    assert Model(Checkpoint(model.experiment, model.codec, model.networks)).run is None


def test_a_chosen_split_of_other_data_comes_with_a_warning(model):
    task = model.task()
    assert model.chosen_split(task, "valid") == task.split("valid")
    other = dataclasses.replace(task, train=31)
    with pytest.warns(DataWarning, match="has changed since it was trained: pairs that are held"):
        assert model.chosen_split(other, "valid") == other.split("valid")
    assert model.chosen_split(other, "test") == other.split("test")


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(CheckpointError, match="no model in"):
        voi.load(tmp_path)
    with pytest.raises(CheckpointError, match="no folder no/such, and no model of that name"):
        voi.load("no/such")


def test_constraints_of_several_kinds(model):
    with pytest.raises(ConfigError, match="give one of gaps, prefix and keywords"):
        model.generate(SOURCES, gaps=["A ___"] * 2, prefix=["A"] * 2)
    with pytest.raises(ConfigError, match="got 1 for 2 sources"):
        model.generate(SOURCES, gaps=["A ___"])
    for (found,) in model.generate(SOURCES, prefix=["C A"] * 2, max_length=6):
        assert found.tokens[:2] == ("C", "A")


def test_a_single_text_beside_a_single_source(model):
    for options in ({"gaps": "A ___"}, {"prefix": "A"}):
        listed = {name: [text] for name, text in options.items()}
        assert model.generate(SOURCES[0], **options) == model.generate(SOURCES[:1], **listed)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gaps": "A ___"}, r"gaps must be .* as in gaps=\["),
        ({"gaps": [["A", "___"]]}, r"gaps must be .* as in gaps=\["),
        ({"gaps": {"A ___", "B ___"}}, r"gaps must be .* as in gaps=\["),  # in no order
        ({"prefix": {"A": "B", "B": "A"}}, r"prefix must be .* as in prefix=\["),
        ({"prefix": "A"}, r"prefix must be .* as in prefix=\["),
        ({"keywords": ["AB"]}, r"keywords must be .* as in keywords=\[\["),
        ({"keywords": "A"}, r"keywords must be .* as in keywords=\[\["),
        ({"sample": 5}, r"sample must be as in voi.Sampling\(num_samples=5\), got 5"),
        ({"beam": "5"}, "beam must be a whole number, got '5'"),
        ({"nbest": 1.5}, "nbest must be a whole number, got 1.5"),
        ({"length_penalty": "1"}, "length_penalty must be a number, got '1'"),
        ({"nbest": None}, "nbest must be a whole number, got None"),
        ({"first": None}, "first must be a whole number, got None"),
        ({"beam": True}, "beam must be a whole number, got True"),
        ({"first": -1}, "first, the number of the first source, must be at least 0, got -1"),
    ],
)
def test_arguments_of_another_kind(model, options, message):
    with pytest.raises(ConfigError, match=message):
        model.generate(SOURCES[:1], **options)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("sources", [None, 3, b"a", {"a": 1}, {"a"}])
def test_what_is_no_list_of_sources(model, sources):
    with pytest.raises(ConfigError, match=f"expected a list of sources, got {sources}"):
        model.generate(sources)


@pytest.mark.usefixtures("unchecked")
def test_sources_may_come_one_after_the_other(model):
    lines = (source for source in SOURCES)
    assert model.generate(lines) == model.generate(SOURCES)


@pytest.mark.usefixtures("unchecked")
def test_lists_of_targets_are_refused(model):
    for ask in (model.infer_order, model.log_likelihood):
        with pytest.raises(ConfigError, match="got list and list: call it once for each pair"):
            ask(SOURCES[:1], ["A B C"])
        for samples in ("5", None):
            with pytest.raises(ConfigError, match="samples must be a whole number"):
                ask(SOURCES[0], "A B C", samples=samples)


def _untrained(examples, region_size=0):
    """Return a model with random weights for some examples."""
    experiment = tiny_experiment()
    search = dataclasses.replace(experiment.search, max_length=5)
    experiment = dataclasses.replace(experiment, search=search)
    codec = build_codec({}, examples)
    torch.manual_seed(0)
    networks = Networks.of(experiment, codec, region_size).eval()
    return Model(Checkpoint(experiment, codec, networks))


def test_sources_of_every_kind(tmp_path):
    rng = np.random.default_rng(0)
    images = [
        Regions(rng.random((n, 3), np.float32), rng.random((n, 4), np.float32)) for n in (2, 0, 4)
    ]
    of_images = _untrained([Example(images[0], "a red box")], region_size=3)
    assert len(of_images.generate(images)) == 3
    assert of_images.log_likelihood(images[1], "red box").exact is not None
    of_nothing = _untrained([Example(None, "a red box")])
    assert len(of_nothing.generate([None, None])) == 2
    with pytest.raises(DataError, match=r"trained on images: expected voi.Regions .* got str"):
        of_images.generate([images[0], "text"])
    with pytest.raises(DataError, match="sources of one kind, got None for 1 of 2"):
        of_images.generate([images[0], None])


def test_the_best_checkpoint_is_loaded(run):
    assert checkpoint.find(run) == checkpoint.pointed(run, "best")


def test_an_empty_target_is_scored_by_end_alone():
    model = _untrained([Example("a b", "a red box")])
    assert model.infer_order("a b", "") == ()
    assert model.infer_order("a b", "", 2) == [(), ()]
    found = model.log_likelihood("a b", "")
    batch = model._batch("a b", "")
    end = model.networks.decoder.step_log_probs(batch, torch.zeros(1, 1, 0, dtype=torch.long))
    assert found == pytest.approx(end.tokens.sum().item())


@pytest.mark.usefixtures("unchecked")
def test_counts_that_make_no_sense_are_refused():
    model = _untrained([Example("a b", "a red box")])
    for call in (
        lambda: model.generate(["a b"], nbest=0),
        lambda: model.infer_order("a b", "a box", samples=-1),
        lambda: model.infer_order("a b", "a box", beam=-1),
        lambda: model.log_likelihood("a b", "a box", samples=0),
    ):
        with pytest.raises(ConfigError, match="must"):
            call()
    with pytest.raises(ValueError, match="whole num_samples"):
        voi.Sampling(num_samples=2.5)


def test_loading_draws_no_random_numbers(run):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    voi.load(run)
    assert torch.equal(torch.rand(4), expected)
