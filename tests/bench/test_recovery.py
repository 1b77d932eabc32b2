"""Recovery of a taught order: what is taught, what is measured, resuming, the paper's tables."""

import json
from collections import Counter

import pytest
import torch

from small_runs import call
from voi.analysis import normalized_levenshtein
from voi.analysis.reference import common_order
from voi.bench import recovery
from voi.bench.frozen import SCENES, DecoderSize, frozen_decoder, num_written
from voi.bench.recovery import LAWS, NUM_ORDERS, POSITIONS, QUICK, Recipe, recipes, recover
from voi.bench.recovery_tables import (
    headline,
    num_orders_rows,
    position_rows,
    tables,
    variant_rows,
)
from voi.distributions import Delta
from voi.errors import ConfigError, DataError
from voi.training import TrainingError

SIZE = DecoderSize(batch_size=3, width=16, layers=1, rate=5e-3)
CELL = "gumbel-matching.xl.k2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recovery")


@pytest.fixture(scope="module")
def frozen(folder):
    return frozen_decoder(folder / "decoder", SIZE, lambda text: None)


def test_the_decoder_writes_every_caption_and_is_read_again(folder, frozen):
    assert num_written(frozen.networks, frozen.batch) == 3
    again = frozen_decoder(folder / "decoder", SIZE, pytest.fail)
    for name, weight in frozen.networks.state_dict().items():
        torch.testing.assert_close(again.networks.state_dict()[name], weight, rtol=0, atol=0)
    assert torch.equal(again.common, frozen.common)


def test_what_is_taught_is_common_words_first_counted_over_all_captions(frozen):
    examples = SCENES.split("train")
    counts = Counter(word for example in examples for word in example.target.split())
    for i, example in enumerate(examples[:: SCENES.captions][:3]):
        words = example.target.split()
        assert frozen.codec.decode(frozen.batch.target[i].tolist(), None) == words
        assert frozen.common[i, : len(words)].tolist() == common_order(words, counts)


def test_distances_are_those_of_the_law(frozen, monkeypatch):
    lengths = frozen.batch.lengths
    reading = torch.arange(frozen.common.shape[1]).expand_as(frozen.common)
    for order in (frozen.common, reading):
        monkeypatch.setattr(recovery, "_law", lambda *_, order=order: Delta(order, lengths))
        found = recovery._distances(frozen.networks, frozen, 2)
        rows = zip(order, frozen.common, lengths.tolist(), strict=True)
        each = [normalized_levenshtein(a[:n], b[:n]) for a, b, n in rows]
        assert found["sampled"] == found["mode"] == pytest.approx(sum(each) / 3)
    assert sum(each) > 0


def test_a_generator_learns_the_order_and_the_decoder_stays(frozen):
    before = {k: v.clone() for k, v in frozen.networks.decoder.state_dict().items()}
    recipe = Recipe(law="plackett-luce", num_orders=10, rate=3e-3)
    found = recover(frozen, recipe, SIZE, 210, 1)
    start, *_, end = found["curve"]
    assert (start["step"], end["step"], len(found["curve"])) == (0, 210, 31)
    assert found["sampled"] < 0.9 * start["sampled"]  # 0.63 to 0.84 of it in 12 runs
    assert found["mode_reward"] > start_reward(frozen) / 1.5 > -1e3
    assert found["cpu_seconds"] > 0
    for name, weight in frozen.networks.decoder.state_dict().items():
        assert torch.equal(weight, before[name])


def start_reward(frozen):
    """Mean log p(y, z | x) of uniformly random orders."""
    torch.manual_seed(0)
    keys = torch.rand(20, *frozen.common.shape)
    keys = keys.masked_fill(~frozen.batch.target_mask, 2.0)
    return frozen.networks.decoder.log_prob(frozen.batch, keys.argsort(dim=-1, stable=True)).mean()


@pytest.mark.parametrize(
    "name", [n for n in recipes() if "k4." in n] + ["plackett-luce.relative.k4"]
)
def test_every_kind_of_recipe_runs(frozen, name):
    found = recover(frozen, recipes()[name], SIZE, 1, 0)
    assert 0 <= found["sampled"] <= 1


def test_the_grid_is_the_papers_and_more():
    names = recipes()
    wanted = {f"{law}.{encoding}.k4" for law in LAWS for encoding in POSITIONS}
    wanted |= {f"gumbel-matching.xl.k{k}" for k in NUM_ORDERS}
    assert wanted | set(QUICK) <= set(names)
    assert list(names)[:2] == ["gumbel-matching.xl.k4", "gumbel-matching.xl.k10"]
    assert len(set(names.values())) == len(names) == 12 + 4 + 8 + 7
    papers = {name.removesuffix(".paper") for name in names if name.endswith(".paper")}
    assert papers == {name for name in wanted if "matrix" not in name and name.endswith("k4")}


def test_cells_are_resumed_and_not_mixed(folder, frozen, monkeypatch):
    def once(steps):
        return recovery.run(
            folder, SIZE, steps=steps, seeds=[0, 1], cells=CELL, said=lambda text: None
        )

    first = once(2)
    monkeypatch.setattr(recovery, "recover", lambda *_: pytest.fail("measured again"))
    assert once(2) == first
    assert [result["settings"]["seed"] for result in first] == [0, 1]
    with pytest.raises(ConfigError, match="steps = 2, not 3"):
        once(3)


def test_captions_from_a_file(tmp_path):
    path = tmp_path / "captions.tsv"
    path.write_text("1\ttrain\tA dog.\n1\ttrain\tThe dog .\n2\ttrain\tA cat sits\n")
    size = DecoderSize(str(path), batch_size=2, width=16, layers=1, rate=5e-3)
    frozen = frozen_decoder(tmp_path / "decoder", size, lambda text: None)
    texts = [frozen.codec.decode(row.tolist(), None) for row in frozen.batch.target]
    assert texts == [["a", "dog", "."], ["a", "cat", "sits"]]
    assert frozen.common.tolist() == [[0, 1, 2], [0, 1, 2]]  # all twice; a twice, the others once
    with pytest.raises(DataError, match="has 2 images, a batch has 3"):
        frozen_decoder(tmp_path / "other", DecoderSize(str(path), batch_size=3))


def test_a_decoder_that_does_not_learn_is_an_error(tmp_path):
    size = DecoderSize(batch_size=3, width=16, layers=1, max_steps=1)
    with pytest.raises(TrainingError, match="after 1 steps the decoder writes 0 of 3"):
        frozen_decoder(tmp_path / "decoder", size)
    assert not (tmp_path / "decoder").exists()


def made_up(cell, seed, value):
    rewards = {"mode_reward": -2.0, "common_reward": -1.0, "cpu_seconds": 7.0}
    return {
        "settings": {"cell": cell, "seed": seed},
        "sampled": value,
        "mode": value / 2,
        **rewards,
    }


def test_tables_have_the_papers_figures_beside_ours():
    results = [
        made_up("gumbel-matching.xl.k4", seed, value) for seed, value in ((0, 0.1), (1, 0.3))
    ]
    results += [
        made_up("plackett-luce.sinusoid.k4", 0, 0.2),
        made_up("gumbel-matching.xl.k4.ppo", 0, 0.4),
    ]
    first = {tuple(row[:2]): row[2:] for row in position_rows(results)}
    ours = ["0.200 (0.100 to 0.300)", "0.100 (0.050 to 0.150)", "7", "0, 1"]
    assert first["xl", "gumbel-matching"] == ["0.25", *ours]
    assert first["sinusoid", "plackett-luce"] == ["0.62", "0.200", "0.100", "7", "0"]
    assert first["relative", "matrix-plackett-luce"] == ["-", "-", "-", "-", "none"]
    assert [row[:2] for row in num_orders_rows(results)[1:]] == [
        ["2", "0.31"], ["3", "0.28"], ["4", "0.25"], ["10", "0.21"], ["20", "0.21"]
    ]  # fmt: skip
    assert [row[0] for row in headline(results)] == ["encoding", "xl", "xl", "xl"]
    changes = {row[0]: row[1:] for row in variant_rows(results)}
    assert changes["ppo"] == ["-2.0", "-1.0", "0.400", "0.200", "7", "0"]
    assert changes["paper"] == [*5 * "-", "none"]
    assert len(changes) == 1 + 9


def test_tables_of_the_papers_estimator_hold_what_was_measured():
    cell = made_up("plackett-luce.relative.k4.paper", 0, 0.2)
    (title,) = tables([cell])
    assert "paper's estimator" in title
    (title,) = tables([cell, made_up("gumbel-matching.xl.k4.paper", 0, 0.3)])
    assert "paper's estimator" in title  # a change of the recipe needs the recipe beside it
    assert tables([cell])[title][1:] == [
        ["relative", "plackett-luce", "0.53", "0.200", "0.100", "7", "0"]
    ]
    assert len(tables([cell, made_up("gumbel-matching.xl.k4", 0, 0.1)])) == 4


def test_the_command_writes_tables_and_plots(folder, frozen, monkeypatch, capsys):
    settings = ["--batch-size", 3, "--width", 16, "--layers", 1, "--steps", 2, "--seeds", 2]
    monkeypatch.setattr(DecoderSize, "__init__", with_rate(DecoderSize.__init__))
    arguments = ("bench", "recovery", *settings, "--cells", CELL, "--out", folder)
    assert call(monkeypatch, *arguments) == 0
    assert "0.31" in capsys.readouterr().out
    assert len(json.loads((folder / "recovery.json").read_text())) == 2
    assert "| 2 | 0.31 | " in (folder / "recovery.md").read_text()
    assert (folder / "recovery-orders.svg").is_file()
    assert call(monkeypatch, "bench", "recovery", "--seeds", 0) == 2


def with_rate(init):
    """The command has no option for the decoder's rate: the fixture's decoder is to be found."""

    def made(self, *args, **kwargs):
        init(self, *args, **{**kwargs, "rate": SIZE.rate})

    return made
