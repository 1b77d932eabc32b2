"""What a run was trained on: digests of its splits in ids, which its data.json keeps."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from voi.config import Experiment
from voi.data import Task
from voi.data.example import Regions, first
from voi.errors import DataError, VoiError
from voi.tokens import Codec, Corpus, build_corpus

DIGESTS = "data.json"  # of a run folder


def digest(corpus: Corpus) -> str:
    """Return what identifies the examples of a split: the SHA-256 of their ids."""
    digest = hashlib.sha256()
    for part in (corpus.targets, corpus.sources, corpus.features, corpus.boxes, corpus.tags):
        if part is not None:
            digest.update(np.ascontiguousarray(part.offsets).data)
            digest.update(np.ascontiguousarray(part.values).data)
    if corpus.image_index is not None:
        digest.update(np.ascontiguousarray(corpus.image_index).data)
    return digest.hexdigest()


def has_changed(run: Path, experiment: Experiment, task: Task, codec: Codec) -> bool:
    """Return whether a task is known to differ from what a run was trained on.

    Of a folder without data.json nothing is known. What training could read and we cannot has
    changed. Of images only valid is compared: the features of a training split may be more than
    memory holds.
    """
    stored = _stored(run / DIGESTS)
    if stored is None:
        return False
    try:
        return any(stored.get(name) != found for name, found in _digests(experiment, task, codec))
    except DataError:
        return True
    except VoiError:  # it cannot be told: a tagger's package is missing
        return False


def _stored(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _digests(experiment: Experiment, task: Task, codec: Codec) -> Iterator[tuple[str, str]]:
    """Yield the digests of what training reads, that of the smaller split first."""
    valid = first(task.split("valid"), experiment.training.valid_examples)
    yield "valid", digest(build_corpus(valid, codec, experiment.data)[0])
    if not isinstance(valid[0].source, Regions):
        yield "train", digest(build_corpus(task.split("train"), codec, experiment.data)[0])
