"""Data sets as published -> a folder of splits that the task "files" reads."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from voi.atomic import atomic_folder, write_text
from voi.data.django_canonical import canonical_pair
from voi.data.files import RECORD, FileTask
from voi.data.published import (
    find_file,
    parallel,
    segments,
    talk_lines,
    text_lines,
    translation_memory,
)
from voi.errors import DataError
from voi.tables import unknown_name

Pairs = Iterable[tuple[str, str]]
Change = Callable[[str, str], tuple[str, str]]


@dataclass(frozen=True)
class Layout:
    """One way in which the files of a data set are laid out."""

    files: str  # what is looked for, for messages
    splits: Callable[[Path], Mapping[str, Pairs] | None]  # None: the folder is not laid out so
    is_published: bool = True  # False: splits of any origin, whose scores are not the data set's


@dataclass(frozen=True)
class PreparedSplit:
    """What was written for one split."""

    num_pairs: int
    num_dropped: int  # pairs with an empty side
    sha256: str  # of both files


@dataclass(frozen=True)
class PreparedData:
    """What was made of the files, stored beside the splits."""

    task: str
    layout: str
    splits: Mapping[str, PreparedSplit]
    note: str = ""  # what must not be said of scores on it


def prepare(task: str, folder: Path, out: Path) -> PreparedData:
    """Write train, valid and test of a published data set as parallel files into `out`.

    White space is one space between words; pairs with an empty side are dropped and counted.
    """
    if task not in LAYOUTS:
        raise DataError(str(unknown_name("data set", task, LAYOUTS)))
    if not folder.is_dir():
        raise DataError(f"no folder {folder}: give the folder that holds the files of {task}")
    _check_out(folder, out)
    layout, splits = _found(task, folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(out) as draft:
        written = {name: _write(draft, name, pairs) for name, pairs in splits.items()}
        note = "" if layout.is_published else _NOTE.format(task=task)
        prepared = PreparedData(task, layout.files, written, note)
        write_text(draft / RECORD, json.dumps(asdict(prepared), indent=1) + "\n")
    return prepared


_NOTE = "made from other files than those published as {task}: never report scores on it as {task}"


def _check_out(folder: Path, out: Path) -> None:
    """Raise the error for a folder that must not be replaced."""
    if folder.resolve().is_relative_to(out.resolve()):
        raise DataError(f"{out} holds the files to be read: choose another folder with --out")
    if out.exists() and not (out / RECORD).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(
            f"{out} exists and was not made by `voi data prepare`: choose another folder with --out"
        )


def _found(task: str, folder: Path) -> tuple[Layout, Mapping[str, Pairs]]:
    for layout in LAYOUTS[task]:
        splits = layout.splits(folder)
        if splits is not None:
            return layout, splits
    wanted = "; or ".join(layout.files for layout in LAYOUTS[task])
    raise DataError(f"{folder} does not hold the files of {task}: expected {wanted}")


def _write(folder: Path, name: str, pairs: Pairs) -> PreparedSplit:
    num_pairs = num_dropped = 0
    paths = [folder / f"{name}.{side}" for side in ("src", "tgt")]
    with paths[0].open("wb") as sources, paths[1].open("wb") as targets:
        for pair in pairs:
            source, target = (" ".join(text.split()) for text in pair)
            if source and target:
                sources.write(source.encode() + b"\n")
                targets.write(target.encode() + b"\n")
                num_pairs += 1
            else:
                num_dropped += 1
    if not num_pairs:
        raise DataError(f"the {name} split holds no pairs: check the files")
    return PreparedSplit(num_pairs, num_dropped, _digest(paths))


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def _parallel_files(
    names: Mapping[str, tuple[str, str]], changes: Mapping[str, Change] | None = None
) -> Layout:
    """Return the layout of parallel files with one name each; a split's pairs may be changed."""

    def splits(folder: Path) -> Mapping[str, Pairs] | None:
        if find_file(folder, names["train"][0]) is None:
            return None
        pairs = {split: _named(folder, *pair) for split, pair in names.items()}
        return {split: _changed(part, (changes or {}).get(split)) for split, part in pairs.items()}

    return Layout(", ".join(name for pair in names.values() for name in pair), splits)


def _named(
    folder: Path, source: str, target: str, read: Callable[[Path], Iterator[str]] = segments
) -> Pairs:
    return parallel(_required(folder, source), _required(folder, target), read)


def _required(folder: Path, name: str) -> Path:
    path = find_file(folder, name)
    if path is None:
        raise DataError(f"{folder} lacks {name}: fetch the whole data set")
    return path


def _changed(pairs: Pairs, change: Change | None) -> Pairs:
    return pairs if change is None else (change(*pair) for pair in pairs)


def _split_files(
    files: str, is_published: bool = False, **options: str | tuple[str, ...]
) -> Layout:
    """Return the layout of a folder of splits that the task "files" reads with these options."""

    def splits(folder: Path) -> Mapping[str, Pairs] | None:
        task = FileTask(folder=str(folder), **options)  # type: ignore[arg-type]
        if not task.has("train"):
            return None
        return {name: _pairs(task, name) for name in task.split_names}

    return Layout(files, splits, is_published)


def _pairs(task: FileTask, name: str) -> Iterator[tuple[str, str]]:
    for example in task.split(name):
        yield str(example.source), example.target


DJANGO_LINES: Mapping[str, tuple[int, int | None]] = {  # the split that all use
    "train": (0, 16000),
    "valid": (16000, 17000),
    "test": (17000, None),
}


def _django_corpus(folder: Path) -> Mapping[str, Pairs] | None:
    """Return the corpus of one file per side, cut into its splits."""
    if find_file(folder, "all.anno") is None:
        return None
    files = _required(folder, "all.anno"), _required(folder, "all.code")
    return {
        name: _changed(islice(parallel(*files, read=text_lines), *ends), canonical_pair)
        for name, ends in DJANGO_LINES.items()
    }


def _without_unk(source: str, target: str) -> tuple[str, str]:
    """Return a pair of training texts whose unknown words are written as in the test set."""
    return source.replace("<unk>", "UNK"), target.replace("<unk>", "UNK")


def _wmt16_ro_en(folder: Path) -> Mapping[str, Pairs] | None:
    """Return Europarl v8 and SETIMES 2, newsdev2016 and newstest2016."""
    if find_file(folder, "europarl-v8.ro-en.ro") is None:
        return None
    europarl = _named(folder, "europarl-v8.ro-en.ro", "europarl-v8.ro-en.en")
    memory = find_file(folder, "en-ro.tmx")
    if memory is not None:
        setimes: Pairs = translation_memory(memory, "ro", "en")
    else:
        setimes = _named(folder, "SETIMES.en-ro.ro", "SETIMES.en-ro.en")
    return {
        "train": chain(europarl, setimes),
        "valid": _news(folder, "newsdev2016"),
        "test": _news(folder, "newstest2016"),
    }


def _news(folder: Path, name: str) -> Pairs:
    if find_file(folder, f"{name}.ro") is not None:
        return _named(folder, f"{name}.ro", f"{name}.en")
    return _named(folder, f"{name}-roen-src.ro.sgm", f"{name}-roen-ref.en.sgm")


IWSLT14_TEST = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
IWSLT14_HELD_OUT = 23  # one of so many training pairs is for validation, as in fairseq


def _iwslt14(source: str, target: str, folder: Path) -> Mapping[str, Pairs] | None:
    """Return the German-English talks in either direction: every 23rd pair is for validation."""
    train = f"train.tags.de-en.{source}", f"train.tags.de-en.{target}"
    if find_file(folder, train[0]) is None:
        return None
    tests = [f"IWSLT14.{name}.de-en" for name in IWSLT14_TEST]
    return {
        "train": _part(_named(folder, *train, read=talk_lines), is_held_out=False),
        "valid": _part(_named(folder, *train, read=talk_lines), is_held_out=True),
        "test": chain(*[_named(folder, f"{x}.{source}.xml", f"{x}.{target}.xml") for x in tests]),
    }


def _part(pairs: Pairs, is_held_out: bool) -> Pairs:
    """Yield the pairs that are held out, or the others."""
    for number, pair in enumerate(pairs, 1):
        if (number % IWSLT14_HELD_OUT == 0) == is_held_out:
            yield pair


LAYOUTS: Mapping[str, tuple[Layout, ...]] = {
    "django": (
        Layout("all.anno with all.code", _django_corpus),
        _parallel_files(
            {
                split: (f"src_raw_{part}.txt", f"tgt_raw_{part}.txt")
                for split, part in (("train", "train"), ("valid", "dev"), ("test", "test"))
            }
        ),
        _split_files("train, dev and test with .src and .tgt, strings numbered already", True),
    ),
    "gigaword": (
        _parallel_files(
            {
                "train": ("train.src.txt", "train.tgt.txt"),
                "valid": ("dev.src.txt", "dev.tgt.txt"),
                "test": ("test.src.txt", "test.tgt.txt"),
            },
            {"train": _without_unk, "valid": _without_unk},
        ),
        _parallel_files(
            {
                "train": ("train.article.txt", "train.title.txt"),
                "valid": ("valid.article.filter.txt", "valid.title.filter.txt"),
                "test": ("Giga/input.txt", "Giga/task1_ref0.txt"),
            },
            {"train": _without_unk, "valid": _without_unk},
        ),
        _split_files(
            "train, dev and test with .tsv (columns name, source, target) or with .src and .tgt",
            columns=("name", "source", "target"),
        ),
    ),
    "wmt16-ro-en": (
        Layout(
            "europarl-v8.ro-en, en-ro.tmx or SETIMES.en-ro, newsdev2016 and newstest2016",
            _wmt16_ro_en,
        ),
        _split_files(
            "train, dev and test with .ro and .en or with .json (translation.ro, translation.en)",
            source_suffix="ro",
            target_suffix="en",
            source_key="translation.ro",
            target_key="translation.en",
        ),
    ),
    **{
        f"iwslt14-{source}-{target}": (
            Layout(
                f"train.tags.de-en and IWSLT14.{', '.join(IWSLT14_TEST)} of the archive de-en",
                partial(_iwslt14, source, target),
            ),
        )
        for source, target in (("de", "en"), ("en", "de"))
    },
}
