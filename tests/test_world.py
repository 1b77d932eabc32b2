"""Real processes under torchrun: the same run as one process, and what happens if one is lost."""

import os
import signal
import subprocess
import time

import pytest

from small_runs import Quiet, settings_of, tiny_trainer
from torchrun import command, environment, logged, losses, train_each
from voi import runs

CURVE = [
    *("training.steps=20", "training.log_every=1", "training.accumulate=2"),
    "training.validate_every=1000",  # at the end alone
]
RUNS = {
    "batches": [*CURVE, "decoder.dropout=0.1"],
    "orders": [
        *(*CURVE, "training.split=orders", "training.num_orders=4", "order.dropout=0.3"),
        *("order.token_dropout=0.3", "training.share=false"),
    ],
}


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Return a folder with runs of two processes, and what they said; the last was refused."""
    folder = tmp_path_factory.mktemp("together")
    settings = {**RUNS, "refused": ["training.accumulate=3"]}
    return folder, train_each({folder / name: each for name, each in settings.items()})


def test_two_processes_are_one_with_the_same_global_batch(together, tmp_path):
    assert tiny_trainer(tmp_path / "alone", *RUNS["batches"]).run()
    alone = losses(tmp_path / "alone")
    assert len(alone) == 20
    assert losses(together[0] / "batches") == pytest.approx(alone, abs=1e-5)


def test_a_lost_process_stops_the_run_and_one_alone_goes_on(tmp_path):
    """Processes are killed, not asked; what is resumed equals what was never stopped."""
    settings = [*CURVE, "training.steps=120", "training.checkpoint_every=5"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert tiny_trainer(whole, *settings).run()
    line = command("-m", "voi", "train", "chain", *settings_of(*settings), "--out", run)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment()) as job:
        while not (run / "last.json").exists():
            assert job.poll() is None
            time.sleep(0.05)
        os.kill(_workers(job.pid)[-1], signal.SIGKILL)
        said = job.communicate(timeout=120)[1]
    assert job.returncode != 0
    assert "SIGKILL" in said  # torchrun names the process that went
    assert len(losses(run)) < 120
    assert runs.resume(run, Quiet()).run()
    assert losses(run) == pytest.approx(losses(whole), abs=1e-4)


def _workers(parent):
    listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def test_divided_orders_are_those_of_one_process(together, tmp_path):
    """The generator has dropout: all processes must still draw from one law.

    Adam makes whole steps of gradients that are rounding alone, so two runs of a generator part by
    thousandths within ten updates, and then may draw an order that differs, as some processors'
    do after a dozen. What its own gradients are is compared before that.
    """
    assert tiny_trainer(tmp_path / "alone", *RUNS["orders"]).run()
    for name, updates in (("loss", 20), ("decoder_norm", 20), ("order_norm", 10)):
        folders = (tmp_path / "alone", together[0] / "orders")
        alone, divided = (logged(folder, "train", name) for folder in folders)
        assert len(alone) == 20
        assert divided[:updates] == pytest.approx(alone[:updates], rel=1e-3, abs=1e-5), name


def test_what_cannot_be_divided_is_refused(together):
    folder, done = together
    assert done.returncode != 0
    assert "set training.accumulate to a multiple of 2, got 3" in done.stderr
    assert not (folder / "refused").exists()
