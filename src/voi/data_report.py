"""What a data set is like: sizes, lengths, unknown words, repetitions, overlap of its splits."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64, UInt64

from voi.config import DataConfig
from voi.data.example import Example, Regions, Source, Task, place_of
from voi.data.keys import pair_key
from voi.data.tasks import split_names
from voi.errors import DataError
from voi.tokens.codec import Codec, build_codec
from voi.tokens.config import unknown_advice
from voi.tokens.learnable import copying_advice
from voi.tokens.limits import Limit, advice, limits_of, problems
from voi.tokens.vocabulary import UNK


@dataclass(frozen=True)
class Lengths:
    """Lengths in tokens (of images: in regions)."""

    mean: float
    median: float
    p95: float
    longest: int
    longest_place: str  # where it stands in its file, or its index in the split
    num_over: int  # examples over the limit of the configuration


@dataclass(frozen=True)
class SplitReport:
    """One split."""

    name: str
    num_examples: int
    source: Lengths | None  # None: there are no sources
    target: Lengths
    unknown_sources: float  # share of source tokens outside the vocabulary, copied or not
    unknown_targets: float  # share of target tokens outside the vocabulary
    targets_with_unknown: float  # share of targets with at least one such token
    targets_with_copies: float  # share of targets with a token that is copied from the source
    num_repeated: int  # pairs that stand in the split before
    seen_in_train: float  # share of pairs that stand in the training split
    num_short: int  # examples within the limits
    too_long: str = ""  # which examples are over the limits, and what becomes of them


@dataclass(frozen=True)
class Pair:
    """A pair as it is read: its tokens, with spaces between them."""

    place: str  # its file and line, or its index
    source: str  # of an image its name; empty: there is none
    target: str
    hint: str = ""  # what to set if it is none


@dataclass(frozen=True)
class DataReport:
    """All splits of a data set under one configuration."""

    vocabulary_size: int  # specials and tokens reserved for copying included
    num_target_words: int  # of them, in training targets
    splits: tuple[SplitReport, ...]  # train is the first
    first: Pair  # of train
    notes: tuple[str, ...] = ()


def check(task: Task, config: DataConfig) -> DataReport:
    """Return what the splits of a task are like; files are read and checked on the way.

    Pairs are compared as texts, up to white space. A target word that can be copied counts as
    known; a source word outside the vocabulary does not, as copying is all that it is good for.
    """
    names = split_names(task)
    train = _examples(task, "train")
    codec = build_codec(config.tokens, train)
    measured = _measure(train, codec)
    seen = np.unique(measured.keys)
    splits = [_split_report("train", measured, seen, config)]
    for name in names:
        if name != "train":
            measured = _measure(_examples(task, name), codec)
            splits.append(_split_report(name, measured, seen, config))
    notes = [*getattr(task, "notes", ())]
    notes += [f"{split.name}: {split.too_long}" for split in splits if split.too_long]
    advice = _token_advice(splits[0], train, codec, config)
    notes += [advice] if advice else []
    vocabulary = codec.vocabulary
    first = _pair(train, codec, getattr(task, "header_hint", ""))
    words = vocabulary.num_target_words
    return DataReport(len(vocabulary), words, tuple(splits), first, tuple(notes))


def _token_advice(
    train: SplitReport, examples: Sequence[Example], codec: Codec, config: DataConfig
) -> str:
    """Return what training advises about unknown and copied words; empty: nothing."""
    vocabulary = codec.vocabulary
    if train.unknown_targets and not vocabulary.num_target_words:
        return ""  # it stops
    unknown = unknown_advice(train.unknown_targets, codec.config)
    if unknown or not vocabulary.num_copies or train.targets_with_copies:
        return unknown
    return copying_advice(examples, codec, config)


def _pair(examples: Sequence[Example], codec: Codec, hint: str) -> Pair:
    """Return the first of some examples, token by token."""
    example, cut = examples[0], codec.tokenizer
    source = "" if example.source is None else str(example.source)
    if isinstance(example.source, str):
        source = " ".join(cut.source_tokens(source))
    return Pair(place_of(examples, 0), source, " ".join(cut.target_tokens(example.target)), hint)


def _examples(task: Task, name: str) -> Sequence[Example]:
    examples = task.split(name)
    if not len(examples):
        raise DataError(
            f"the {name} split is empty: a task has at least one example in each of its splits"
        )
    return examples


@dataclass
class _Measured:
    """Numbers of one split, example by example."""

    examples: Sequence[Example]
    has_source: bool = False
    source_lengths: array = field(default_factory=lambda: array("q"))
    target_lengths: array = field(default_factory=lambda: array("q"))
    unknown_sources: array = field(default_factory=lambda: array("q"))  # tokens
    unknown_targets: array = field(default_factory=lambda: array("q"))
    copied_targets: array = field(default_factory=lambda: array("q"))
    digests: bytearray = field(default_factory=bytearray)  # 8 bytes each

    @property
    def keys(self) -> UInt64[np.ndarray, " examples"]:
        return np.frombuffer(bytes(self.digests), np.uint64)


def _measure(examples: Sequence[Example], codec: Codec) -> _Measured:
    measured, copies = _Measured(examples), codec.vocabulary.copies
    unseen = {UNK, *copies}
    for index in range(len(examples)):
        example = examples[index]
        encoded = codec.encode(example)
        measured.has_source |= example.source is not None
        measured.source_lengths.append(_source_length(example.source, encoded.source))
        measured.target_lengths.append(len(encoded.target))
        measured.unknown_sources.append(sum(i in unseen for i in encoded.source or ()))
        measured.unknown_targets.append(encoded.target.count(UNK))
        measured.copied_targets.append(sum(i in copies for i in encoded.target))
        measured.digests += pair_key(example)
    return measured


def _source_length(source: Source, ids: list[int] | None) -> int:
    return len(source.features) if isinstance(source, Regions) else len(ids or [])


def _split_report(
    name: str, measured: _Measured, seen: UInt64[np.ndarray, " different"], config: DataConfig
) -> SplitReport:
    source_lengths, target_lengths, unknown_sources, unknown_targets, copied_targets = (
        np.frombuffer(numbers, np.int64)
        for numbers in (
            measured.source_lengths,
            measured.target_lengths,
            measured.unknown_sources,
            measured.unknown_targets,
            measured.copied_targets,
        )
    )
    limits = limits_of(config)
    is_short = (source_lengths <= limits[0].most) & (target_lengths <= limits[1].most)
    leaves_out = config.long_examples == "skip" and name != "test" and is_short.any()
    is_used = is_short | (not leaves_out)  # shares are of what training reads
    source = _lengths(source_lengths, limits[0], measured.examples)
    target = _lengths(target_lengths, limits[1], measured.examples)
    return SplitReport(
        name=name,
        num_examples=len(target_lengths),
        source=source if measured.has_source else None,
        target=target,
        unknown_sources=_share(unknown_sources[is_used], source_lengths[is_used]),
        unknown_targets=_share(unknown_targets[is_used], target_lengths[is_used]),
        targets_with_unknown=float((unknown_targets[is_used] > 0).mean()),
        targets_with_copies=float((copied_targets[is_used] > 0).mean()),
        num_repeated=len(measured.keys) - len(np.unique(measured.keys)),
        seen_in_train=float(np.isin(measured.keys, seen).mean()),
        num_short=int(is_short.sum()),
        too_long=_too_long(name, limits, measured.examples, config.long_examples == "error"),
    )


def _share(part: Int64[np.ndarray, " examples"], whole: Int64[np.ndarray, " examples"]) -> float:
    return float(part.sum() / max(1, whole.sum()))


def _too_long(
    name: str, limits: Sequence[Limit], examples: Sequence[Example], is_error: bool
) -> str:
    """Return which examples of a split are too long, and what becomes of them.

    Limits are those of training: what evaluates a split takes it whole (ANY_LENGTH).
    """
    text = problems(limits, examples)
    if not text:
        return ""
    if name == "test":
        return f"{text}: test examples are scored whole, none is left out"
    return f"{text}: {advice(limits)}" if is_error else f"{text}: training leaves them out"


def _lengths(
    lengths: Int64[np.ndarray, " examples"], limit: Limit, examples: Sequence[Example]
) -> Lengths:
    for index in np.flatnonzero(lengths > limit.most):
        limit.add(int(lengths[index]), int(index))
    median, p95 = np.quantile(lengths, [0.5, 0.95])
    return Lengths(
        mean=float(lengths.mean()),
        median=float(median),
        p95=float(p95),
        longest=int(lengths.max()),
        longest_place=place_of(examples, int(lengths.argmax())).rpartition(", ")[2],
        num_over=limit.num_over,
    )


def report_rows(report: DataReport) -> list[tuple[str, ...]]:
    """Return the report as a table of texts: a heading, then one row per property."""
    splits = report.splits
    rows = [("", *(split.name for split in splits))]
    rows.append(("examples", *(f"{split.num_examples:,}" for split in splits)))
    for side in ("source", "target"):
        lengths = [getattr(split, side) for split in splits]
        rows += [(f"{side} {label}", *texts) for label, *texts in _length_rows(lengths)]
    shares = {
        "unknown source tokens": [split.unknown_sources for split in splits],
        "unknown target tokens": [split.unknown_targets for split in splits],
        "targets with unknown tokens": [split.targets_with_unknown for split in splits],
        "targets with copied tokens": [split.targets_with_copies for split in splits],
    }
    rows += [(label, *(f"{share:.1%}" for share in values)) for label, values in shares.items()]
    rows.append(("repeated pairs", *(f"{split.num_repeated:,}" for split in splits)))
    rows.append(("pairs seen in train", "", *(f"{s.seen_in_train:.1%}" for s in splits[1:])))
    rows.append(("vocabulary", f"{report.vocabulary_size:,}", *[""] * (len(splits) - 1)))
    return rows


def _length_rows(lengths: Sequence[Lengths | None]) -> list[tuple[str, ...]]:
    def row(label: str, form: str) -> tuple[str, ...]:
        return (label, *("none" if x is None else form.format(x) for x in lengths))

    return [
        row("length, mean", "{0.mean:.1f}"),
        row("length, median", "{0.median:g}"),
        row("length, 95 %", "{0.p95:g}"),
        row("length, longest", "{0.longest} ({0.longest_place})"),
        row("over the limit", "{0.num_over:,}"),
    ]
