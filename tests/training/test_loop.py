"""Training goes on after any interruption as if there had been none."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file

from small_runs import Quiet, settings_of, tiny_trainer
from voi import checkpoint, runs
from voi.errors import CheckpointError, DataError
from voi.layers import Block
from voi.objective import ppo_loss
from voi.training import TrainingError
from voi.training.log import SPEEDS


def _weights(run, name="last"):
    return load_file(checkpoint.pointed(run, name) / "networks.safetensors")


def _assert_same(first, second):
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), f"{name} differs"


@pytest.fixture
def copied(trained, tmp_path):
    """A finished run that may be changed."""
    return shutil.copytree(trained, tmp_path / "run")


ANEW = "share=false, freeze_orders=true, fresh_decoder=true"
SETTINGS = {
    "plain": [],
    "dropout": ["decoder.dropout=0.1", "order.dropout=0.1"],
    "phases": [
        'training.phases=[{name="warm", steps=4, order="random"}, {name="shared", steps=5, '
        'share=true}, {name="apart", epochs=1.5, align=10.0}]',
    ],
    "anew": ["training.phases=[{steps=4, share=true}, {steps=8, " + ANEW + "}]"],
    "anew, stopped between": ["training.phases=[{steps=6, share=true}, {steps=6, " + ANEW + "}]"],
    "ppo": ["objective.estimator=ppo", "order.law=plackett-luce"],
    "accumulated": ["training.accumulate=2", "training.max_tokens=20"],
}


class Crash(Exception):
    pass


@pytest.mark.parametrize("name", SETTINGS)
def test_resuming_is_bitwise_the_same_as_not_stopping(tmp_path, name):
    settings = [*SETTINGS[name], "training.checkpoint_every=3"]
    assert tiny_trainer(tmp_path / "whole", *settings).run()

    def crash(progress):
        if progress.step == 8:
            raise Crash

    with pytest.raises(Crash):
        tiny_trainer(tmp_path / "broken", *settings, watcher=Quiet(crash)).run()
    trainer = runs.resume(tmp_path / "broken", Quiet())
    assert trainer.progress.step == 6  # the last checkpoint before the crash
    assert trainer.run()
    for kind in ("last", "best"):
        _assert_same(_weights(tmp_path / "whole", kind), _weights(tmp_path / "broken", kind))
    for read in (_log, _speed_steps):
        assert read(tmp_path / "whole") == read(tmp_path / "broken")


def _log(run):
    """Return the metrics, times aside."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    times = {*SPEEDS, "cpu_seconds"}
    return [{k: v for k, v in line.items() if k not in times} for line in lines]


def _speed_steps(run):
    return [line.split(",")[0] for line in (run / "speed.csv").read_text().splitlines()]


def test_resuming_after_kill_9_is_bitwise_the_same(tmp_path):
    settings = ["training.steps=40", "training.checkpoint_every=5"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert tiny_trainer(whole, *settings).run()
    command = [sys.executable, "-c", "from voi.cli import main; main()", "train"]
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "OMP_NUM_THREADS": "1"}}
    process = subprocess.Popen([*command, *settings_of(*settings), "--out", str(broken)], **quiet)
    deadline = time.monotonic() + 600
    while not (broken / "last.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    trainer = runs.resume(broken, Quiet())
    assert 5 <= trainer.progress.step < 40
    assert trainer.run()
    _assert_same(_weights(whole), _weights(broken))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_stops_after_the_step(trained, tmp_path, number):
    def send(progress):
        if progress.step == 6:
            os.kill(os.getpid(), number)

    watcher = Quiet(send)
    trainer = tiny_trainer(tmp_path / "run", "training.checkpoint_every=100", watcher=watcher)
    assert not trainer.run()
    assert trainer.stopped_by == number.name
    assert watcher.messages == [f"{number.name}: saving"]
    resumed = runs.resume(tmp_path / "run", Quiet())
    assert resumed.progress.step == 6
    assert resumed.run()
    _assert_same(_weights(trained), _weights(tmp_path / "run"))


def test_a_loss_that_is_not_a_number_names_the_examples(tmp_path):
    trainer = tiny_trainer(tmp_path / "run")
    with torch.no_grad():
        trainer.networks.decoder.norm.weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match=r"step 1: loss nan, .* on training examples \[\d+, "):
        trainer.run()


def test_scores_of_orders_that_are_not_numbers_end_training(tmp_path):
    trainer = tiny_trainer(tmp_path / "run")
    with torch.no_grad():
        trainer.networks.orders.norm.weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match="after step 0: scores of orders are not finite; start"):
        trainer.run()


def test_phases_share_then_part_then_freeze(tmp_path):
    phases = (
        'training.phases=[{name="shared", steps=4}, {name="apart", steps=4, share=false, '
        'align=100.0}, {name="frozen", steps=4, freeze_orders=true, share=false, num_orders=1}]'
    )
    seen = {}

    def look(progress):
        orders, decoder = trainer.networks.orders, trainer.networks.decoder
        seen[progress.step] = (
            {name: x.clone() for name, x in orders.state_dict().items()},
            orders.alignment(decoder).item(),
        )

    trainer = tiny_trainer(tmp_path / "run", phases, watcher=Quiet(look))
    start = {name: x.clone() for name, x in trainer.networks.orders.state_dict().items()}
    assert trainer.run()
    assert torch.equal(seen[4][0]["embedding.weight"], start["embedding.weight"])
    assert not torch.equal(seen[4][0]["norm.weight"], start["norm.weight"])
    assert seen[6][1] < 0.05  # parted as copies, and held together by the alignment
    assert not torch.equal(seen[6][0]["embedding.weight"], seen[8][0]["embedding.weight"])
    _assert_same(seen[10][0], seen[12][0])


def test_a_fresh_decoder_learns_the_orders_of_the_one_before(tmp_path):
    phases = (
        "training.phases=[{steps=4, share=true}, "
        "{steps=4, freeze_orders=true, fresh_decoder=true, share=false, decoder_rate=0.0}]"
    )
    seen = {}

    def look(progress):
        networks = {"decoder": trainer.networks.decoder, "orders": trainer.networks.orders}
        seen[progress.step] = {
            name: {key: x.clone() for key, x in network.state_dict().items()}
            for name, network in networks.items()
        }

    trainer = tiny_trainer(tmp_path / "run", phases, watcher=Quiet(look))
    start = {name: x.clone() for name, x in trainer.networks.decoder.state_dict().items()}
    assert trainer.run()
    assert torch.equal(seen[8]["decoder"]["norm.weight"], start["norm.weight"])
    for other in (start, seen[4]["decoder"]):
        assert not torch.equal(seen[8]["decoder"]["embedding.weight"], other["embedding.weight"])
    assert torch.equal(  # the generator has the encoder that it learned with
        seen[8]["orders"]["embedding.weight"], seen[4]["decoder"]["embedding.weight"]
    )
    assert {
        x.item() for name, x in trainer.decoder_optimiser.tensors().items() if "step" in name
    } == {4}


def test_alternating_moves_one_network_at_a_time(tmp_path):
    seen = []

    def look(progress):
        networks = trainer.networks
        seen.append([sum(p.double().sum() for p in n.parameters()).item() for n in (
            networks.decoder, networks.orders)])  # fmt: skip

    trainer = tiny_trainer(
        tmp_path / "run",
        "training.alternate=[2, 1]",
        "training.log_every=1",
        "training.steps=6",
        watcher=Quiet(look),
    )
    trainer.run()
    moved = [(a[0] != b[0], a[1] != b[1]) for a, b in pairwise(seen)]
    assert moved == [(True, False), (False, True), (True, False), (True, False), (False, True)]


@pytest.mark.parametrize(("batch_size", "count"), [(8, 4), (30, 2)])
def test_accumulated_batches_equal_one_large_batch(tmp_path, batch_size, count):
    """Every example counts the same: those of a small batch no more than others."""
    common = ["order.kind=l2r", "training.num_orders=1", "training.steps=1", "training.clip=0"]
    one = tiny_trainer(tmp_path / "one", *common, "training.batch_size=32")
    parts = (f"training.batch_size={batch_size}", f"training.accumulate={count}")
    many = tiny_trainer(tmp_path / "many", *common, *parts)
    for trainer in (one, many):
        trainer.run()
    first, second = _weights(tmp_path / "one"), _weights(tmp_path / "many")
    for name in first:
        torch.testing.assert_close(first[name], second[name], atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_training_computes_in_the_precision_asked_for(tmp_path, precision):
    trainer = tiny_trainer(tmp_path / "run", f"training.precision={precision}")
    seen = set()

    def look(module, _, output):
        if module.training:  # validation is in float32
            seen.add(output.dtype)

    for network in (trainer.networks.decoder, trainer.networks.orders):
        network.blocks[0].feed_forward.register_forward_hook(look)
    assert trainer.run()
    assert seen == {getattr(torch, precision)}


def test_embeddings_are_not_aligned_while_there_is_one(tmp_path):
    weights = []
    for align in (0, 100):
        settings = ["training.share=true", f"training.align={align}", "training.steps=3"]
        tiny_trainer(tmp_path / str(align), *settings).run()
        weights.append(_weights(tmp_path / str(align)))
    _assert_same(*weights)


PPO_SHARED = ["objective.estimator=ppo", "order.law=plackett-luce", "training.share=true"]


@pytest.fixture
def log_ratios(monkeypatch):
    """The largest log ratio of every inner step of PPO, as they are taken."""
    seen = []

    def recorded(q, orders, gain, old, *rest):
        seen.append((q.log_prob(orders) - old).abs().max().item())
        return ppo_loss(q, orders, gain, old, *rest)

    monkeypatch.setattr("voi.training.update.ppo_loss", recorded)
    return seen


def test_ppo_compares_parameters_and_not_dropout_also_while_sharing(tmp_path, log_ratios):
    """With rates of zero every ratio of every inner step is 1."""
    settings = [
        *PPO_SHARED,
        "decoder.dropout=0.3",
        "training.decoder_rate=0.0",
        "training.order_rate=0.0",
    ]
    tiny_trainer(tmp_path / "run", *settings, "training.steps=2").run()
    assert len(log_ratios) == 6
    assert max(log_ratios) < 1e-5


def test_ratios_of_ppo_start_at_one_though_the_decoder_learns_what_is_shared(tmp_path, log_ratios):
    settings = ["training.decoder_rate=0.01", "training.steps=3"]
    trainer = tiny_trainer(tmp_path / "run", *PPO_SHARED, *settings)
    before = [parameter.clone() for parameter in trainer.networks.decoder.parameters()]
    trainer.run()
    assert max(log_ratios[::3]) < 1e-5  # of each update the first inner step
    assert max(log_ratios) > 1e-5
    after = trainer.networks.decoder.parameters()
    assert all(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_searched_orders_train(tmp_path):
    settings = ["order.kind=sao", "order.beam=3", "order.weighting=softmax"]
    assert tiny_trainer(tmp_path / "run", *settings).run()


def test_recomputed_states_change_nothing(tmp_path, monkeypatch):
    """Dropout included: what is computed again draws the same."""
    weights, computed = [], []
    output = Block._output
    monkeypatch.setattr(Block, "_output", lambda *x: computed.append(len(weights)) or output(*x))
    for flag in ("false", "true"):
        settings = ["decoder.dropout=0.2", "order.dropout=0.2", f"training.recompute={flag}"]
        trainer = tiny_trainer(tmp_path / flag, *settings)
        trainer.run()
        weights.append(trainer.networks.state_dict())
    for name, plain in weights[0].items():
        torch.testing.assert_close(weights[1][name], plain, rtol=0, atol=1e-5)
    assert computed.count(1) > 1.5 * computed.count(0)  # in the forward and the backward pass


def test_blocks_are_compiled_where_it_is_asked_for(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(Block, "compile", lambda block: compiled.append(block))
    tiny_trainer(tmp_path / "plain")
    assert not compiled
    networks = tiny_trainer(tmp_path / "compiled", "training.compile=true").networks
    assert compiled == [module for module in networks.modules() if isinstance(module, Block)]


@pytest.mark.slow
def test_compiled_training_equals_plain_training(tmp_path):
    losses = []
    for flag in ("false", "true"):
        watcher = Quiet()
        settings = [f"training.compile={flag}", "training.steps=4"]
        tiny_trainer(tmp_path / flag, *settings, watcher=watcher).run()
        losses.append([line["loss"] for line in watcher.logged if "loss" in line])
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_run_folder(trained):
    names = {path.name for path in trained.iterdir()} - {"tensorboard"}
    assert names == {
        "README.md", "best.json", "checkpoints", "data.json", "experiment.json", "last.json",
        "metrics.jsonl", "speed.csv",
    }  # fmt: skip
    assert "voi.load(" in (trained / "README.md").read_text()
    assert len(list((trained / "checkpoints").iterdir())) <= 2


def test_arrays_can_be_mapped_from_a_folder(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = tiny_trainer(tmp_path / "run", "data.cache=arrays")
    assert trainer.run()
    assert any((tmp_path / "arrays").glob("train-*/targets*"))
    assert trainer.experiment.data.cache == str(tmp_path / "arrays")  # also from another folder
    _assert_same(_weights(trained), _weights(tmp_path / "run"))


def test_snapshots_stay_and_validation_shows_what_is_written(tmp_path):
    run = tmp_path / "run"
    tiny_trainer(run, "training.keep_every=3", "training.checkpoint_every=100").run()
    kept = {int(path.name.removeprefix("step-")) for path in (run / "checkpoints").iterdir()}
    assert {3, 6, 9, 12} <= kept
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    samples = [line["samples"] for line in lines if line["kind"] == "valid"]
    assert len(samples) == 2
    for sample in samples[-1]:
        assert sample["source"].startswith("from-")
        assert sorted(sample["order"]) == list(range(len(sample["written"].split())))


def test_a_run_is_not_overwritten(tmp_path):
    for name, advice in (
        ("a run", "continue it with `voi train --resume '.*a run'`, or choose another"),
        ("unsaved", "its run has no checkpoint to continue from; remove it, or choose another"),
        ("other", "choose another folder with --out"),
    ):
        if name == "other":
            (tmp_path / name / "mine").mkdir(parents=True)
        else:
            trainer = tiny_trainer(tmp_path / name, "training.steps=1")
        if name == "a run":
            trainer.run()
            assert f"--resume '{tmp_path}/a run'`" in (tmp_path / name / "README.md").read_text()
        with pytest.raises(CheckpointError, match=f"is not empty: {advice}"):
            tiny_trainer(tmp_path / name)


def test_nothing_to_resume(tmp_path):
    with pytest.raises(CheckpointError, match="nothing to resume in"):
        runs.resume(tmp_path, Quiet())


def test_changed_data_is_noticed(copied):
    path = copied / "data.json"
    path.write_text(path.read_text().replace("train", "trian"))
    with pytest.raises(DataError, match="has changed since it was started"):
        runs.resume(copied, Quiet())


@pytest.mark.parametrize("content", ["{", None, "\udcff"])
def test_damaged_digests_of_the_data_are_named(copied, content):
    path = copied / "data.json"
    path.unlink()
    if content is not None:
        path.write_text(content, errors="surrogateescape")
    with pytest.raises(CheckpointError, match=r"cannot read .*data.json .*: restore it, or start"):
        runs.resume(copied, Quiet())


def test_a_full_disk_leaves_the_last_checkpoint_usable(tmp_path, monkeypatch):
    def fill(progress):
        if progress.step == 6:
            monkeypatch.setattr(checkpoint, "save_file", _no_space)

    settings = ["training.checkpoint_every=4", "training.validate_every=100"]
    with pytest.raises(CheckpointError, match="No space left on device; free space"):
        tiny_trainer(tmp_path / "run", *settings, watcher=Quiet(fill)).run()
    monkeypatch.undo()
    assert runs.resume(tmp_path / "run", Quiet()).run()


@pytest.mark.parametrize("what", ["log", "checkpoint"])
def test_a_full_disk_before_the_first_checkpoint(tmp_path, monkeypatch, what):
    """What to do is the same wherever it is asked."""
    run = tmp_path / "run"
    trainer = tiny_trainer(run)
    if what == "log":
        (run / "metrics.jsonl").mkdir()  # as good as full
    else:
        monkeypatch.setattr(checkpoint, "save_file", _no_space)
    advice = f"start anew with another --out, or remove {run} first"
    with pytest.raises(CheckpointError, match=f", then {advice}") as caught:
        trainer.run()
    assert "Errno" not in str(caught.value)
    with pytest.raises(CheckpointError, match=f"nothing to resume.*; {advice}"):
        runs.resume(run, Quiet())


def _no_space(*arguments):
    raise OSError(28, "No space left on device")


def test_a_phase_may_name_the_order_of_the_experiment(tmp_path):
    """It is the run's own generator that learns then, not another one."""
    phases = 'training.phases=[{order="random", steps=2}, {order="voi", steps=4}]'
    watcher = Quiet()
    trainer = tiny_trainer(tmp_path / "run", phases, watcher=watcher)
    before = {name: x.clone() for name, x in trainer.networks.orders.state_dict().items()}
    assert trainer.run()
    after = trainer.networks.orders.state_dict()
    assert any(not torch.equal(x, after[name]) for name, x in before.items())
    assert watcher.logged[-2]["order_norm"] > 0


def test_the_best_checkpoint_is_of_the_last_phase(tmp_path):
    settings = ["training.phases=[{steps=4}, {steps=4}]", "training.validate_every=2"]
    trainer = tiny_trainer(tmp_path / "run", *settings)
    trainer.validate = lambda networks: {"score": float(-trainer.progress.step)}
    assert trainer.run()
    assert checkpoint.pointed(tmp_path / "run", "best").name == "step-00000006"


def test_a_checkpoint_that_is_last_and_best_is_written_once(tmp_path, monkeypatch):
    written = []
    save = checkpoint.save
    monkeypatch.setattr(
        checkpoint, "save", lambda folder, *rest: (written.append(folder.name), save(folder, *rest))
    )
    settings = ["training.validate_every=3", "training.checkpoint_every=3", "training.steps=6"]
    trainer = tiny_trainer(tmp_path / "run", *settings)
    trainer.validate = lambda networks: {"score": float(trainer.progress.step)}
    assert trainer.run()
    assert written.count("step-00000003") == 1


def test_one_process_trains_in_a_run_folder(tmp_path):
    run, found = tmp_path / "run", []

    class Second(Quiet):
        def validated(self, progress, values):
            for again in (lambda: runs.resume(run, Quiet()), lambda: runs.check_folder(run)):
                with pytest.raises(CheckpointError, match="another process is training in"):
                    again()
                found.append(progress.step)

    assert tiny_trainer(run, "training.checkpoint_every=1", watcher=Second()).run()
    assert found
    assert not list(run.glob(".*"))
    with pytest.raises(CheckpointError, match="continue it with"):
        runs.check_folder(run)


def test_a_process_that_comes_second_leaves_the_log_of_the_first_as_it_is(tmp_path):
    """Both were started before either trained, and stand at the same step."""
    run = tmp_path / "run"
    second = tiny_trainer(run)
    found = '{"kind": "train", "step": 2}\n'
    (run / "metrics.jsonl").write_text(found)  # by the first
    with checkpoint.claimed(run), pytest.raises(CheckpointError, match="another process is"):
        second.run()
    assert (run / "metrics.jsonl").read_text() == found


def test_runs_that_start_at_once_have_folders_of_their_own(tmp_path):
    def folder():
        return runs.free_folder("chain", tmp_path / "runs")

    with folder() as first, folder() as second, folder() as third:
        names = [path.name for path in (first, second, third)]
        assert names == ["chain", "chain-2", "chain-3"]
        for path in (first, second, third):
            runs.check_folder(path)
        (second / "a.txt").touch()
    assert list((tmp_path / "runs").iterdir()) == [second]
    (tmp_path / "file").touch()
    with (
        pytest.raises(CheckpointError, match="cannot write the run folder"),
        runs.free_folder("chain", tmp_path / "file"),
    ):
        pass


def test_a_draft_of_a_killed_checkpoint_is_gone_after_resuming(copied):
    draft = copied / "checkpoints" / ".step-00000002.abc"
    draft.mkdir()
    runs.resume(copied, Quiet())
    assert not draft.exists()
