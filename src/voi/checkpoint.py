"""Model folders: weights, resolved experiment and codec; loading needs the folder alone.

    experiment.json  codec.json  networks.safetensors  manifest.json

A checkpoint is a model folder with the state of training beside it. The manifest holds the size and
SHA-256 of every file, so that a truncated copy is found before it is used. Nothing is pickled.
"""

import difflib
import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from voi.atomic import atomic_folder, write_text
from voi.claims import alone
from voi.config import Experiment, experiment
from voi.errors import CheckpointError, VoiError, unwritten
from voi.networks import Networks, undrawn
from voi.tables import to_table
from voi.tensor_file import gather_all, save_file
from voi.tokens import Codec

FORMAT = 1
_UNFIT = (AttributeError, LookupError, TypeError, ValueError, RuntimeError, SafetensorError)
_EXPERIMENT, _CODEC, _WEIGHTS = "experiment.json", "codec.json", "networks.safetensors"
_STATE, _TENSORS = "state.json", "state.safetensors"
RESULTS = "evaluation"  # the folder that `voi evaluate` makes beside a model


@dataclass(frozen=True)
class TrainingState:
    """What is needed, beside the weights, to go on as if training had never stopped."""

    values: Mapping[str, Any]  # plain numbers and strings
    tensors: Mapping[str, Tensor]  # optimiser moments


@dataclass(frozen=True)
class Checkpoint:
    """A model as read from a folder."""

    experiment: Experiment
    codec: Codec
    networks: Networks
    folder: Path | None = None  # where it was read from


def save(
    folder: Path,
    config: Experiment,
    codec: Codec,
    networks: Networks,
    state: TrainingState | None = None,
) -> None:
    """Write a model folder atomically; an existing one is replaced only when all is written."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(folder) as draft:
            _write_json(draft / _EXPERIMENT, to_table(config))
            _write_json(draft / _CODEC, codec.to_table())
            save_file(networks.weights(), draft / _WEIGHTS)
            if state is not None:
                _write_json(draft / _STATE, dict(state.values))
                save_file(state.tensors, draft / _TENSORS)
            files = {path.name: _digest(path) for path in sorted(draft.iterdir())}
            manifest = {"format": FORMAT, "region_size": networks.region_size, "files": files}
            _write_json(draft / "manifest.json", manifest)
    except (OSError, SafetensorError) as error:
        advice = " or choose another folder"
        if state is not None:  # of a run, in its folder of checkpoints
            advice = f", then {way_on(folder.parent.parent)}"
        raise CheckpointError(
            f"cannot write checkpoint {folder}: {unwritten(error)}{advice}"
        ) from error


def check_replaceable(folder: Path) -> None:
    """Raise where a model saved to a folder would take the place of anything but a model.

    Results of `voi evaluate` in it are those of the old model: whether they go, its user says.
    """
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {folder.name}
    try:
        others = names - {"manifest.json", *_manifest(folder)["files"]}
    except CheckpointError:
        others = names
    if others == {RESULTS} and any((folder / RESULTS).glob("*/*.about.json")):
        raise CheckpointError(
            f"{folder} holds results of voi evaluate for the model that is there: remove "
            f"{folder / RESULTS}, or choose another folder"
        )
    if others:
        raise CheckpointError(
            f"{folder} is there already and holds something else than a model "
            f"({', '.join(sorted(others)[:3])}): choose another folder"
        )


@contextmanager
def claimed(run: Path) -> Iterator[None]:
    """Have a run folder for this process alone; if another one is training there, raise."""
    with alone(run / _EXPERIMENT, is_waiting=False) as is_mine:
        if not is_mine:
            raise CheckpointError(
                f"another process is training in {run}: wait until it has ended, or choose another "
                f"folder with --out"
            )
        yield


def way_on(run: Path) -> str:
    """Return how to go on with a run: from a checkpoint, or anew where there is none yet."""
    if has_checkpoint(run):
        return f"continue with `voi train --resume {shlex.quote(str(run))}`"
    return f"start anew with another --out, or remove {run} first"


def has_checkpoint(run: Path) -> bool:
    """Return whether there is something to resume in a run folder."""
    return any((run / f"{name}.json").is_file() for name in ("last", "best"))


def take_part(networks: Networks, state: TrainingState) -> None:
    """Send the parts of tensors that this process holds to the one that saves."""
    gather_all(networks.weights())
    gather_all(state.tensors)


def load(folder: Path, device: str = "cpu") -> Checkpoint:
    """Return the model of a model folder, in evaluation mode."""
    manifest = _manifest(folder)
    _check_files(folder, manifest, [_EXPERIMENT, _CODEC, _WEIGHTS])  # no state is needed
    with _fitting(folder):
        config = experiment(_read_json(folder / _EXPERIMENT))
        codec = Codec.from_table(_read_json(folder / _CODEC))
        with undrawn():
            networks = Networks.of(config, codec, manifest["region_size"])
        networks.load_state_dict(load_file(folder / _WEIGHTS), assign=True)
    return Checkpoint(config, codec, networks.to(device).eval(), folder)


def load_experiment(folder: Path) -> Experiment:
    """Return the experiment of a model folder; no other file of it is read, nor checked."""
    _check_files(folder, _manifest(folder), [_EXPERIMENT])
    with _fitting(folder):
        return experiment(_read_json(folder / _EXPERIMENT))


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    """Turn what goes wrong while a model is built from its files into a CheckpointError."""
    try:
        yield
    except (*_UNFIT, VoiError) as error:
        raise CheckpointError(
            f"{folder} does not fit its own {_EXPERIMENT} ({_reason(error)}): it was made by "
            f"another version or changed by hand; train again or restore the folder"
        ) from error


def load_state(folder: Path) -> TrainingState:
    """Return the training state stored beside a model."""
    manifest = _manifest(folder)
    if _STATE not in manifest["files"]:
        raise CheckpointError(f"{folder} holds a model but no training state: it cannot be resumed")
    _check_files(folder, manifest, [_STATE, _TENSORS])
    return TrainingState(_read_json(folder / _STATE), load_file(folder / _TENSORS))


def point(run: Path, name: str, folder: Path) -> None:
    """Let `run/name.json` point to one of the run's checkpoints."""
    table = {"checkpoint": f"checkpoints/{folder.name}"}
    write_text(run / f"{name}.json", json.dumps(table) + "\n")


def pointed(run: Path, name: str) -> Path | None:
    """Return the checkpoint that `run/name.json` points to, if there is one."""
    path = run / f"{name}.json"
    if not path.is_file():
        return None
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        table = None
    if not isinstance(table, dict) or not isinstance(table.get("checkpoint"), str):
        raise CheckpointError(f"{path} names no checkpoint: remove it or restore it")
    return run / table["checkpoint"]


def run_of(folder: Path) -> Path:
    """Return the run folder that a checkpoint belongs to; of another model folder itself.

    >>> run_of(Path("runs/chain/checkpoints/step-00001500")).as_posix()
    'runs/chain'
    """
    return folder.parent.parent if folder.parent.name == "checkpoints" else folder


def find(path: Path) -> Path:
    """Return the model folder meant by a path: itself, or a run's best or last checkpoint."""
    if (path / "manifest.json").is_file():
        return path
    found = pointed(path, "best") or pointed(path, "last") if path.is_dir() else None
    if found is None:
        raise CheckpointError(
            f"no model in {path}: expected a run folder of `voi train` or a model folder with "
            f"manifest.json{_nearest(path)}"
        )
    return found


def _nearest(path: Path) -> str:
    """Return the run of the most similar name in the same folder, if there is one."""
    runs = path.parent.glob("*/last.json") if path.parent.is_dir() else ()
    names = difflib.get_close_matches(path.name, (run.parent.name for run in runs), n=1)
    return f"; did you mean {path.parent / names[0]}?" if names else ""


def _manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a model folder; one that this version cannot use is an error."""
    path = folder / "manifest.json"
    if not path.is_file():
        raise CheckpointError(
            f"no checkpoint in {folder}: manifest.json is missing; {_restored(folder)}"
        )
    manifest = _read_json(path)
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise CheckpointError(
            f"{folder} has format {found}, this version of voi reads {FORMAT}: train again, or "
            f"install the version that made it"
        )
    if not isinstance(manifest.get("files"), dict) or "region_size" not in manifest:
        raise CheckpointError(f"{path} is incomplete: restore it, or take another checkpoint")
    return manifest


def _check_files(folder: Path, manifest: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise where a file is not the one that the manifest describes."""
    for name in names:
        file = folder / name
        if not file.is_file() or _digest(file) != manifest["files"].get(name):
            raise CheckpointError(f"{file} is missing, truncated or changed: {_restored(folder)}")


def _restored(folder: Path) -> str:
    """Return what to do about a damaged folder; other checkpoints of its run are named."""
    if folder.parent.name != "checkpoints":
        return "restore it, or fetch the whole folder again"
    others = [path for path in sorted(folder.parent.glob("step-*")) if path != folder]
    if not others:
        return "restore it, or train again, as the run has no other checkpoint"
    advice = f"restore it, or take another checkpoint of the run: {', '.join(map(str, others))}"
    run = folder.parent.parent
    if pointed(run, "last") == folder and pointed(run, "best") in others:
        advice += f"; training goes on from the best one once {run / 'last.json'} is removed"
    return advice


def _digest(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {
            "bytes": path.stat().st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot read {path} ({error}): restore it") from error


def _reason(error: Exception) -> str:
    """Return the first lines of an error as one: torch names the tensor on its second."""
    return " ".join(line.strip() for line in str(error).strip().splitlines()[:2])
