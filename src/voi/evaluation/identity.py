"""What a score was made with: which weights, and which version of the program."""

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save

from voi.model import Model

_SHOWN_DIGITS = 12  # of a digest, in signatures
_SOURCE = Path(__file__).parents[2]  # the folder that holds the package
_SHOWN = ("split", "beam", "length_penalty", "max_length", "checkpoint", "voi", "commit")


def weights_digest(model: Model) -> str:
    """Return the SHA-256 of the weights: what `sha256sum networks.safetensors` prints."""
    weights = model.networks.state_dict()
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    return hashlib.sha256(save(plain)).hexdigest()


def commit() -> str | None:
    """Return the commit of the checkout this program runs from; None for an installed package."""
    if _SOURCE.name != "src" or not (_SOURCE.parent / ".git").exists():
        return None
    try:
        changes = _git("status", "--porcelain", "--", "src")
        return _git("rev-parse", "--short", "HEAD") + ("+changes" if changes else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_SOURCE.parent), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def notes() -> dict[str, str]:
    """Return what is stored beside results and not compared: the commit, if it is known."""
    found = commit()
    return {} if found is None else {"commit": found}


def signature(about: Mapping[str, Any]) -> str:
    """Return the part of a signature that says where texts come from.

    >>> signature({"split": "test", "beam": 5, "checkpoint": "0123456789abcdef", "task": "x"})
    'split:test|beam:5|checkpoint:0123456789ab'
    """
    shown = {key: about[key] for key in _SHOWN if about.get(key) is not None}
    if "checkpoint" in shown:
        shown["checkpoint"] = str(shown["checkpoint"])[:_SHOWN_DIGITS]
    return "|".join(f"{key}:{value}" for key, value in shown.items())
