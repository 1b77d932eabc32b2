"""Distillation of a split that is larger than memory: outputs and pairs pass one by one."""

import json
import tracemalloc
from dataclasses import dataclass

import pytest

import voi.distillation
from voi.analysis import Trace, write_traces
from voi.config import SearchConfig
from voi.data import Example
from voi.data.example import LazyExamples
from voi.model import Model

NUM = 3000
LONG = "x " * 2000
MODEL = object.__new__(Model)  # is not asked for anything but where it comes from
MODEL.run = None


@dataclass(frozen=True, eq=False)
class Long(LazyExamples):
    """Many long examples that are made when they are asked for."""

    num: int

    def __len__(self):
        return self.num

    def example(self, index):
        return Example(f"{index} {LONG}", f"{LONG}\ud800 {index}")


class Task:
    splits = ("train", "valid", "test")

    def split(self, name):
        return Long(NUM if name == "train" else 2)

    def known_orders(self, example):
        return ()


@pytest.fixture
def written(monkeypatch):
    """Stands in for a model: it writes nothing for every third source."""

    def write_outputs(model, items, total, path, *_):
        path.parent.mkdir(exist_ok=True)
        numbers = (int(item.source.split()[0]) for item in items)
        write_traces(path, (trace(f"y {i}" if i % 3 else "") for i in numbers))

    def trace(text):
        return Trace(target=text, tokens=(), order=(), slots=(), kind="generated")

    monkeypatch.setattr(voi.distillation, "write_outputs", write_outputs)
    monkeypatch.setattr(voi.distillation, "weights_digest", lambda model: "")


@pytest.mark.usefixtures("unchecked")  # checks take most of the time, and memory
def test_pairs_pass_one_by_one(written, tmp_path):
    tracemalloc.start()
    found = voi.distillation.distill(MODEL, Task(), "train", tmp_path / "out", SearchConfig())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = (tmp_path / "out" / "train.jsonl").stat().st_size
    assert size > NUM * len(LONG) > 4 * peak
    assert (found.num_pairs, found.num_empty, found.has_sources) == (NUM, NUM // 3, True)
    assert (found.longest_source, found.longest_target) == (2001, 2002)  # of references


def test_files_hold_outputs_or_references(written, tmp_path):
    voi.distillation.distill(MODEL, Task(), "train", tmp_path / "out", SearchConfig())
    for name in Task.splits:
        lines = (tmp_path / "out" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        examples = Task().split(name)
        targets = [e.target for e in examples]
        if name == "train":
            targets = [f"y {i}" if i % 3 else target for i, target in enumerate(targets)]
        pairs = [{"source": e.source, "target": t} for e, t in zip(examples, targets, strict=True)]
        assert [json.loads(line) for line in lines] == pairs
