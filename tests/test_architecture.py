"""The shape of the code: layers, sizes, names, and how much an import costs."""

import ast
import importlib.metadata
import inspect
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import jaxtyping
import pytest
import torch

import voi

PACKAGE = Path(__file__).parents[1] / "src" / "voi"
FILES = sorted(PACKAGE.rglob("*.py"))

# A module imports lower numbers and its own folder, never its own number or a higher one.
LAYERS = {
    "errors": 0,
    "version": 0,
    "process": 0,
    "atomic": 0,
    "attention": 1,
    "derivatives": 0,
    "claims": 0,
    "foreign": 0,
    "permutation": 0,
    "lines": 1,
    "linear": 1,
    "progress": 0,
    "resampling": 0,
    "tensor_header": 0,
    "extras": 1,
    "devices": 1,
    "world": 1,
    "tables": 1,
    "tensor_file": 2,
    "config": 2,
    "experiments": 3,
    "metrics": 2,
    "analysis": 2,
    "pos": 2,
    "vision": 2,
    "data": 3,
    "tokens": 4,
    "distributions": 4,
    "layers": 4,
    "batch": 5,
    "data_report": 5,
    "trained_on": 5,
    "decoder": 6,
    "orders": 7,
    "search": 7,
    "objective": 8,
    "networks": 8,
    "memory": 9,
    "arguments": 8,
    "likelihood": 9,
    "checkpoint": 9,
    "training": 10,
    "validation": 10,
    "model": 10,
    "learned": 11,
    "prepared": 11,
    "evaluation": 11,
    "plots": 11,
    "distillation": 12,
    "runs": 12,
    "study": 12,
    "bench": 13,
    "serve": 13,
    "cli": 14,
    "__main__": 15,
}


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            first, _, rest = node.module.partition(".")
            if first == "voi":
                found |= {rest.split(".")[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("voi.")}
    return found


def _id(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", [f for f in FILES if f != PACKAGE / "__init__.py"], ids=_id)
def test_imports_point_down(path):
    name = _name(path)
    assert name in LAYERS, f"give {name} a layer"
    for imported in _imports(ast.parse(path.read_text())) - {name}:
        assert LAYERS[imported] < LAYERS[name], f"{name} imports {imported}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_files_and_functions_are_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert path.stem not in ("utils", "helpers")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is long"


def test_most_functions_are_short():
    """The median has at most 15 lines."""
    trees = [ast.parse(path.read_text()) for path in FILES]
    sizes = [
        node.end_lineno - node.lineno + 1
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert statistics.median(sizes) <= 15


@pytest.mark.parametrize("name", voi.__all__)
def test_public_names_are_documented_typed_and_shown(name):
    """Each has a docstring with an example, and so do types of all that is called."""
    public = getattr(voi, name)
    assert ">>> " in inspect.getdoc(public)
    called = [public] if inspect.isfunction(public) else _methods(public)
    for each in called:
        assert inspect.getdoc(each), f"{each.__qualname__} has no docstring"
        signature = inspect.signature(each)
        assert signature.return_annotation is not inspect.Signature.empty, each.__qualname__
        for parameter in signature.parameters.values():
            assert parameter.name in ("self", "cls") or parameter.annotation is not parameter.empty


def _methods(cls: type) -> list:
    """Return the public methods and properties that a class defines itself."""
    found = [value for key, value in vars(cls).items() if not key.startswith("_")]
    found = [getattr(value, "fget", getattr(value, "__func__", value)) for value in found]
    return [value for value in found if inspect.isfunction(value)]


def test_no_postponed_annotations():
    assert not [f for f in FILES if "from __future__ import annotations" in f.read_text()]


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_shapes_are_checked_while_the_tests_run(shape):
    """The matrix of an order is square; only the check of its signature says so here."""
    with pytest.raises(jaxtyping.TypeCheckError):
        voi.permutation.from_matrix(torch.zeros(shape))


def test_importing_voi_is_light():
    code = "import voi, sys; print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_public_names_resolve():
    for name in voi.__all__:
        assert getattr(voi, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        voi.nothing  # noqa: B018


def test_public_names_are_listed():
    modules = ["analysis", "decoder", "distributions", "permutation"]
    assert dir(voi) == sorted([*voi.__all__, *modules, "__version__"])
    plots = importlib.import_module("voi.plots")
    assert dir(plots) == sorted(plots.__all__)


def test_the_version_is_that_of_the_package(monkeypatch):
    stated = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())
    assert voi.__version__ == stated["project"]["version"]

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("voi.version.installed", missing)
    assert voi.__version__ == "unknown"


def test_commands_start_without_any_extra():
    """`voi train` needs none of the optional libraries, nor do the other commands to say so."""
    script = """
import importlib, pathlib, sys
optional = "matplotlib PIL sacrebleu rouge_score pycocoevalcap tokenizers sacremoses nltk HanTa"
for name in (optional + " datasets torchvision tensorboard efficientnet_lite_pytorch").split():
    sys.modules[name] = None  # importing it fails as if it were not installed
import voi.cli
for path in sorted(pathlib.Path(voi.cli.__file__).parent.glob("*.py")):
    importlib.import_module(f"voi.cli.{path.stem}")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
