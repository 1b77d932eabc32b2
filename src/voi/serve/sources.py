"""What the page offers as sources: examples of the run's task, and its images by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from voi.data import Example, ImageTask, Regions, Source, Task
from voi.data.tasks import split_names
from voi.errors import DataError, MissingExtraError, VoiError
from voi.model import Model
from voi.study.pictures import Pictures, data_uri, pictures_of

MOST_EXAMPLES = 50  # to choose from
MOST_IMAGES = 300


@dataclass(frozen=True)
class Sources:
    """The sources that a request may name; of images only those of the valid and test splits."""

    kind: Literal["text", "image", "none"]
    examples: Sequence[Example] = ()
    images: Mapping[str, Regions] = field(default_factory=dict)
    pictures: Pictures = lambda name: None
    note: str = ""  # why there are no examples

    def find(self, name: str) -> Source:
        """Return the source that a request means."""
        if self.kind != "image":
            return name or None
        if name not in self.images:
            known = next(iter(self.images))
            raise DataError(f"expected the name of an image such as {known}, got {name!r}")
        return self.images[name]

    def image(self, name: str) -> dict[str, Any]:
        """Return an image as the page draws it: its pixels, if there are any, and its boxes."""
        if self.kind != "image":
            raise DataError("this run has no images: its sources are text")
        regions = self.find(name)
        assert isinstance(regions, Regions)
        return {
            "name": name,
            "image": self._pixels(name),
            "boxes": regions.boxes.astype(float).round(4).tolist(),
            "labels": list(regions.labels),
        }

    def _pixels(self, name: str) -> str:
        picture = self.pictures(name)
        try:
            return "" if picture is None else data_uri(picture)
        except MissingExtraError:  # boxes alone are shown
            return ""

    def to_table(self) -> dict[str, Any]:
        """Return what the page needs to know of them."""
        return {
            "source": self.kind,
            "examples": [
                {"source": None if x.source is None else str(x.source), "target": x.target}
                for x in self.examples
            ],
            "images": list(self.images)[:MOST_IMAGES],
            "note": self.note,
        }


def sources_of(model: Model) -> Sources:
    """Return the sources of a run's task; a run of texts can do without its data."""
    if model.reads_images:
        return _images(model.task(), model.experiment.data.task)
    try:
        task = model.task()
        split = task.split("valid")
        examples = [split[i] for i in range(min(MOST_EXAMPLES, len(split)))]
    except (VoiError, OSError) as error:
        return Sources("text", note=f"no examples: {error}")
    is_text = any(isinstance(example.source, str) for example in examples)
    return Sources("text" if is_text or not examples else "none", examples)


def _images(task: Task, name: str) -> Sources:
    if not isinstance(task, ImageTask):
        raise DataError(
            f"this run describes images, and its task {name} does not name any: use "
            f"voi.load(run).generate with regions"
        )
    first: dict[str, Example] = {}
    for example in _held_out(task):
        first.setdefault(str(example.source), example)
    if not first:
        raise DataError(f"this run describes images, and its task {name} has none to choose from")
    images = {
        image: example.source
        for image, example in first.items()
        if isinstance(example.source, Regions)
    }
    examples = list(first.values())[:MOST_EXAMPLES]
    return Sources("image", examples, images, pictures_of(task))


def _held_out(task: Task) -> Iterator[Example]:
    for split in ("valid", "test"):
        if split in split_names(task):
            examples = task.split(split)
            yield from (examples[i] for i in range(len(examples)))
