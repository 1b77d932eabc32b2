"""Parts of speech in the universal tagset, for analyses of which words come first.

A tagger maps the tokens of a text to one tag each; any function that does so can take its place.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from voi.extras import load_extra, load_named
from voi.tables import unknown_name

Tagger = Callable[[Sequence[str]], list[str]]

UNIVERSAL = ("ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRT", "PRON", "VERB", ".", "X")

# The C5 tags of the British National Corpus, which HanTa's English model gives; verbs are V...
_C5: Mapping[str, str] = {
    tag: universal
    for universal, tags in {
        "ADJ": "AJ0 AJC AJS",
        "ADP": "PRF PRP IN",
        "ADV": "AV0 AVQ XX0",
        "CONJ": "CJC CJS CJT",
        "DET": "AT0 DT0 DTQ",
        "NOUN": "NN NN0 NN1 NN2 NP0",
        "NUM": "CRD ORD",
        "PRT": "AVP EX0 POS TO0",
        "PRON": "DPS PNI PNP PNQ PNX",
        ".": "PUL PUN PUQ PUR",
    }.items()
    for tag in tags.split()
}


def make_tagger(name: str = "hanta") -> Tagger:
    """Return a tagger: "hanta", or a function of yours as module:function.

    HanTa's English model comes with its package, so nothing is downloaded.
    """
    if ":" in name:
        return load_named(name, "tagger")
    if name != "hanta":
        raise unknown_name("tagger", name, ("hanta", "module:function"))
    library: Any = load_extra("HanTa.HanoverTagger", "pos", "tagging parts of speech")
    model = library.HanoverTagger("morphmodel_en.pgz")

    def tags(tokens: Sequence[str]) -> list[str]:
        return [universal_tag(tag) for _, _, tag in model.tag_sent(list(tokens))]

    return tags


def universal_tag(c5: str) -> str:
    """Return the universal tag of a C5 tag; X where there is none.

    >>> [universal_tag(tag) for tag in ("NN2", "VVD", "AT0", "ITJ")]
    ['NOUN', 'VERB', 'DET', 'X']
    """
    return "VERB" if c5.startswith("V") else _C5.get(c5, "X")
