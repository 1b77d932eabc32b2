"""What a process that trains is set to; a user's own choice of memory is left alone."""

import subprocess
import sys

import pytest
import torch

from small_runs import call, settings_of
from voi.cli.bench import started

SCRIPT = """
import resource, torch
from voi.process import keep_freed_memory
torch.set_num_threads(1)
kept = {keep}
layer, rows = torch.nn.Linear(16, 8192), torch.randn(1280, 16)
def step():
    layer(rows).relu().exp().sum().backward()  # tensors of 40 MiB
def faults(steps):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        step()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // steps
faults(5)
print(kept, faults({steps}))  # the heap settles in a few steps, and seldom grows after
"""


def _run(keep, steps=15, **environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(keep=keep, steps=steps)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    kept, faults = done.stdout.split()
    return kept == "True", int(faults)


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux is asked")
def test_freed_memory_is_not_fetched_again():
    kept, faults = _run("keep_freed_memory()")
    if not kept:
        pytest.skip("this C library is not glibc")
    assert faults < 0.2 * _run("False")[1]


def test_settings_of_a_user_are_left_alone():
    assert _run("keep_freed_memory()", 1, MALLOC_MMAP_THRESHOLD_="65536")[0] is False


def _takes_tiny_numbers_as_zero():
    return (torch.tensor(torch.finfo(torch.float32).tiny) / 2).item() == 0


def test_training_and_benchmarks_are_tuned(monkeypatch, tmp_path, capsys):
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor has no such setting")
    out = ["--out", str(tmp_path / "run")]
    for ask in (
        lambda: call(monkeypatch, "train", "chain", *out, *settings_of()),
        lambda: started(1),
    ):
        torch.set_flush_denormal(False)
        assert not _takes_tiny_numbers_as_zero()
        ask()
        assert _takes_tiny_numbers_as_zero()


TINY = """
import torch
from voi.process import tune_for_training
tune_for_training()
torch.set_num_threads(2)
smallest = torch.full((1_000_000,), torch.finfo(torch.float32).tiny)
print(torch.set_flush_denormal(True), (smallest / 2).count_nonzero().item())
"""


def test_numbers_too_small_are_zero_in_every_thread():
    done = subprocess.run([sys.executable, "-c", TINY], capture_output=True, text=True, check=True)
    is_possible, left = done.stdout.split()
    if is_possible == "False":
        pytest.skip("this processor has no such setting")
    assert int(left) == 0
