"""A split -> what a model writes for it, one trace per line, kept while it is written."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from voi.analysis import to_record
from voi.config import SearchConfig
from voi.data import Example, Regions, Source, grouped
from voi.data.example import source_text
from voi.evaluation.conventions import Conventions
from voi.evaluation.journal import Journal
from voi.model import Model
from voi.progress import Told, untold
from voi.search import Hypothesis

References = tuple[tuple[str, ...], ...]

BATCH_SIZE = 32


@dataclass(frozen=True)
class Item:
    """A source to write for, with every accepted target."""

    source: Source
    references: tuple[str, ...]
    published: tuple[str, ...] | None  # with <unk> for words the model does not know; code only

    @property
    def identity(self) -> dict[str, Any]:
        """The values by which a stored line is recognised as this item's."""
        is_image = isinstance(self.source, Regions)
        parts: dict[str, Any] = {"image": str(self.source)} if is_image else {"source": self.source}
        parts |= {"reference": self.references[0], "references": list(self.references)}
        return parts if self.published is None else parts | {"published": list(self.published)}


@dataclass(frozen=True)
class Outputs:
    """What one system wrote, in the order of the split, and what it should have written."""

    name: str
    hypotheses: tuple[str, ...]
    references: References
    published: References | None
    about: Mapping[str, Any]  # checkpoint, split, beam and so on, as far as they are known
    accepted: References | None = None  # references, and the hypothesis where its task accepts it


def items_of(examples: Sequence[Example], conventions: Conventions, limit: int = 0) -> list[Item]:
    """Return what is to be decoded: an image once, a text as often as it stands in the split."""
    numbers = range(len(examples))
    if limit and not isinstance(examples[0].source, Regions):  # captions of an image lie apart
        numbers = numbers[:limit]
    entries = grouped(examples[i] for i in numbers)
    return [_item(source, texts, conventions) for source, texts in entries[: limit or None]]


def _item(source: Source, texts: Sequence[str], conventions: Conventions) -> Item:
    published = None
    if conventions.kind == "code":
        published = tuple(conventions.published(text, source) for text in texts)
    return Item(source, tuple(map(conventions.reference, texts)), published)


def write_outputs(
    model: Model,
    items: Iterable[Item],
    total: int,
    path: Path,
    search: SearchConfig,
    about: Mapping[str, Any],
    notes: Mapping[str, Any],
    told: Told = untold,
    batch_size: int = BATCH_SIZE,
) -> None:
    """Write the best hypothesis of every item, `total` in all, to a trace file.

    Items are taken one batch at a time, and what is written is not held in memory. Lines stand in
    the order of the items. What is in the file already is checked and not written again. The file
    has the format of docs/orders.md, "Trace files", with the keys `references`, `published` (code
    only) and `image` (images only) beside it.
    """
    journal = Journal(path, {**about, **dataclasses.asdict(search)}, notes)
    remaining = iter(items)
    journal.check(item.identity for item in islice(remaining, journal.num_records))
    told("decoding", min(journal.num_records, total), total)
    while part := list(islice(remaining, batch_size)):
        found = model.generate([item.source for item in part], **dataclasses.asdict(search))
        pairs = zip(part, (best for best, *_ in found), strict=True)
        journal.append(_record(item, hypothesis) for item, hypothesis in pairs)
        told("decoding", journal.num_records, total)


def _record(item: Item, hypothesis: Hypothesis) -> dict[str, Any]:
    return {**to_record(hypothesis.to_trace(source_text(item.source))), **item.identity}
