"""Names that programs outside this repository call: they stay, whether we use them or not."""

import importlib
import subprocess
import sys

import pytest

import voi

NAMES = {
    "voi.permutation": (
        "inverse to_matrix from_matrix insertion_slots from_slots relative_positions"
    ),
    "voi.distributions": (
        "GumbelMatching PlackettLuce MatrixPlackettLuce Uniform Delta "
        "log_permanent_exact log_permanent_bethe"
    ),
    "voi.decoder": "InsertionDecoder",
    "voi.analysis": "normalized_levenshtein order_rank_correlation kendall_tau",
    "voi": "load Hypothesis",
}
METHODS = {
    voi.Hypothesis: "text tokens order slots score",
    voi.Model: "generate infer_order log_likelihood",
    importlib.import_module("voi.decoder").InsertionDecoder: "log_prob step_log_probs",
}
COMMANDS = "train generate evaluate orders show data distill bench serve"


@pytest.mark.parametrize("module", NAMES)
def test_functions_and_classes(module):
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
def test_methods_and_fields(kind):
    fields = {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
    assert [name for name in METHODS[kind].split() if name not in fields] == []


def test_commands():
    done = subprocess.run([sys.executable, "-m", "voi", "--help"], capture_output=True, text=True)
    assert [name for name in COMMANDS.split() if f" {name} " not in done.stdout] == []


@pytest.mark.parametrize("module", [name for name in NAMES if name != "voi"])
def test_modules_are_there_after_a_plain_import(module):
    code = f"import voi; print({module}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == module
