"""Times of a run's orders: which targets are timed, by what, and the files that come of it."""

import csv
import json
from types import SimpleNamespace

import pytest

from small_runs import call, saved_model
from voi import load
from voi.bench import inference
from voi.bench.inference import LengthTimes, TargetTimes, by_length, exponents, rows
from voi.orders import OrderGenerator

TARGETS = ("aa ba", "aa ba ca da", "ca", "da ca", "aa aa ba ca da ca da da")
LENGTHS = [2, 4, 1, 2, 8]
MADE_UP = [TargetTimes(i, n, v, s) for i, (n, v, s) in enumerate(
    [(4, 9.0, 8.0), (2, 2.0, 6.0), (4, 1.0, 40.0), (4, 2.0, 16.0), (2, 4.0, 2.0)])]  # fmt: skip


def test_medians_by_length_and_their_growth():
    found = by_length(MADE_UP)
    assert found == [LengthTimes(2, 2, 3.0, 4.0), LengthTimes(4, 3, 2.0, 16.0)]
    # from n = 2 to 4: 3 to 2, 4 to 16, 4/3 to 8
    expected = {"voi": -0.5849625, "sao": 2.0, "sao / voi": 2.5849625}  # log2 of 2/3, 4 and 6
    assert exponents(found) == pytest.approx(expected)
    assert exponents(found[:1]) == {}
    assert rows(found)[1:] == [
        ["2", "2", "3000.0", "4000.0", "1.3"],
        ["4", "3", "2000.0", "16000.0", "8.0"],
    ]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A run on invented words; the test split has the targets above."""
    folder = tmp_path_factory.mktemp("texts")
    for split in ("train", "valid", "test"):
        lines = [f"{target.upper()}\t{target}\n" for target in TARGETS]
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    names = ", ".join(f'{name}="{folder}/{name}.tsv"' for name in ("train", "valid", "test"))
    return saved_model(folder / "run", f"data.options={{{names}}}", task="files")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    settings = ["data.options={train=6, valid=2, test=4}"]
    return saved_model(tmp_path_factory.mktemp("images") / "run", *settings, task="scenes")


class Watched:
    """A clock that only what is timed moves: n ms by a pass, n^2 ms by a search, which is left out.

    Both get the batch alone: a source is encoded while the clock runs.
    """

    def __init__(self, monkeypatch):
        self.now, self.calls = 0.0, []
        clock = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr("voi.bench.timing.time", clock)
        monkeypatch.setattr(inference, "search_orders", self._search)
        forward = OrderGenerator.forward

        def one_pass(generator, batch):
            assert not generator.training
            self._called("voi", batch, len(batch.target[0]))
            return forward(generator, batch)

        monkeypatch.setattr(OrderGenerator, "forward", one_pass)

    def _search(self, decoder, batch, beam):
        self._called(f"sao {beam}", batch, len(batch.target[0]) ** 2)

    def _called(self, name, batch, milliseconds):
        assert len(batch) == 1
        self.calls.append((name, batch))
        self.now += milliseconds / 1e3


def bench(monkeypatch, *arguments):
    """Run `voi bench runtime` on one thread and return its exit code."""
    return call(monkeypatch, "bench", "runtime", "--threads", 1, *arguments)


def test_every_target_of_a_split_is_timed(texts, tmp_path, monkeypatch, capsys):
    watched = Watched(monkeypatch)
    options = ["--beam", 3, "--repetitions", 2, "--out", tmp_path / "new" / "out"]
    assert bench(monkeypatch, texts, *options) == 0
    one = ["voi", "sao 3"] * 3  # both in turns, the first round is not counted
    assert [name for name, _ in watched.calls] == one * len(TARGETS)
    out = tmp_path / "new" / "out"
    header, *lines = csv.reader((out / "orders-runtime.csv").read_text().splitlines())
    assert header == ["example", "n", "seconds_voi", "seconds_sao"]
    assert [[float(x) for x in line] for line in lines] == [
        [i, n, n / 1e3, n**2 / 1e3] for i, n in enumerate(LENGTHS)
    ]
    stored = json.loads((out / "orders-runtime.json").read_text())
    assert stored["settings"] == {
        "run": str(texts), "split": "test", "limit": 0, "beam": 3, "repetitions": 2,
    }  # fmt: skip
    assert "1 threads" in stored["machine"]
    assert [(x["n"], x["targets"]) for x in stored["lengths"]] == [(1, 1), (2, 2), (4, 1), (8, 1)]
    assert [x["sao"] for x in stored["lengths"]] == pytest.approx([0.001, 0.004, 0.016, 0.064])
    assert stored["exponents"] == pytest.approx({"voi": 1.0, "sao": 2.0, "sao / voi": 1.0})
    drawn = (out / "orders-runtime.svg").read_text()
    assert "sao, n^2.0" in drawn
    assert "sao / voi: grows as n^1.00" in capsys.readouterr().out


def test_a_limit_takes_the_first_targets_of_the_split(texts, monkeypatch):
    """Results go to a folder of the run, named by split and beam."""
    watched = Watched(monkeypatch)
    chosen = ["--split", "valid", "--limit", 2, "--repetitions", 1]
    assert bench(monkeypatch, texts, *chosen) == 0
    lines = (texts / "runtime" / "valid-beam8" / "orders-runtime.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [["0", "2"], ["1", "4"]]
    assert {name for name, _ in watched.calls} == {"voi", "sao 8"}


def test_targets_of_images_are_timed(images, monkeypatch, tmp_path):
    watched = Watched(monkeypatch)
    options = ["--repetitions", 1, "--out", tmp_path]
    assert bench(monkeypatch, images, *options) == 0
    examples = load(images).task().split("test")
    lines = (tmp_path / "orders-runtime.csv").read_text().splitlines()[1:]
    assert [int(line.split(",")[1]) for line in lines] == [len(x.target.split()) for x in examples]
    shown = [batch.features.shape[1] for _, batch in watched.calls[::4]]  # two rounds of two
    assert shown == [len(example.source.boxes) for example in examples]


def test_targets_of_one_length_have_no_exponent(tmp_path, monkeypatch, capsys):
    run = saved_model(tmp_path / "run")  # targets of three symbols
    options = ["--limit", 2, "--repetitions", 1, "--out", tmp_path]
    assert bench(monkeypatch, run, *options) == 0
    assert "grows" not in capsys.readouterr().out
    assert json.loads((tmp_path / "orders-runtime.json").read_text())["exponents"] == {}
    assert (tmp_path / "orders-runtime.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("settings", "got"),
    [
        (["order.kind=l2r"], '"l2r" and "insertion"'),
        (["order.kind=l2r", "decoder.head=sequential"], '"l2r" and "sequential"'),
        (["order.kind=sao"], '"sao" and "insertion"'),
    ],
)
def test_runs_without_a_generator_are_refused(tmp_path, monkeypatch, capsys, settings, got):
    run = saved_model(tmp_path / "run", *settings, "training.num_orders=1")
    assert bench(monkeypatch, run) == 2
    said = capsys.readouterr().err
    assert f"{run} has no order generator to time" in said
    assert f"got {got}; name a run" in said
    assert "--order voi" in said
    assert said.count("\n") == 1
    assert not (run / "runtime").exists()


@pytest.mark.parametrize(
    ("has_run", "options", "message"),
    [
        (True, ["--lengths", "2,4"], "give a run without --lengths: "),
        (True, ["--width", 16, "--layers", 1], "give a run without --width, --layers: "),
        (False, ["--split", "test", "--limit", 1], "give a run with --split, --limit: "),
        (True, ["--split", "dev"], "there is no dev split"),
        (True, ["--repetitions", 0], "--repetitions"),
        (True, ["--beam", 0], "--beam"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    texts, tmp_path, monkeypatch, capsys, has_run, options, message
):
    given = [texts] if has_run else []
    out = tmp_path / "out"
    assert bench(monkeypatch, *given, *options, "--out", out) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_model_that_is_no_folder_needs_one_for_its_results(texts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("voi.model.snapshot_download", lambda name: texts)
    assert bench(monkeypatch, "someone/words", "--limit", 1) == 2
    assert "someone/words is no folder to keep results in" in capsys.readouterr().err
