import pytest

from voi.errors import DataError
from voi.pos import UNIVERSAL, accepted_tag, universal_tag


def test_every_tag_of_the_tagset_is_reached():
    tags = ["AJ0", "PRP", "AV0", "CJC", "AT0", "NN1", "CRD", "TO0", "PNP", "VVD", "PUN", "UNC"]
    assert [universal_tag(tag) for tag in tags] == list(UNIVERSAL)


def test_universal_tags_stay():
    assert [accepted_tag(tag) for tag in UNIVERSAL] == list(UNIVERSAL)


def test_the_17_tags_of_universal_dependencies():
    """As the two tagsets are described: what UD tells apart and the universal tagset does not."""
    same = ["ADJ", "ADP", "ADV", "DET", "NOUN", "NUM", "PRON", "VERB", "X"]
    others = {
        "AUX": "VERB",
        "CCONJ": "CONJ",
        "SCONJ": "CONJ",
        "INTJ": "X",
        "PART": "PRT",
        "PROPN": "NOUN",
        "PUNCT": ".",
        "SYM": "X",
    }
    assert len(same) + len(others) == 17
    assert {tag: accepted_tag(tag) for tag in others} == others
    assert [accepted_tag(tag) for tag in same] == same


def test_tags_of_the_penn_treebank():
    tags = ["JJR", "IN", "WRB", "CC", "DT", "NNPS", "CD", "TO", "PRP$", "MD", "``", "UH"]
    assert [accepted_tag(tag) for tag in tags] == list(UNIVERSAL)


@pytest.mark.parametrize("tag", ["at", "AT", "noun", "", "NOUN-X"])
def test_other_tags_are_named_with_what_is_accepted(tag):
    with pytest.raises(DataError) as caught:
        accepted_tag(tag)
    message = str(caught.value)
    assert f"unknown tag {tag!r}" in message
    for accepted in ("CONJ", "SCONJ", "PRP$"):
        assert f" {accepted} " in message
