"""What a model writes for a split: in order, once per image, the same for every batch size."""

import numpy as np
import pytest

from voi.analysis import read_traces
from voi.config import SearchConfig
from voi.data import Example, Regions
from voi.data.tasks import make_task
from voi.errors import DataError
from voi.evaluation.conventions import Conventions
from voi.evaluation.outputs import items_of, write_outputs
from voi.evaluation.stored import read_outputs
from voi.model import Model

SEARCH = SearchConfig(beam=3, length_penalty=0.0, max_length=4)


def _items(model, limit=0):
    data = model.experiment.data
    examples = make_task(data.task, data.options).split("test")
    return items_of(examples, Conventions(model.codec, "symbols"), limit)


def _written(model, path, items=None, search=SEARCH, **options):
    items, about = items or _items(model), {"split": "test"}
    write_outputs(model, iter(items), len(items), path, search, about, {}, **options)
    return read_traces(path)


class Counted(Model):
    """A model that notes the sources it writes for, and may be killed before a batch."""

    def __init__(self, model, killed_at=-1):
        vars(self).update(vars(model))
        self.killed_at, self.sources = killed_at, []

    def generate(self, sources, **options):
        if len(self.sources) == self.killed_at:
            raise KeyboardInterrupt
        self.sources += sources
        return super().generate(sources, **options)


def test_outputs_stand_in_the_order_of_the_split(chain, tmp_path):
    traces = _written(chain, tmp_path / "h.jsonl", batch_size=3)
    items = _items(chain)
    assert [trace.source for trace in traces] == [item.source for item in items]
    assert [trace.reference for trace in traces] == [item.references[0] for item in items]
    alone = [chain.generate(item.source, beam=3, max_length=4)[0][0] for item in items]
    assert [trace.target for trace in traces] == [one.text for one in alone]
    assert len({trace.target for trace in traces}) > 2  # or the comparison says little


@pytest.mark.parametrize("batch_size", [1, 64])
def test_batch_size_changes_nothing(chain, tmp_path, batch_size):
    expected = _written(chain, tmp_path / "five.jsonl", batch_size=5)
    found = _written(chain, tmp_path / "other.jsonl", batch_size=batch_size)
    assert [(t.target, t.order) for t in found] == [(t.target, t.order) for t in expected]
    assert [t.score for t in found] == pytest.approx([t.score for t in expected], abs=1e-4)


def test_a_killed_evaluation_goes_on(chain, tmp_path):
    whole, path = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    _written(chain, whole, batch_size=4)
    killed = Counted(chain, killed_at=8)
    with pytest.raises(KeyboardInterrupt):
        _written(killed, path, _items(chain), batch_size=4)
    with path.open("ab") as file:
        file.write(whole.read_bytes().splitlines(keepends=True)[8][:40])  # a line cut off
    resumed, told = Counted(chain), []
    _written(resumed, path, _items(chain), batch_size=4, told=lambda *what: told.append(what))
    assert path.read_bytes() == whole.read_bytes()
    assert resumed.sources == [item.source for item in _items(chain)[8:]]
    assert told[0] == ("decoding", 8, 12)
    assert told[-1] == ("decoding", 12, 12)


def test_a_limit_is_raised_without_starting_again(chain, tmp_path):
    path = tmp_path / "h.jsonl"
    _written(chain, path, _items(chain, limit=6))
    assert len(read_outputs(path, "x").hypotheses) == 6
    counted = Counted(chain)
    _written(counted, path, _items(chain))
    assert len(counted.sources) == 6
    _written(counted, path, _items(chain, limit=5))  # nothing to do
    assert len(counted.sources) == 6
    assert len(read_outputs(path, "x", limit=5).hypotheses) == 5


def test_other_data_or_another_search_is_refused(chain, tmp_path):
    path = tmp_path / "h.jsonl"
    _written(chain, path)
    with pytest.raises(DataError, match=r"h.jsonl:1 has source .* its data has changed"):
        _written(chain, path, _items(chain)[::-1])
    with pytest.raises(DataError, match="for beam 3, this command has 2"):
        _written(chain, path, search=SearchConfig(2, 0.0, 4))


def _image(seed, num_regions, name=""):
    rng = np.random.default_rng(seed)
    shapes = (num_regions, 3), (num_regions, 4)
    return Regions(*(rng.random(shape, np.float32) for shape in shapes), name)


def test_an_image_is_written_once(make_model_of, tmp_path):
    captions = {0: ["a red box", "box"], 1: ["a blue ball"], 2: ["the cat", "a cat", "one cat"]}
    images = {i: _image(i, i + 1) for i in captions}
    pairs = [(i, text) for i, texts in captions.items() for text in texts]
    pairs = pairs[::2] + pairs[1::2]  # the captions of an image lie apart
    examples = [Example(_image(i, i + 1), text) for i, text in pairs]
    model = make_model_of(examples, region_size=3)
    counted, path = Counted(model), tmp_path / "h.jsonl"
    items = items_of(examples, Conventions(model.codec, "captions"))
    _written(counted, path, items)
    order = list(dict.fromkeys(i for i, _ in pairs))
    assert len(counted.sources) == 3
    outputs = read_outputs(path, "x")
    expected = [[text for j, text in pairs if j == i] for i in order]
    assert [list(own) for own in outputs.references] == expected
    alone = [model.generate([images[i]], beam=3, max_length=4)[0][0].text for i in order]
    assert list(outputs.hypotheses) == alone
    limited = items_of(examples, Conventions(model.codec, "captions"), limit=1)
    assert [list(item.references) for item in limited] == expected[:1]


def test_a_trace_names_its_image_and_older_ones_without_a_name_still_count(make_model_of, tmp_path):
    named = [Example(_image(i, 2, f"{i}.png"), "a cat") for i in range(2)]
    nameless = Example(_image(2, 2), "a dog")
    examples, path = [*named, nameless], tmp_path / "h.jsonl"
    model = make_model_of(examples, region_size=3)
    items = items_of(examples, Conventions(model.codec, "captions"))
    traces = _written(model, path, items)
    assert [trace.source for trace in traces] == ["0.png", "1.png", None]
    assert [trace.extra["image"] for trace in traces] == ["0.png", "1.png", "image with 2 regions"]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0].replace('"source": "0.png"', '"source": null'))  # as once stored
    assert [trace.source for trace in _written(model, path, items)] == [None, "1.png", None]
    with pytest.raises(DataError, match=r"h.jsonl:1 has image '0.png'"):
        _written(model, path, items[::-1])
