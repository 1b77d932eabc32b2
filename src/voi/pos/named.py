"""Taggers by name: the one that comes with a library, a trained one's file, a user's function."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from voi.extras import load_extra, load_named
from voi.pos.perceptron import load_tagger
from voi.pos.tagset import universal_tag
from voi.tables import unknown_name

Tagger = Callable[[Sequence[str]], list[str]]

_FILE = ".json"  # how the names of files end that `voi data tagger` writes


def make_tagger(name: str = "hanta") -> Tagger:
    """Return a tagger: "hanta", a file of `voi data tagger`, or your function, module:function.

    HanTa's English model comes with its package, so nothing is downloaded.
    """
    if is_file(name):
        return load_tagger(Path(name))
    if ":" in name:
        return load_named(name, "tagger")
    if name != "hanta":
        raise unknown_name("tagger", name, ("hanta", "FILE.json", "module:function"))
    library: Any = load_extra("HanTa.HanoverTagger", "pos", "tagging parts of speech")
    model = library.HanoverTagger("morphmodel_en.pgz")

    def tags(tokens: Sequence[str]) -> list[str]:
        return [universal_tag(tag) for _, _, tag in model.tag_sent(list(tokens))]

    return tags


def is_file(name: str) -> bool:
    """Return whether a tagger's name is that of a file."""
    return name.endswith(_FILE)


def located_tagger(name: str) -> str:
    """Return a tagger's name with an absolute path, if it is a file: the same one from anywhere.

    >>> located_tagger("hanta"), located_tagger("/tags/mine.json")
    ('hanta', '/tags/mine.json')
    """
    return str(Path(name).absolute()) if is_file(name) else name
