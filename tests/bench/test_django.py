"""Orders on Django: one budget for all, cells from training to test, seen pairs apart, tables."""

import json

import pytest

from shared_data import shared_data
from small_runs import TINY, call
from voi.bench import django_cell, django_tables
from voi.bench.django import METHODS, DjangoSize, experiment, phases, read_pairs, run, run_folder
from voi.evaluation import Settings
from voi.evaluation.likelihoods import PerToken

NETWORKS = tuple(x for x in TINY if x.startswith(("decoder.", "order.")))
SETTINGS = (*NETWORKS, "training.batch_size=8", "training.warmup=0")
SIZE = DjangoSize(1.0, 4, 4, Settings(likelihood_samples=4, likelihood_limit=5), SETTINGS)
NAMES = ("apple", "book", "chair", "door", "engine", "flag")


def pair(verb, name, number):
    if verb == "set":
        return f"{name} is set to {number} .", f"{name} = {number}"
    return f"call the method {verb} of {name} .", f"{name} . {verb} ( )"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Pairs of our own: 18 to learn, 4 to validate on, 8 to test on, two of which are seen."""
    folder = tmp_path_factory.mktemp("django")
    train = [
        pair(verb, name, i) for verb in ("set", "open", "close") for i, name in enumerate(NAMES)
    ]
    new = [pair("set", name, 7 + i) for i, name in enumerate(NAMES)]
    splits = {"train": train, "dev": train[:4], "test": [train[0], *new[:3], train[9], *new[3:]]}
    for name, pairs in splits.items():
        for side, suffix in enumerate(("src", "tgt")):
            lines = "".join(f"{one[side]}\n" for one in pairs)
            (folder / f"{name}.{suffix}").write_text(lines)
    return folder


@pytest.fixture(scope="module")
def measured(data, tmp_path_factory):
    """Two cells with everything that is made from them."""
    folder = tmp_path_factory.mktemp("out")
    results = run(
        folder, read_pairs(data), SIZE, seeds=[0], methods="l2r,voi-gumbel-*", said=lambda _: None
    )
    return folder, results


def test_pairs_that_stand_in_train_are_seen(data):
    pairs = read_pairs(data)
    assert pairs.is_seen == (True, False, False, False, True, False, False, False)
    assert pairs.digest == read_pairs(data).digest
    assert len(pairs.digest) == 64


def test_a_seventh_of_the_published_test_pairs_is_seen():
    pairs = read_pairs(shared_data("django"))
    assert len(pairs.is_seen) == 1801
    assert sum(pairs.is_seen) == 262


OF_ORDERS_ALONE = {  # what a phase changes for a method: nothing of the decoder's
    ("sao", "first"): {"order": "l2r"},
    ("voi-high-entropy", "first"): {"entropy_weight": 4.0},
    ("voi-high-entropy", "second"): {"entropy_weight": 4.0},
    ("voi-fresh-decoder", "first"): {"entropy_hold": 0.25, "entropy_final": 0.05},
    ("voi-fresh-decoder", "second"): {"freeze_orders": True, "fresh_decoder": True},
    ("voi-paper", "first"): {"entropy_weight": 0.5},
    ("voi-paper", "second"): {"entropy_weight": 0.5, "entropy_hold": 0, "entropy_final": 0.002},
}


@pytest.mark.parametrize("method", METHODS)
def test_all_orders_have_the_same_decoder_data_and_budget(method, data):
    base, made = (experiment(data, name, 1, DjangoSize()) for name in ("l2r", method))
    assert (made.decoder, made.data, made.search) == (base.decoder, base.data, base.search)
    assert made.search.beam == 5
    assert made.training.seed == 1
    for ours, theirs in zip(made.training.phases, base.training.phases, strict=True):
        changed = OF_ORDERS_ALONE.get((method, ours.name), {})
        assert vars(ours) == {**vars(theirs), **changed}
    assert [phase.num_orders for phase in made.training.phases] == [4, 4, 1]


def test_phases_make_up_the_epochs_and_beta_is_held_most_of_the_time():
    first, second, frozen = phases(20.0)
    assert first["epochs"] + second["epochs"] + frozen["epochs"] == pytest.approx(20)
    assert frozen["freeze_orders"]
    held = first["epochs"] + second["entropy_hold"] * second["epochs"]
    assert held / (first["epochs"] + second["epochs"]) == pytest.approx(5 / 8)


def test_a_cell_has_scores_of_all_seen_and_new_pairs(measured):
    _, (l2r, voi) = measured
    for result in (l2r, voi):
        assert result["num_examples"] == {"all": 8, "seen": 2, "unseen": 6}
        assert result["num_bounded"] == {"all": 5, "seen": 2, "unseen": 3}  # of the first five
        assert set(result["scores"]["unseen"]) == set(django_tables.SCORES)
        for name, value in result["scores"]["all"].items():
            if name.startswith("exact"):
                parts = result["scores"]["seen"][name], result["scores"]["unseen"][name]
                assert value == pytest.approx((2 * parts[0] + 6 * parts[1]) / 8)
        for parts in (result["parts"], result["train_parts"]):
            whole = parts["tokens"] + parts["slots"] + parts["entropy"]
            assert parts["elbo"] == pytest.approx(whole)
        assert result["log_prob"]["all"]["log_p_bound"] >= result["log_prob"]["all"]["elbo"]
        assert result["curve"][-1]["step"] == result["steps"] == l2r["steps"]
        assert result["cpu_seconds"] > 0
    assert l2r["parts"]["entropy"] == 0
    assert l2r["parts"]["elbo"] == pytest.approx(l2r["log_prob"]["all"]["log_p_bound"], abs=1e-4)
    assert l2r["orders"]["sampled l2r nld"] == l2r["orders"]["mode l2r nld"] == 0
    assert l2r["orders"]["mode l2r tau"] == 1
    assert l2r["orders"]["mode common nld"] > 0
    assert voi["orders"]["sampled l2r nld"] > 0


def test_random_orders_have_no_likeliest_one(data, tmp_path):
    found = run(tmp_path, read_pairs(data), SIZE, seeds=[0], methods="random", said=lambda _: None)
    names = found[0]["orders"]
    assert {name.split()[0] for name in names} == {"sampled"}
    header, row = django_tables.tables(found)["Orders"]
    assert [value == "-" for value in row] == ["its mode" in name for name in header]


def test_a_cell_goes_on_where_it_stopped_and_is_then_read(data, tmp_path, monkeypatch):
    def once():
        return run(
            tmp_path, read_pairs(data), SIZE, seeds=[0], methods="common", said=lambda _: None
        )

    def stop(*_):
        raise KeyboardInterrupt

    values = django_cell.order_values
    monkeypatch.setattr(django_cell, "order_values", stop)
    with pytest.raises(KeyboardInterrupt):
        once()
    log = run_folder(tmp_path, "common", 0) / "metrics.jsonl"
    found = log.read_text()
    monkeypatch.setattr(django_cell, "order_values", values)
    (result,) = once()
    assert log.read_text() == found  # nothing was trained again
    assert result["curve"][-1]["cpu_seconds"] == result["cpu_seconds"] > 0
    assert result["orders"]["sampled common nld"] == 0
    monkeypatch.setattr(django_cell, "measure", lambda *_: pytest.fail("measured again"))
    assert once() == [result]
    assert "folder" not in result["settings"]["experiment"]["data"]["options"]


def test_likelihoods_of_a_part_are_those_of_its_targets():
    found = PerToken("elbo", "", (-1.0, -2.0, -4.0), (1, 2, 4))
    part = django_cell._likelihoods(found, [0, 2, 5], 3)
    assert (part.values, part.num_tokens, part.value) == ((-1.0, -4.0), (1, 4), -1.0)
    short = django_cell._likelihoods(found, [0, 2, 5], 2)  # one target has three tokens and END
    assert (short.values, short.num_tokens) == ((-1.0,), (1,))


def test_every_order_is_compared_with_left_to_right(measured, data):
    folder, results = measured
    is_seen = read_pairs(data).is_seen
    found = django_tables.compared(results, folder, SIZE.test, is_seen)
    assert {one["order"] for one in found} == {"voi-gumbel-matching"}
    assert {one["pairs"] for one in found} == {"all", "seen", "unseen"}
    for one in found:
        if one["metric"] in django_tables.SCORES:
            values = [result["scores"][one["pairs"]][one["metric"]] for result in results]
            assert one["difference"] == pytest.approx(values[1] - values[0])
    header, *rows = django_tables.comparison_rows(found)
    assert [row[:3] for row in rows] == [
        ["voi-gumbel-matching", "0", part] for part in ("all", "seen", "unseen")
    ]
    assert len(rows[0]) == len(header)
    assert "p=" in rows[2][3]
    assert django_tables.compared(results[1:], folder, SIZE.test, is_seen) == []


def test_cells_whose_runs_are_gone_are_told_apart(measured):
    folder, results = measured
    gone = json.loads(json.dumps(results[0]))
    gone["settings"]["seed"] = 1
    assert django_tables.with_runs([gone, *results], folder) == results


def test_tables_have_means_and_ranges(measured, tmp_path):
    l2r, voi = measured[1]
    again = json.loads(json.dumps(l2r))
    again["settings"]["seed"], again["cpu_seconds"] = 1, l2r["cpu_seconds"] + 100
    found = django_tables.tables([l2r, again, voi])
    for rows in found.values():
        assert [row[0] for row in rows[1:]] == ["l2r", "voi-gumbel-matching"]
        assert {len(row) for row in rows} == {len(rows[0])}
    assert " to " in found["Cost"][1][2]
    assert found["Not in train"][1][1] == "6"
    fit = "Training pairs and test pairs, nats per token"
    assert found[fit][0][1::4] == ["ELBO, train", "ELBO, test"]
    assert found[fit][2][1] == f"{voi['train_parts']['elbo']:.3f}"
    before = {name: value for name, value in l2r.items() if name != "train_parts"}
    assert [row[0] for row in django_tables.tables([before, voi])[fit]] == [
        "order",
        voi["settings"]["method"],
    ]
    assert fit not in django_tables.tables([before])
    django_tables.write([l2r, again, voi], [], tmp_path)
    assert "seeds 0, 1" in (tmp_path / "django.md").read_text()
    assert len(json.loads((tmp_path / "django.json").read_text())["cells"]) == 3
    assert (tmp_path / "django-accuracy.svg").is_file()


def test_the_command(data, tmp_path, monkeypatch, capsys):
    sets = [part for setting in SETTINGS for part in ("--set", setting)]
    chosen = ["--data", data, "--methods", "l2r,random", "--epochs", 0.5, "--likelihoods", 2]
    assert call(monkeypatch, "bench", "django", "--quick", *chosen, *sets, "--out", tmp_path) == 0
    assert "random, seed 0: bleu_tokenized (strict)" in capsys.readouterr().out
    assert "| random | 0 | unseen |" in (tmp_path / "django.md").read_text()
    assert call(monkeypatch, "bench", "django", "--data", tmp_path) == 2
    assert "there is no train split" in capsys.readouterr().err
