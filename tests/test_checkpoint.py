"""Model folders: what was saved comes back; what is damaged is named in one line."""

import errno
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from small_models import TINY, orders_of, roughen, text_batch
from voi import checkpoint
from voi.checkpoint import (
    TrainingState,
    find,
    load,
    load_experiment,
    load_state,
    point,
    pointed,
    save,
)
from voi.config import experiment
from voi.data.example import Example
from voi.errors import CheckpointError
from voi.networks import Networks
from voi.tokens import build_codec

SIZES = {**TINY, "layers": 1}
EXAMPLES = [Example("a b", "b a"), Example("c", "c c"), Example("b", "a")]
FILES = ["codec.json", "experiment.json", "manifest.json", "networks.safetensors"]


def model(seed=0, region_size=0, **order):
    config = experiment({"decoder": SIZES, "order": {**SIZES, **order}, "training": {"steps": 1}})
    codec = build_codec({}, EXAMPLES)
    torch.manual_seed(seed)
    networks = Networks.of(config, codec, region_size)
    return config, codec, roughen(networks)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "run" / "checkpoints" / "step-00000001"
    save(path, *model())
    return path


def log_probs(networks):
    batch = text_batch([[4, 5, 6], [5]], [[6], [4, 4]])
    q = networks.orders(batch)
    orders = orders_of([[2, 0, 1], [0]])
    return networks.decoder.log_prob(batch, orders), q.log_prob(orders)


def names(path):
    return sorted(file.name for file in path.iterdir())


def check(error):
    """One line that names a way out."""
    assert "\n" not in str(error.value)
    assert len(str(error.value)) > 30
    return str(error.value)


@pytest.mark.parametrize("order", [{}, {"kind": "common"}, {"law": "plackett-luce"}])
@torch.no_grad()
def test_what_was_saved_comes_back(tmp_path, order):
    config, codec, networks = model(**order)
    save(tmp_path / "m", config, codec, networks)
    found = load(tmp_path / "m")
    assert (found.experiment, found.codec, found.networks.region_size) == (config, codec, 0)
    assert not found.networks.training
    for ours, theirs in zip(log_probs(networks), log_probs(found.networks), strict=True):
        assert torch.equal(ours, theirs)  # to the last bit
    assert names(tmp_path / "m") == FILES


def test_loading_neither_draws_nor_loads_a_compiler(folder):
    code = (
        "import sys, torch, voi\n"
        "state = torch.get_rng_state()\n"
        f"voi.load({str(folder)!r})\n"
        "assert torch.equal(state, torch.get_rng_state())\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_regions_and_training_state_come_back(tmp_path):
    state = TrainingState({"step": 3, "best": 0.5}, {"decoder.0.step": torch.ones(2)})
    save(tmp_path / "m", *model(region_size=5), state)
    assert load(tmp_path / "m").networks.region_size == 5
    found = load_state(tmp_path / "m")
    assert dict(found.values) == {"step": 3, "best": 0.5}
    assert torch.equal(found.tensors["decoder.0.step"], state.tensors["decoder.0.step"])


@torch.no_grad()
def test_what_a_generator_shares_comes_back(tmp_path):
    config, codec, networks = model()
    networks.orders.share(networks.decoder)
    expected = log_probs(networks)
    save(tmp_path / "m", config, codec, networks)
    found = log_probs(load(tmp_path / "m").networks)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_an_experiment_is_read_without_the_weights(folder):
    stored = load(folder).experiment
    (folder / "networks.safetensors").unlink()
    assert load_experiment(folder) == stored
    path = folder / "experiment.json"
    path.write_text(path.read_text().replace('"cpu"', '"cuda"'))
    with pytest.raises(CheckpointError) as error:
        load_experiment(folder)
    assert "experiment.json is missing, truncated or changed" in check(error)
    with pytest.raises(CheckpointError, match=r"manifest\.json is missing"):
        load_experiment(folder.parent)


def test_a_model_alone_cannot_be_resumed(folder):
    with pytest.raises(CheckpointError, match="no training state") as error:
        load_state(folder)
    check(error)


def test_an_existing_folder_is_replaced(folder):
    config, codec, networks = model(seed=1)
    save(folder, config, codec, networks)
    assert torch.equal(log_probs(load(folder).networks)[0], log_probs(networks)[0])
    assert names(folder.parent) == [folder.name]


@pytest.mark.parametrize("name", FILES[:2] + FILES[3:])
@pytest.mark.parametrize("damage", ["truncated", "missing", "changed"])
def test_damaged_files_are_named(folder, name, damage):
    file = folder / name
    content = file.read_bytes()
    if damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "missing":
        file.unlink()
    else:
        file.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    read = load_state if name.startswith("state.") else load
    with pytest.raises(CheckpointError, match="missing, truncated or changed") as error:
        read(folder)
    assert name in check(error)
    if read is load_state:
        load(folder)  # what generates needs no state


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "manifest.json is missing"),
        ("", "cannot read"),
        ("{", "cannot read"),
        ("[]", "has format None, this version of voi reads 1"),
        ('{"format": 99, "files": {}}', "has format 99, this version of voi reads 1"),
        ('{"format": 1}', "manifest.json"),
    ],
)
def test_manifests(folder, text, message):
    if text is None:
        (folder / "manifest.json").unlink()
    else:
        (folder / "manifest.json").write_text(text)
    with pytest.raises(CheckpointError, match=message) as error:
        load(folder)
    check(error)


def replace(folder, name, content):
    """Write another file and let the manifest agree with it, as someone who edits by hand might."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256(content).hexdigest()
    manifest["files"][name] = {"bytes": len(content), "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edited(folder, name, change):
    table = json.loads((folder / name).read_text())
    change(table)
    replace(folder, name, json.dumps(table).encode())


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("experiment.json", lambda t: t["decoder"].update(width=16), "size mismatch"),
        ("experiment.json", lambda t: t["decoder"].update(layers=3), "decoder.blocks.1"),
        ("experiment.json", lambda t: t["order"].update(kind="l2r"), "orders."),
        ("experiment.json", lambda t: t["decoder"].update(widht=8), "did you mean"),
        ("experiment.json", lambda t: t["training"].clear(), "steps or epochs"),
        ("codec.json", lambda t: t["vocabulary"]["words"].pop(), "words"),
        ("codec.json", lambda t: t.pop("vocabulary"), "vocabulary"),
    ],
)
def test_weights_that_do_not_fit_the_experiment(folder, name, change, message):
    edited(folder, name, change)
    with pytest.raises(CheckpointError, match=r"does not fit its own experiment\.json") as error:
        load(folder)
    assert message in check(error)


@pytest.mark.parametrize("name", ["experiment.json", "codec.json", "networks.safetensors"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xff", b"3"])
def test_files_of_another_kind(folder, name, content):
    replace(folder, name, content)
    with pytest.raises(CheckpointError) as error:
        load(folder)
    check(error)


@pytest.mark.parametrize("kind", ["new", "existing"])
@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
@torch.no_grad()
def test_a_failed_save_leaves_what_was_there(folder, monkeypatch, failure, kind):
    path = folder if kind == "existing" else folder.with_name("step-00000002")
    before = {name: (folder / name).read_bytes() for name in names(folder)}

    def fail(tensors, path):
        Path(path).write_bytes(b"half a f")
        raise failure

    monkeypatch.setattr(checkpoint, "save_file", fail)
    expected = CheckpointError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as error:
        save(path, *model(seed=1))
    if expected is CheckpointError:
        message = check(error)
        assert "No space left on device" in message
        assert "free space or choose another folder" in message
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before
    assert names(folder.parent) == [folder.name]  # no draft is left behind


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot write checkpoint") as error:
        save(tmp_path / "file" / "m", *model())
    check(error)


def test_a_folder_that_must_not_be_written_is_not_told_to_free_space(folder, monkeypatch):
    def fail(*arguments):
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(CheckpointError, match="Permission denied; allow writing there or choose"):
        save(folder, *model())


def test_other_checkpoints_of_a_damaged_run_are_named(folder):
    other = folder.with_name("step-00000009")
    save(other, *model())
    (folder / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=f"manifest.json is missing; .*run: {other}$"):
        load(folder)
    run = folder.parent.parent
    point(run, "last", folder)
    point(run, "best", other)
    with pytest.raises(CheckpointError, match=r"goes on from the best one once .*last\.json"):
        load(folder)
    (run / "last.json").unlink()
    (run / "best.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"best.json names no checkpoint: remove it or rest"):
        checkpoint.find(folder.parent.parent)


def test_pointers(folder):
    run = folder.parent.parent
    assert pointed(run, "last") is None
    point(run, "last", folder)
    assert pointed(run, "last") == folder
    other = folder.with_name("step-00000007")
    point(run, "last", other)
    assert pointed(run, "last") == other


def test_a_run_stands_for_its_best_or_last_model(folder):
    run = folder.parent.parent
    assert find(folder) == folder
    with pytest.raises(CheckpointError, match="no model in") as error:
        find(run)
    check(error)
    point(run, "last", folder.with_name("last"))
    assert find(run).name == "last"
    point(run, "best", folder)
    assert find(run) == folder
    assert load(find(run)).experiment == model()[0]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"checkpoint": 3}'])
def test_damaged_pointers(folder, content):
    run = folder.parent.parent
    (run / "best.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"best\.json") as error:
        find(run)
    check(error)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_paths_that_are_no_models(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="no model in") as error:
        find(tmp_path / name)
    check(error)
