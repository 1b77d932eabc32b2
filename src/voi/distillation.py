"""Sequence-level distillation: what a trained model writes becomes another's training data."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from voi.analysis import read_traces
from voi.atomic import write_text
from voi.config import SearchConfig
from voi.data import Example, Regions, Task
from voi.data.tasks import chosen_split, split_names
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
    examples = chosen_split(task, split)
    items = [_item(example) for example in examples]
    about = {"checkpoint": weights_digest(model), "split": split}
    outputs = folder / OUTPUTS
    write_outputs(model, items, outputs, search, about, notes(), told)
    texts = [trace.target for trace in read_traces(outputs)]
    written = zip(items, texts, strict=True)
    pairs = {split: [_pair(item, text or item.references[0]) for item, text in written]}
    for other in split_names(task):
        if other != split:
            kept = map(_item, task.split(other))
            pairs[other] = [_pair(item, item.references[0]) for item in kept]
    for name, rows in pairs.items():
        _write(folder / f"{name}.jsonl", rows)
    read = [pair for name, rows in pairs.items() if name != "test" for pair in rows]
    return Distilled(
        num_pairs=len(items),
        num_empty=sum(not text for text in texts),
        has_sources=any(item.source is not None for item in items),
        longest_source=max((len(pair.get("source", "").split()) for pair in read), default=0),
        longest_target=max((len(pair["target"].split()) for pair in read), default=0),
    )


def _write(path: Path, pairs: Iterable[dict[str, str]]) -> None:
    lines = (json.dumps(pair, ensure_ascii=False) for pair in pairs)
    write_text(path, "".join(line + "\n" for line in lines))


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
