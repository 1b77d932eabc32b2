"""The universal tagset, and how tags of other tagsets become its tags."""

from collections.abc import Mapping

from voi.errors import DataError

UNIVERSAL = ("ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRT", "PRON", "VERB", ".", "X")


def _by_tag(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the universal tag of each tag, from the tags of each universal tag."""
    return {tag: universal for universal, group in tags.items() for tag in group.split()}


# The C5 tags of the British National Corpus, which HanTa's English model gives; verbs are V...
_C5 = _by_tag(
    {
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
    }
)

# Tagsets of files: Universal Dependencies (UPOS) and the Penn Treebank's. Where one of their tags
# has the name of another's, both mean the same universal tag.
_UD = _by_tag(
    {
        "ADJ": "ADJ",
        "ADP": "ADP",
        "ADV": "ADV",
        "CONJ": "CCONJ SCONJ",
        "DET": "DET",
        "NOUN": "NOUN PROPN",
        "NUM": "NUM",
        "PRT": "PART",
        "PRON": "PRON",
        "VERB": "VERB AUX",
        ".": "PUNCT",
        "X": "INTJ SYM X",
    }
)
_PENN = _by_tag(
    {
        "ADJ": "JJ JJR JJS",
        "ADP": "IN",
        "ADV": "RB RBR RBS WRB",
        "CONJ": "CC",
        "DET": "DT EX PDT WDT",
        "NOUN": "NN NNS NNP NNPS",
        "NUM": "CD",
        "PRT": "POS RP TO",
        "PRON": "PRP PRP$ WP WP$",
        "VERB": "MD VB VBD VBG VBN VBP VBZ",
        ".": ". , : `` '' ( ) -LRB- -RRB- # $",
        "X": "FW LS SYM UH",
    }
)
_ACCEPTED = {**dict(zip(UNIVERSAL, UNIVERSAL, strict=True)), **_UD, **_PENN}


def universal_tag(c5: str) -> str:
    """Return the universal tag of a C5 tag; X where there is none.

    >>> [universal_tag(tag) for tag in ("NN2", "VVD", "AT0", "ITJ")]
    ['NOUN', 'VERB', 'DET', 'X']
    """
    return "VERB" if c5.startswith("V") else _C5.get(c5, "X")


def accepted_tag(tag: str) -> str:
    """Return the universal tag of a tag in a file: a universal one, UD's or the Penn Treebank's.

    >>> [accepted_tag(tag) for tag in ("PRT", "PROPN", "SCONJ", "NNS", "WRB", "-LRB-")]
    ['PRT', 'NOUN', 'CONJ', 'NOUN', 'ADV', '.']
    """
    if tag not in _ACCEPTED:
        raise DataError(
            f"unknown tag {tag!r}: expected the universal tagset ({' '.join(UNIVERSAL)}), UD's "
            f"({' '.join(sorted(_UD))}) or the Penn Treebank's ({' '.join(_PENN)})"
        )
    return _ACCEPTED[tag]
