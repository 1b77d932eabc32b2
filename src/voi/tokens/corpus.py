"""Examples -> Corpus: all ids of a split in flat arrays, small enough for millions of pairs."""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from voi.config import DataConfig
from voi.data.example import Example, Regions, Source, place_of
from voi.errors import DataError
from voi.tokens.codec import Codec
from voi.tokens.limits import advice, limits_of, problems
from voi.tokens.ragged import ArrayWriter, Ragged, RaggedWriter
from voi.tokens.vocabulary import UNK

__all__ = ["Corpus", "CorpusReport", "Ragged", "build_corpus"]


@dataclass(frozen=True)
class Corpus:
    """The examples of a split in ids; at most one of `sources` and `features` is given."""

    targets: Ragged  # int32
    sources: Ragged | None = None  # int32
    features: Ragged | None = None  # float32 [regions, f], one row per different image
    boxes: Ragged | None = None  # float32 [regions, 4]
    image_index: Int64[np.ndarray, " rows"] | None = None  # of `features` and `boxes`
    tags: Ragged | None = None  # int32, parts of speech of the targets' tokens
    origin: Int64[np.ndarray, " rows"] = None  # type: ignore[assignment]  # index of the example

    def __post_init__(self) -> None:
        if self.origin is None:  # nothing was skipped
            object.__setattr__(self, "origin", np.arange(len(self.targets)))

    @classmethod
    def of_sources(
        cls, sources: Sequence[Source], codec: Codec, targets: Ragged, tags: Ragged | None = None
    ) -> "Corpus":
        """Return sources of one kind, texts, regions or None, beside targets in ids.

        Every row of regions is an image of its own, and nothing is checked or left out.
        """
        texts = [source for source in sources if isinstance(source, str)]
        images = [source for source in sources if isinstance(source, Regions)]
        if texts:
            return cls(targets, sources=Ragged.of(map(codec.encode_source, texts)), tags=tags)
        if images:
            features = Ragged.joined([image.features for image in images])
            boxes = Ragged.joined([image.boxes for image in images])
            return cls(targets, features=features, boxes=boxes, tags=tags)
        return cls(targets, tags=tags)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def source_lengths(self) -> Int64[np.ndarray, " rows"]:
        """Source tokens or regions of each row; 0 where there is no source."""
        if self.sources is not None:
            return self.sources.lengths
        if self.features is not None and self.image_index is not None:
            return self.features.lengths[self.image_index]
        return np.zeros(len(self), np.int64)


@dataclass(frozen=True)
class CorpusReport:
    """What became of the examples of a split."""

    num_examples: int  # before any was skipped
    num_skipped_long: int
    longest_source: int  # tokens or regions, of what is used
    longest_target: int  # tokens
    unknown_sources: float  # share of source tokens that are unknown
    unknown_targets: float  # share of target tokens that are unknown
    too_long: str = ""  # which examples were skipped

    def __str__(self) -> str:
        kept = f"{self.num_examples - self.num_skipped_long:,} of {self.num_examples:,} examples"
        lengths = f"longest source {self.longest_source}, longest target {self.longest_target}"
        text = f"{kept} used, {lengths}, {self.unknown_targets:.2%} of target tokens unknown"
        return text + (f"; left out: {self.too_long}" if self.too_long else "")


def build_corpus(
    examples: Sequence[Example], codec: Codec, config: DataConfig, folder: Path | None = None
) -> tuple[Corpus, CorpusReport]:
    """Return the ids of all examples, in memory or mapped from files in `folder`.

    Targets, and sources where they are text, must have at least one token: a pair without a
    source says so by `source = None`. Either every example of a split has a text, or every one
    has regions, or none has a source. Examples over the length limits of `config` are an error
    or are skipped, as `config.long_examples` says.
    """
    with ExitStack() as stack:
        builder = _Builder(examples, codec, config, folder, stack)
        for index in range(len(examples)):
            builder.add(index, examples[index])
        return builder.finish()


@dataclass
class _Builder:
    """Writes examples one by one; what it writes to is removed again by `stack` after an error."""

    examples: Sequence[Example]
    codec: Codec
    config: DataConfig
    folder: Path | None
    stack: ExitStack
    kind: type | None = None  # of all sources
    num_skipped: int = 0
    num_unknown: list[int] = field(default_factory=lambda: [0, 0])  # in sources, in targets

    def __post_init__(self) -> None:
        self.source_limit, self.target_limit = limits_of(self.config)
        self.targets = self._writer("int32", "targets")
        self.origin = ArrayWriter("int64", self.folder and self.folder / "origin.int64")
        self.stack.callback(self.origin.close)
        self.sources: RaggedWriter | None = None
        self.tags: RaggedWriter | None = None
        self.images: _Images | None = None

    def _writer(self, dtype: str, name: str, width: int = 0) -> RaggedWriter:
        return self.stack.enter_context(RaggedWriter(dtype, self.folder, name, width))

    def add(self, index: int, example: Example) -> None:
        encoded = self.codec.encode(example)
        source = example.source if encoded.source is None else encoded.source
        self._check(index, example, encoded.target, source)
        size = len(source.features) if isinstance(source, Regions) else len(source or ())
        fits = self.source_limit.add(size, index)
        if not (self.target_limit.add(len(encoded.target), index) and fits):
            self.num_skipped += 1
            return
        self.targets.append(encoded.target)
        self.origin.extend([index])
        self.num_unknown[1] += encoded.target.count(UNK)
        if encoded.tags is not None:
            self.tags = self.tags or self._writer("int32", "tags")
            self.tags.append(encoded.tags)
        if encoded.source is not None:
            self._add_text(encoded.source)
        elif isinstance(example.source, Regions):
            self._add_regions(index, example.source)

    def _check(self, index: int, example: Example, target: list[int], source: object) -> None:
        kind = type(example.source)
        self.kind = self.kind or kind
        if kind is not self.kind:
            raise DataError(
                f"{place_of(self.examples, index)} has a source of type {kind.__name__}, the "
                f"examples before it of type {self.kind.__name__}: give all examples of a split "
                f"the same kind of source"
            )
        for name, tokens in (("target", target), ("source", source)):
            if tokens == []:
                raise DataError(
                    f"{place_of(self.examples, index)} has a {name} without tokens "
                    f"({getattr(example, name)!r}): remove the example or fill it in"
                )

    def _add_text(self, source: list[int]) -> None:
        self.sources = self.sources or self._writer("int32", "sources")
        self.sources.append(source)
        self.num_unknown[0] += source.count(UNK)

    def _add_regions(self, index: int, regions: Regions) -> None:
        if self.images is None:
            width = regions.features.shape[1]
            features = self._writer("float32", "features", width)
            boxes = self._writer("float32", "boxes", 4)
            rows = ArrayWriter("int64", self.folder and self.folder / "image_index.int64")
            self.stack.callback(rows.close)
            self.images = _Images(width, features, boxes, rows)
        self.images.add(index, regions)

    def finish(self) -> tuple[Corpus, CorpusReport]:
        limits, num_examples = (self.source_limit, self.target_limit), len(self.examples)
        too_long = problems(limits, self.examples)
        if too_long and self.config.long_examples == "error":
            raise DataError(f"{too_long}: {advice(limits)}")
        if self.num_skipped == num_examples:
            raise DataError(f"no examples are left, as {too_long}: raise the limit")
        corpus = self._corpus()
        return corpus, CorpusReport(
            num_examples=num_examples,
            num_skipped_long=self.num_skipped,
            longest_source=int(corpus.source_lengths.max()),
            longest_target=int(corpus.targets.lengths.max()),
            unknown_sources=_share(self.num_unknown[0], corpus.sources),
            unknown_targets=_share(self.num_unknown[1], corpus.targets),
            too_long=too_long,
        )

    def _corpus(self) -> Corpus:
        images = self.images
        return Corpus(
            targets=self.targets.finish(),
            sources=self.sources.finish() if self.sources else None,
            features=images.features.finish() if images else None,
            boxes=images.boxes.finish() if images else None,
            image_index=images.rows.finish() if images else None,
            tags=self.tags.finish() if self.tags else None,
            origin=self.origin.finish(),
        )


def _share(num_unknown: int, tokens: Ragged | None) -> float:
    return num_unknown / max(1, len(tokens.values)) if tokens else 0.0


@dataclass
class _Images:
    """Regions of images, each image once: captions of one image share its row."""

    width: int
    features: RaggedWriter
    boxes: RaggedWriter
    rows: ArrayWriter
    known: dict[bytes, int] = field(default_factory=dict)

    def add(self, index: int, regions: Regions) -> None:
        width = regions.features.shape[1]
        if width != self.width:
            raise DataError(
                f"example {index} has region features of width {width}, the examples before it of "
                f"width {self.width}: extract all features with the same network"
            )
        key = _digest(regions)
        if key not in self.known:
            self.known[key] = len(self.known)
            self.features.append(regions.features)
            self.boxes.append(regions.boxes)
        self.rows.extend([self.known[key]])


def _digest(regions: Regions) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in (regions.features, regions.boxes):
        digest.update(np.ascontiguousarray(part, np.float32).tobytes())
    return digest.digest()
