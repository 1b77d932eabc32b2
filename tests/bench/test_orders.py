"""OrderBench: the known order as a ceiling, one cell from training to test, resuming, the table."""

import json

import numpy as np
import pytest
import torch

from small_runs import TINY, call, tiny_trainer
from voi.batch import collate
from voi.bench import order_cell, order_tables
from voi.bench.known import KnownOrder
from voi.bench.order_cell import SplitSize
from voi.bench.orders import METHODS, TASKS, OrderSize, Setting, experiment, run
from voi.bench.training import Training
from voi.data.chain import Chain
from voi.data.sudoku4 import Sudoku4
from voi.data.tasks import is_right, order_distance
from voi.experiments import presets
from voi.prepared import prepare

SETTINGS = tuple(x for x in TINY if "options" not in x and "steps=" not in x and "every" not in x)
SPLITS = ("data.options.train=24", "data.options.valid=4", "data.options.test=6")
SIZE = OrderSize(0.002, 4, SplitSize(6, 2, 4), (*SETTINGS, *SPLITS))


def test_known_orders_are_the_tasks_own():
    task = Chain(positions=4, train=30, valid=2, test=2)
    prepared = prepare(experiment("chain-6", "known", 0, SIZE))
    rows = np.arange(8)
    batch = collate(prepared.train, rows)
    law = KnownOrder(prepared.task, prepared.codec)(batch)
    flags = [example.source.split()[0] for example in prepared.task.split("train")[:8]]
    assert set(flags) == {"from-left", "from-right"}
    for order, flag in zip(law.mode.tolist(), flags, strict=True):
        assert order == (list(range(6)) if flag == "from-left" else list(reversed(range(6))))
    example = task.split("train")[0]
    assert order_distance(task, example, task.known_orders(example)[0]) == 0
    assert is_right(task, example, example.target)
    assert not is_right(task, example, "A")


def test_known_orders_leave_padding_in_place():
    prepared = prepare(experiment("sorting", "known", 0, SIZE))
    batch = collate(prepared.train, np.arange(3))
    short = torch.tensor([6, 4, 6])
    target = batch.target.clone()
    target[1, 4:] = 0
    source = batch.source.clone()
    kept = [i for i, word in enumerate(source[1].tolist()) if word in target[1, :4].tolist()]
    source[1, :4], source[1, 4:] = source[1, kept], 0
    fields = {"target": target, "source": source, "lengths": short}
    padded = type(batch)(**{**vars(batch), **fields})
    order = KnownOrder(prepared.task, prepared.codec)(padded).mode
    assert order[1].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_task_may_measure_distance_and_rightness_itself():
    task = Sudoku4(train=4, valid=1, test=1)
    example = task.split("train")[0]
    backwards = " ".join(reversed(example.target.split()))
    assert is_right(task, example, backwards)
    orders = [np.random.default_rng(i).permutation(8).tolist() for i in range(5)]
    distances = [order_distance(task, example, order) for order in orders]
    assert distances == [task.order_distance(example, order) for order in orders]


@pytest.mark.parametrize("task", TASKS)
def test_tasks_and_methods_make_experiments(task):
    assert TASKS[task].preset in presets()
    made = {method: experiment(task, method, 1, OrderSize()) for method in METHODS}
    for method, each in made.items():
        assert sum(phase.steps for phase in each.training.phases) == TASKS[task].steps
        assert TASKS[task].options.items() <= each.data.options.items()
        assert each.training.seed == 1
        assert each.decoder == made["l2r"].decoder, method
    assert made["sao"].training.phases[0].order == "l2r"
    assert made["voi-plackett-luce"].order.law == "plackett-luce"
    assert made["voi-gumbel-matching"].training.phases[0].num_orders > 1
    assert made["known"].training.phases[0].num_orders == 1
    assert not any(phase.fresh_decoder for phase in made["known"].training.phases)
    if TASKS[task].anew:
        *_, last = made["voi-gumbel-matching"].training.phases
        assert last.steps == TASKS[task].anew
        assert last.freeze_orders
        assert last.fresh_decoder


def test_settings_of_a_task_hold_in_all_phases_of_all_methods():
    for method in METHODS:
        for phase in experiment("chain-10", method, 0, OrderSize()).training.phases:
            assert phase.decoder_rate == TASKS["chain-10"].training["decoder_rate"] == 2e-3


def test_options_of_a_task_stay_what_they_are(monkeypatch):
    options = {"reverse": True, "name": 'a "b"'}
    monkeypatch.setitem(TASKS, "mine", Setting("sorting", options, 10))
    made = experiment("mine", "l2r", 0, OrderSize()).data.options
    assert options.items() <= made.items()


def test_a_cell_goes_on_where_it_stopped_and_is_then_read(tmp_path, monkeypatch):
    def once():
        return run(tmp_path, SIZE, seeds=[0], tasks="sorting", methods="known", said=lambda _: None)

    def stop(*_):
        raise KeyboardInterrupt

    tested = order_cell.tested
    monkeypatch.setattr(order_cell, "tested", stop)
    with pytest.raises(KeyboardInterrupt):
        once()
    assert not list((tmp_path / "cells").glob("*.json"))
    log = tmp_path / "runs" / "sorting.known-seed0" / "metrics.jsonl"
    found = log.read_text()
    monkeypatch.setattr(order_cell, "tested", tested)
    (result,) = once()
    assert log.read_text() == found  # nothing was trained again
    *_, last = result["curve"]
    assert last["step"] == round(SIZE.factor * TASKS["sorting"].steps)
    assert {**last, "kind": "valid"}.items() <= json.loads(found.splitlines()[-1]).items()
    assert last["cpu_seconds"] == result["cpu_seconds"] > 0
    assert result["mode"] == result["sampled"] == 0
    assert 0 <= result["accuracy"] <= 1
    assert result["log_prob"] < 0
    monkeypatch.setattr(order_cell, "measure", lambda *_: pytest.fail("measured again"))
    assert once() == [result]


def test_accuracy_and_log_prob_of_a_decoder_that_knows_nothing_but_one_target(monkeypatch):
    prepared = prepare(experiment("sorting", "l2r", 0, SIZE))
    networks = prepared.networks()
    examples = prepared.task.split("test")
    found = order_cell.tested(networks, prepared, SplitSize(6, 6, 4))
    known = [prepared.task.known_orders(example) for example in examples]
    assert all(tuple(range(6)) in orders for orders in known)
    assert found["mode"] == found["sampled"] == 0  # left to right is one of the best orders
    right = prepared.codec.encode_target(examples[2].target, None)
    monkeypatch.setattr("voi.validation.ids_in_reading_order", lambda _: right)
    assert order_cell.tested(networks, prepared, SplitSize(6, 6, 4))["accuracy"] == 1 / 6


def test_the_first_validation_that_is_good_enough_is_told():
    points = [(10, 0.2), (20, 0.96), (30, 0.97)]
    curve = [{"step": n, "cpu_seconds": n / 2, "accuracy": x} for n, x in points]
    training = Training(None, curve)
    assert training.reached(0.95) == curve[1]
    assert training.reached(0.95, after=20) == curve[2]
    assert training.reached(0.99) == {"step": None, "cpu_seconds": None}


def made_up(task, method, seed, accuracy, told):
    values = {"accuracy": accuracy, "log_prob": -0.5, "sampled": 0.25, "written": None}
    times = {"steps_to_95": told, "cpu_seconds_to_95": told and told / 10, "cpu_seconds": 30.0}
    settings = {"task": task, "method": method, "seed": seed, "test": {"examples": 500}}
    return {"settings": settings, **values, **times}


def test_the_table_has_means_and_says_which_seeds_were_good_enough(tmp_path):
    results = [
        made_up("sorting", "l2r", seed, *x) for seed, x in enumerate([(1.0, 200), (0.5, None)])
    ]
    results += [made_up("chain-6", "known", 0, 1.0, 100)]
    header, chain, sorting = order_tables.rows(results)
    assert chain == ["chain-6", "known", "0", "1.000", "-0.500", "0.250", "-", "100", "10", "30"]
    overview = [["task", "`l2r`", "`known`"], ["chain-6", "-", "1.000"], ["sorting", "0.750", "-"]]
    assert order_tables.accuracies(results) == overview
    assert sorting[2:4] == ["0, 1", "0.750 (0.500 to 1.000)"]
    assert sorting[7:9] == ["200, 1 of 2 seeds", "20, 1 of 2 seeds"]
    assert len(header) == len(chain)
    order_tables.write(results, tmp_path)
    assert "| chain-6 | known | 0 | 1.000 |" in (tmp_path / "orders.md").read_text()
    assert json.loads((tmp_path / "orders.json").read_text()) == results
    assert "75" in (tmp_path / "orders.svg").read_text()


def test_the_headline_has_a_few_methods_and_the_distance_of_the_learned_order():
    results = [made_up("sorting", "voi-gumbel-matching", 0, 0.75, None)]
    results += [made_up("sorting", "tree", 0, 0.5, None), made_up("chain-6", "l2r", 0, 1.0, 9)]
    header, *body = order_tables.headline(results)
    assert header[1:] == ["`l2r`", "`voi-gumbel-matching`", "NLD of the learned order"]
    assert body == [["chain-6", "1.000", "-", "-"], ["sorting", "-", "0.750", "0.250"]]


def test_the_command(tmp_path, monkeypatch, capsys):
    sets = [part for setting in SIZE.settings for part in ("--set", setting)]
    chosen = ["--tasks", "chain-6", "--methods", "voi-gumbel-matching,random"]
    size = ["--quick", "--factor", 0.001]
    assert call(monkeypatch, "bench", "orders", *chosen, *size, *sets, "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "chain-6, random, seed 0: accuracy" in printed
    assert "seed 1" not in printed
    assert (tmp_path / "orders.svg").is_file()
    assert call(monkeypatch, "bench", "orders", "--tasks", "chains") == 2
    assert "--tasks: nothing is called 'chains'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["orders", "--factor", 0], "--factor must be above 0 and at most 1000, got 0.0"),
        (["orders", "--factor", "nan"], "--factor must be above 0 and at most 1000, got nan"),
        (["orders", "--seeds", 0], "Invalid value for '--seeds'"),
        (["django", "--epochs", 0], "--epochs must be above 0 and at most 1000000, got 0.0"),
        (["recovery", "--steps", 0], "Invalid value for '--steps'"),
        (["orders", "--threads", 0], "Invalid value for '--threads'"),
        (["django", "--threads", 0], "Invalid value for '--threads'"),
        (["recovery", "--threads", 0], "Invalid value for '--threads'"),
        (["recovery", "--width", 0], "Invalid value for '--width'"),
    ],
    ids=str,
)
def test_sizes_that_measure_nothing_are_refused(monkeypatch, capsys, options, said):
    for name in ("orders", "django", "recovery"):
        monkeypatch.setattr(f"voi.cli.bench_{name}.started", lambda _: pytest.fail("it begins"))
    assert call(monkeypatch, "bench", *options) == 2
    found = capsys.readouterr()
    assert said in found.err
    assert found.out == ""  # before anything is done


def test_a_fresh_decoder_is_told_from_the_one_before(tmp_path):
    settings = "training.phases=[{steps=4}, {steps=6, share=false, fresh_decoder=true}]"
    assert order_cell._start_of_decoder(tiny_trainer(tmp_path / "fresh", settings)) == 4
    assert order_cell._start_of_decoder(tiny_trainer(tmp_path / "plain")) == 0


def test_the_shortest_run_of_every_task_has_all_its_phases():
    for task in TASKS:
        made = experiment(task, "voi-gumbel-matching", 0, OrderSize(factor=1e-6))
        assert sum(phase.steps for phase in made.training.phases) == 2
