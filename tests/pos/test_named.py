import sys

import pytest

from voi.errors import ConfigError, MissingExtraError
from voi.pos import UNIVERSAL, make_tagger


@pytest.fixture(scope="module")
def tagger():
    pytest.importorskip("HanTa.HanoverTagger", reason="the extra voi[pos] is not installed")
    return make_tagger()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a man is riding a red bicycle .", "DET NOUN VERB VERB DET ADJ NOUN ."),
        ("he told us and they already had 1991 .", "PRON VERB PRON CONJ PRON ADV VERB NUM ."),
        ("two dogs sleep on the old sofa", "NUM NOUN VERB ADP DET ADJ NOUN"),
        ("their home in Africa , for years", "PRON NOUN ADP NOUN . ADP NOUN"),
    ],
)
def test_tags_given_by_hand(tagger, text, tags):
    assert tagger(text.split()) == tags.split()


def test_one_tag_for_each_token(tagger):
    tokens = ["it's", "n't", "(", "<unk>", ")", "##", "café", "雪", "3.5", "self.x", "!"]
    tags = tagger(tokens)
    assert len(tags) == len(tokens)
    assert set(tags) <= set(UNIVERSAL)
    assert tagger([]) == []


def test_a_function_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "my_tags.py").write_text("def shout(tokens):\n    return ['X' for _ in tokens]\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert make_tagger("my_tags:shout")(["a", "b"]) == ["X", "X"]
    with pytest.raises(ConfigError, match="cannot be imported"):
        make_tagger("my_tags:whisper")
    with pytest.raises(ConfigError, match="cannot be imported"):
        make_tagger("no_such_module:tag")
    with pytest.raises(ConfigError, match="is no function"):
        make_tagger("my_tags:__name__")


def test_unknown_names_and_a_missing_extra(monkeypatch):
    with pytest.raises(ConfigError, match='did you mean "hanta"'):
        make_tagger("hant")
    monkeypatch.setitem(sys.modules, "HanTa", None)
    monkeypatch.delitem(sys.modules, "HanTa.HanoverTagger", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[pos\]'"):
        make_tagger()
