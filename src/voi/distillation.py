"""Sequence-level distillation: what a trained model writes becomes another's training data."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path

from voi.analysis.traces import each_trace
from voi.atomic import atomic_file
from voi.config import SearchConfig
from voi.data import Example, Regions, Task
from voi.data.tasks import split_names
from voi.errors import DataError
from voi.evaluation.identity import notes, weights_digest
from voi.evaluation.outputs import Item, write_outputs
from voi.model import Model
from voi.progress import Told, untold

OUTPUTS = "outputs.jsonl"  # the model's traces, kept so that a stopped run goes on


@dataclass(frozen=True)
class Distilled:
    """How many pairs a folder got, and for how many of them the model wrote nothing."""

    num_pairs: int
    num_empty: int
    has_sources: bool
    longest_source: int  # in words, of the splits that training reads
    longest_target: int


def distill(
    model: Model,
    task: Task,
    split: str,
    folder: Path,
    search: SearchConfig,
    told: Told = untold,
) -> Distilled:
    """Write a folder of splits: the model's outputs for one split, the others as they are.

    A target the model left empty keeps its reference, as an empty target teaches nothing. Stopped
    and called again, it goes on where it stopped.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / OUTPUTS).exists():
        raise DataError(f"{folder} is not empty and not of voi distill: choose another with --out")
    examples = model.chosen_split(task, split)
    _item(examples[0])  # an error, if it is an image, comes before the work
    about = {"checkpoint": weights_digest(model), "split": split}
    outputs, items = folder / OUTPUTS, map(_item, examples)
    write_outputs(model, items, len(examples), outputs, search, about, notes(), told)
    stored = islice(each_trace(outputs), len(examples))  # more, if the split has lost its last
    texts = (trace.target for trace in stored)
    written = {split: _write(folder / f"{split}.jsonl", examples, texts)}
    for other in split_names(task):
        if other != split:
            kept = task.split(other)
            written[other] = _write(folder / f"{other}.jsonl", kept, repeat("", len(kept)))
    read = [one for name, one in written.items() if name != "test"]
    return Distilled(
        num_pairs=len(examples),
        num_empty=written[split].num_empty,
        has_sources=written[split].has_sources,
        longest_source=max((one.longest_source for one in read), default=0),
        longest_target=max((one.longest_target for one in read), default=0),
    )


@dataclass
class _Written:
    """What was seen of the pairs of one file; lengths are in words."""

    num_empty: int = 0
    has_sources: bool = False
    longest_source: int = 0
    longest_target: int = 0

    def add(self, text: str, pair: Mapping[str, str]) -> None:
        """Note a pair, and the text that was to be its target."""
        self.num_empty += not text
        self.has_sources |= "source" in pair
        self.longest_source = max(self.longest_source, len(pair.get("source", "").split()))
        self.longest_target = max(self.longest_target, len(pair["target"].split()))


def _write(path: Path, examples: Sequence[Example], texts: Iterable[str]) -> _Written:
    """Write each example with its text or, where that is empty, its reference; one at a time."""
    written = _Written()
    # A lone surrogate has no UTF-8 form; its backslash form is its JSON escape.
    with (
        atomic_file(path) as draft,
        draft.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        for item, text in zip(map(_item, examples), texts, strict=True):
            pair = _pair(item, text or item.references[0])
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
            written.add(text, pair)
    return written


def _pair(item: Item, target: str) -> dict[str, str]:
    """Return what a line holds; where nothing is given, there is no source either."""
    source = {} if item.source is None else {"source": str(item.source)}
    return {**source, "target": target}


def _item(example: Example) -> Item:
    if isinstance(example.source, Regions):
        raise DataError(
            "distillation writes pairs of texts, this run's sources are images: train on the "
            "hypotheses that `voi evaluate` keeps instead"
        )
    return Item(example.source, (example.target,), None)
