"""Names that programs outside this repository call: they stay, whether we use them or not."""

import importlib
import subprocess
import sys

import pytest

import voi
from small_runs import call

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


def test_commands(monkeypatch, capsys):
    assert call(monkeypatch, "--help") == 0
    lines = capsys.readouterr().out.splitlines()
    first_words = {line.strip("│ ").partition(" ")[0] for line in lines}
    assert set(COMMANDS.split()) <= first_words


def test_modules_are_there_after_a_plain_import():
    """Each is asked for when none of the others has been loaded."""
    modules = [name for name in NAMES if name != "voi"]
    code = """
import sys
for module in sys.argv[1:]:
    import voi
    print(eval(module).__name__)
    for name in [name for name in sys.modules if name.split(".")[0] == "voi"]:
        del sys.modules[name]
"""
    done = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True)
    assert done.stdout.split() == modules
