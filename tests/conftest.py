"""Shapes in signatures are checked while the tests run."""

import os
import signal
from pathlib import Path

import jaxtyping

SOURCE = Path(__file__).parents[1] / "src"
SHAPED = [  # elsewhere there are types alone, which mypy checks: calls would be many times slower
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted(SOURCE.rglob("*.py"))
    if "from jaxtyping import" in path.read_text("utf-8")
]
jaxtyping.install_import_hook(SHAPED, "beartype.beartype")

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

from chance import NUM_SEEDS, shift_seeds  # noqa: E402

hypothesis.settings.register_profile("voi", deadline=None)  # the machine may be busy
hypothesis.settings.load_profile("voi")
torch.set_num_threads(int(os.environ.get("VOI_TEST_THREADS", "1")))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it


def pytest_generate_tests(metafunc):
    """VOI_TEST_SEEDS=20: every statistical test runs 20 times, each time with other seeds."""
    if NUM_SEEDS and metafunc.definition.get_closest_marker("statistical"):
        metafunc.fixturenames.append("other_seeds")
        seeds = range(1, NUM_SEEDS + 1)
        metafunc.parametrize("other_seeds", seeds, indirect=True, ids=lambda seed: f"seed{seed}")


@pytest.fixture
def other_seeds(request, monkeypatch):
    shift_seeds(monkeypatch, request.param)


@pytest.fixture(autouse=True)
def _full_precision():
    """What training sets for its process ends with the test that ran it."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a tiny run at its end, of 12 steps; tests that change it take a copy."""
    return _trained(tmp_path_factory)


@pytest.fixture(scope="session")
def briefly_trained(tmp_path_factory):
    """The folder of a tiny run of 2 steps, with one checkpoint; tests that change it copy it."""
    return _trained(tmp_path_factory, "training.steps=2")


def _trained(tmp_path_factory, *settings):
    from small_runs import tiny_trainer

    folder = tmp_path_factory.mktemp("trained") / "run"
    assert tiny_trainer(folder, *settings).run()
    return folder


@pytest.fixture
def unchecked():
    """Let arguments pass that the checks of the tests would refuse, as they do for a user."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
