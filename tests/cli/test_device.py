"""Every command that runs a model takes --device, by one definition."""

import pytest

import voi.model
from small_runs import call
from voi.errors import CheckpointError

COMMANDS = [
    ("evaluate", "run"),
    ("generate", "run"),
    ("distill", "run", "--out", "distilled"),
    ("orders", "run"),
    ("orders", "run", "--perturb", 0),
    ("show", "run", "a source"),
    ("serve", "run", "--port", 0),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(map(str, words)))
def test_a_model_is_loaded_onto_the_device(words, tmp_path, monkeypatch, capsys):
    """Loading ends the command here: what it was asked for is all that counts."""
    asked = []

    def loading(cls, path, device="cpu"):
        asked.append(device)
        raise CheckpointError("stopped here")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(voi.model.Model, "from_pretrained", classmethod(loading))
    assert call(monkeypatch, *words) == 2
    assert call(monkeypatch, *words, "--device", "cuda:1") == 2
    assert asked == ["cpu", "cuda:1"]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(map(str, words)))
def test_a_device_that_is_not_there_is_said_in_one_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, *words, "--device", "cpuu") == 2
    assert "device 'cpuu' cannot be used here" in capsys.readouterr().err
