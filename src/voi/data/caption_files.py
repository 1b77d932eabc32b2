"""Files of captions: COCO's, Karpathy's and Flickr30k's, JSON lines, tab-separated lines."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voi.data.splits import SPLITS
from voi.errors import DataError
from voi.lines import Lines, ending_of, json_file, json_lines

_SPLITS: Mapping[str, str] = {  # what files call a split -> its name here
    **{called: name for name, names in SPLITS.items() for called in names},
    "restval": "train",  # Karpathy's: images of val2014 that are used for training
    "train2017": "train",
    "val2017": "valid",
}


@dataclass(frozen=True)
class Captioned:
    """One image and its captions."""

    image: str
    captions: tuple[str, ...]
    split: str = ""  # train, valid or test; empty where the file does not say


def read_captions(path: Path) -> list[Captioned]:
    """Return the images of a file with their captions, in the order of the file.

    The file is COCO's captions_*.json or Karpathy's dataset_*.json, Flickr30k's *.token, JSON lines
    with `file`, `captions` and perhaps `split`, or tab-separated lines `image, split, caption`;
    each may end in .gz. Images of a tab-separated file are named by their first column alone.
    """
    ending = ending_of(path)
    if ending not in _READERS:
        raise DataError(f"{path} is no file of captions: expected one of {', '.join(_READERS)}")
    if not path.is_file():
        raise DataError(f"no file {path}: name a file of captions (docs/captions.md)")
    try:
        found = list(_READERS[ending](path))
    except ValueError as error:
        raise DataError(
            f"{path} is not a file of captions ({error}): docs/captions.md says what it holds"
        ) from error
    for image in found:
        if not image.captions or not all(caption.strip() for caption in image.captions):
            raise DataError(f"{path}: {image.image} has no caption, or an empty one: remove it")
    if not found:
        raise DataError(f"{path} holds no captions")
    return found


def _json(path: Path) -> list[Captioned]:
    def read(table: Any) -> list[Captioned]:
        return list((_coco if "annotations" in table else _karpathy)(table))

    return json_file(path, read)


def _karpathy(table: Any) -> Iterator[Captioned]:
    for image in table["images"]:
        name = "/".join(filter(None, (image.get("filepath", ""), image["filename"])))
        captions = (sentence["raw"] for sentence in image["sentences"])
        yield Captioned(name, tuple(map(_text, captions)), _split(image["split"]))


def _coco(table: Any) -> Iterator[Captioned]:
    captions: dict[Any, list[str]] = {}
    for each in table["annotations"]:
        captions.setdefault(each["image_id"], []).append(_text(each["caption"]))
    images = {image["id"]: _name(image["file_name"]) for image in table["images"]}
    stray = [image for image in captions if image not in images]
    if stray:
        count = sum(len(captions[image]) for image in stray)
        raise ValueError(f"{count} annotations belong to no image: image_id {stray[0]!r}")
    for image, name in images.items():
        if image in captions:  # the files of test images have none
            yield Captioned(name, tuple(captions[image]))


def _json_lines(path: Path) -> Iterator[Captioned]:
    return json_lines(path, _of_record)


def _of_record(record: Any) -> Captioned:
    if not isinstance(record["captions"], list):
        raise ValueError(f"captions must be a list of texts, got {record['captions']!r}")
    split = _split(record["split"]) if "split" in record else ""
    return Captioned(_name(record["file"]), tuple(map(_text, record["captions"])), split)


def _tab_separated(path: Path) -> Iterator[Captioned]:
    lines = Lines(path)
    captions: dict[tuple[str, str], list[str]] = {}
    for number in range(len(lines)):
        columns = lines[number].split("\t")
        if len(columns) != 3:
            raise ValueError(f"line {number + 1} has {len(columns)} columns, expected 3")
        image, split, caption = columns
        captions.setdefault((image, split), []).append(_text(caption))
    for (image, split), texts in captions.items():
        yield Captioned(image, tuple(texts), _split(split))


def _flickr(path: Path) -> Iterator[Captioned]:
    """Yield the images of a file with lines `image.jpg#0`, a tab and the caption."""
    lines = Lines(path)
    captions: dict[str, list[str]] = {}
    for number in range(len(lines)):
        name, tab, caption = lines[number].partition("\t")
        image = name.rpartition("#")[0]
        if not tab or not image:
            raise ValueError(f"line {number + 1} does not begin with IMAGE#NUMBER and a tab")
        captions.setdefault(image, []).append(_text(caption))
    for image, texts in captions.items():
        yield Captioned(image, tuple(texts))


def _split(name: str) -> str:
    if name not in _SPLITS:
        raise ValueError(f"unknown split {name!r}, known: {', '.join(_SPLITS)}")
    return _SPLITS[name]


def _name(image: object) -> str:
    if not isinstance(image, str):
        raise ValueError(f"the file of an image is named by a text, got {image!r}")
    return image


def _text(caption: object) -> str:
    """Return a caption on one line; those of COCO end in blanks and line feeds now and then."""
    if not isinstance(caption, str):
        raise ValueError(f"a caption is a text, got {caption!r}")
    return " ".join(caption.split())


_READERS: Mapping[str, Callable[[Path], Iterable[Captioned]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".tsv": _tab_separated,
    ".token": _flickr,
}
