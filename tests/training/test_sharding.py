"""Networks divided over two real processes: the same run, half of everything, plain checkpoints."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

import voi
from small_runs import Quiet, tiny_trainer
from torchrun import call_processes, logged, losses, train_each
from voi import checkpoint, runs

PHASES = """training.phases=[
    {name="shared", steps=6, share=true},
    {name="separate", steps=6, align=10.0},
    {name="frozen", steps=4, freeze_orders=true, fresh_decoder=true, share=false},
    {name="by turns", steps=4, alternate=[1, 1]},
]""".replace("\n", "")
RUN = [
    *("training.log_every=1", "training.accumulate=2", "decoder.dropout=0.1", "order.dropout=0.1"),
    *("training.checkpoint_every=8", "training.keep_every=8"),
]
SHARD = "training.shard=true"
ORDERS = ["training.split=orders", "training.recompute=true"]
SEARCHED = ["order.kind=sao", "training.num_orders=1", "training.steps=6"]
ESTIMATORS = ["ppo", "reinforce"]
MIDDLE = 8  # a step of the second phase

# Goes on with a run of whole networks in parts, and prints what each process holds of them.
SCRIPT = """
import dataclasses, json, sys
from pathlib import Path
from small_runs import Quiet
from voi import checkpoint, runs
from voi.training.optimiser import Optimiser
from voi.world import World, whole

def divided(folder, load=checkpoint.load):
    loaded = load(folder)
    training = dataclasses.replace(loaded.experiment.training, shard=True)
    return dataclasses.replace(
        loaded, experiment=dataclasses.replace(loaded.experiment, training=training))

def step(self, rate, step=Optimiser.step):
    grads = [p.grad for p in self.parameters if p.grad is not None]
    shares["gradients"] = max(shares.get("gradients", 0), share(grads))
    return step(self, rate)

def share(tensors):
    return sum(x.to_local().numel() for x in tensors) / sum(x.numel() for x in tensors)

shares = {}
checkpoint.load, Optimiser.step = divided, step
run, world = Path(sys.argv[1]), World.join()
trainer = runs.resume(run, Quiet(), world)
stored = checkpoint.load_state(checkpoint.pointed(run, "last")).tensors
restored = trainer._state().tensors
assert stored.keys() == restored.keys()
assert all(whole(restored[name]).equal(x) for name, x in stored.items())
assert trainer.run()
shares["parameters"] = share(list(trainer.networks.parameters()))
moments = [x for name, x in trainer._state().tensors.items() if not name.endswith("step")]
shares["moments"] = share(moments)
shares["memory"] = sum(x.to_local().untyped_storage().nbytes() for x in moments) / sum(
    x.numel() * x.element_size() for x in moments)
Path(f"{run}.{world.rank}.json").write_text(json.dumps(shares))
world.leave()
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with runs of one process and of two that divide the networks or copy them."""
    folder = tmp_path_factory.mktemp("sharding")
    alone = {"alone": [PHASES], "searched": [*SEARCHED, SHARD]}
    together = {"divided": [PHASES, SHARD], "searched-divided": [*SEARCHED, SHARD]}
    for estimator in ESTIMATORS:
        orders = [*ORDERS, f"objective.estimator={estimator}"]
        together |= {f"{estimator}-divided": [*orders, SHARD], f"{estimator}-copied": orders}
    for name, settings in alone.items():
        assert tiny_trainer(folder / name, *RUN, *settings).run()
    done = train_each({folder / name: [*RUN, *x] for name, x in together.items()})
    assert done.returncode == 0, done.stderr
    return folder


def _from_the_middle(run, to):
    """Return a copy of a run that stands at an earlier checkpoint."""
    shutil.copytree(run, to)
    checkpoint.point(to, "last", to / "checkpoints" / f"step-{MIDDLE:08d}")
    return to


def test_all_phases_give_the_same_losses_and_norms(finished):
    alone, divided = losses(finished / "alone"), losses(finished / "divided")
    assert len(alone) == 20
    assert divided == pytest.approx(alone, abs=1e-5)
    for norm in ("decoder_norm", "order_norm"):  # Adam itself forgives a wrong scale
        norms = [logged(finished / name, "train", norm) for name in ("alone", "divided")]
        assert norms[1] == pytest.approx(norms[0], rel=1e-3, abs=1e-6), norm


def test_checkpoints_are_the_ordinary_ones(finished):
    ours, theirs = (checkpoint.pointed(finished / name, "last") for name in ("divided", "alone"))
    for file in ("networks.safetensors", "state.safetensors"):
        found, expected = load_file(ours / file), load_file(theirs / file)
        assert {k: x.shape for k, x in found.items()} == {k: x.shape for k, x in expected.items()}
    ours, theirs = (load_file(folder / "networks.safetensors") for folder in (ours, theirs))
    differences = torch.cat([(ours[name] - x).abs().flatten() for name, x in theirs.items()])
    # Adam makes much of gradients that are zero but for rounding, as some hundredth of them is.
    most = differences.sort().values[: int(0.99 * len(differences))]
    assert most.mean() < 1e-6
    assert differences.mean() < 1e-4  # an update fewer makes 1.6e-3
    model = voi.load(finished / "divided")
    assert len(model.generate(["a b c"])) == 1


def test_validation_sees_the_whole_networks(finished):
    alone, divided = (logged(finished / name, "valid", "elbo") for name in ("alone", "divided"))
    assert len(alone) == 4  # of which one while sharing
    assert divided == pytest.approx(alone, abs=1e-4)


def test_one_process_goes_on_with_a_divided_run(finished, tmp_path):
    run = _from_the_middle(finished / "divided", tmp_path / "run")
    assert runs.resume(run, Quiet()).run()
    assert losses(run) == pytest.approx(losses(finished / "alone"), abs=1e-5)


def test_processes_divide_a_run_of_one_and_hold_half_each(finished, tmp_path):
    run = _from_the_middle(finished / "alone", tmp_path / "run")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = call_processes(script, run)
    assert done.returncode == 0, done.stderr
    assert losses(run) == pytest.approx(losses(finished / "alone"), abs=1e-5)
    held = [json.loads((tmp_path / f"run.{rank}.json").read_text()) for rank in (0, 1)]
    for name in ("parameters", "gradients", "moments", "memory"):
        assert [share[name] for share in held] == pytest.approx([0.5, 0.5], abs=0.03), name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_divided_orders(finished, estimator):
    """Each process has its own orders of all batches: two are compared with two."""
    folders = [finished / f"{estimator}-{kind}" for kind in ("divided", "copied")]
    for name, error in (("loss", 1e-5), ("decoder_norm", 1e-3), ("order_norm", 1e-3)):
        divided, copied = (logged(folder, "train", name) for folder in folders)
        assert divided == pytest.approx(copied, abs=error), name


def test_searched_orders(finished):
    divided, alone = (losses(finished / name) for name in ("searched-divided", "searched"))
    assert len(alone) == 6
    assert divided == pytest.approx(alone, abs=1e-5)
