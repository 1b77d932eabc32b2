"""Real processes under torchrun: the same run as one process, and what happens if one is lost."""

import os
import signal
import subprocess
import time

import pytest

from small_runs import settings_of
from torchrun import call_processes, command, environment, logged, losses, train

CURVE = ["training.steps=20", "training.log_every=1", "training.accumulate=2"]


def test_two_processes_are_one_with_the_same_global_batch(tmp_path):
    done = [train(n, tmp_path / str(n), *CURVE, "decoder.dropout=0.1") for n in (1, 2)]
    assert [one.returncode for one in done] == [0, 0], done[-1].stderr
    alone, together = (losses(tmp_path / str(n)) for n in (1, 2))
    assert len(alone) == 20
    assert together == pytest.approx(alone, abs=1e-5)


def test_a_lost_process_stops_the_run_and_one_alone_goes_on(tmp_path):
    """Processes are killed, not asked; what is resumed equals what was never stopped."""
    settings = [*CURVE, "training.steps=120", "training.checkpoint_every=5"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert train(1, whole, *settings).returncode == 0
    line = command(2, "-m", "voi", "train", "chain", *settings_of(*settings), "--out", run)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment()) as job:
        while not (run / "last.json").exists():
            assert job.poll() is None
            time.sleep(0.05)
        os.kill(_workers(job.pid)[-1], signal.SIGKILL)
        said = job.communicate(timeout=120)[1]
    assert job.returncode != 0
    assert "SIGKILL" in said  # torchrun names the process that went
    assert len(losses(run)) < 120
    assert call_processes(1, "-m", "voi", "train", "--resume", run).returncode == 0
    assert losses(run) == pytest.approx(losses(whole), abs=1e-4)


def _workers(parent):
    listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def test_divided_orders_are_those_of_one_process(tmp_path):
    """The generator has dropout: all processes must still draw from one law."""
    settings = ["training.split=orders", "training.num_orders=4", "order.dropout=0.3"]
    settings += ["order.token_dropout=0.3", "training.share=false"]
    done = [train(n, tmp_path / str(n), *CURVE, *settings) for n in (1, 2)]
    assert [one.returncode for one in done] == [0, 0], done[-1].stderr
    for name in ("loss", "decoder_norm", "order_norm"):
        alone, together = (logged(tmp_path / str(n), "train", name) for n in (1, 2))
        assert together == pytest.approx(alone, rel=1e-3, abs=1e-5), name


def test_what_cannot_be_divided_is_refused(tmp_path):
    done = train(2, tmp_path / "run", "training.accumulate=3")
    assert done.returncode != 0
    assert "set training.accumulate to a multiple of 2, got 3" in done.stderr
    assert not (tmp_path / "run").exists()
