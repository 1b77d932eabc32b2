"""The examples of docs/extending.md: short, and they do what they say."""

from itertools import permutations
from pathlib import Path

import pytest
import torch

from chance import assert_frequencies
from enumeration import all_orders
from small_models import text_batch, tiny_decoder
from small_runs import TINY, Quiet, tiny_trainer
from voi import config, experiments, runs
from voi.config import OrderConfig
from voi.orders import make_orders
from voi.prepared import prepare

FOLDER = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def _examples(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short(path):
    code = path.read_text().split('"""', 2)[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 40


def test_an_order():
    orders = make_orders(
        "outside_in:outside_in", OrderConfig(), torch.zeros(9, dtype=torch.long), tiny_decoder()
    )
    found = orders(text_batch([[4, 5, 6, 4, 5], [4, 5, 6, 4], [5]])).mode
    assert found.tolist() == [[0, 4, 1, 3, 2], [0, 3, 1, 2, 4], [0, 1, 2, 3, 4]]


@pytest.mark.statistical
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_law_sums_to_one_and_is_sampled_as_scored(n):
    from either_way import EitherWay

    torch.manual_seed(0)
    law = EitherWay(torch.randn(2, 5), torch.tensor([n, 5]))
    tail = torch.arange(n, 5).expand(len(list(permutations(range(n)))), -1)
    orders = torch.cat([all_orders(n), tail], dim=-1)
    probs = law.log_prob(orders.unsqueeze(1))[:, 0].exp()
    assert probs.sum().item() == pytest.approx(1, abs=1e-5)
    assert torch.equal(law.mode[0], orders[probs.argmax()])
    count = 20_000
    drawn = law.sample(torch.Size([count]))[:, 0]
    assert_frequencies([(drawn == order).all(-1).sum() for order in orders], probs, count)


def test_a_law_trains(tmp_path):
    watcher = Quiet()
    assert tiny_trainer(tmp_path / "run", "order.law=either_way:EitherWay", watcher=watcher).run()
    assert any("loss" in line for line in watcher.logged)


def test_a_task_trains(tmp_path):
    small = [setting for setting in TINY if not setting.startswith("data.")]
    changes = [*small, "data.options={letters=3, train=64}"]
    table = experiments.override(experiments.load_table(str(FOLDER / "reversal.toml")), changes)
    prepared = prepare(config.experiment(table))
    assert runs.start(prepared, tmp_path / "run", Quiet()).run()
