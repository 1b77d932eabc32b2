import json
import sys

import pytest

from shared_data import shared_data
from voi.data.example import Example
from voi.errors import MissingExtraError
from voi.tokens.codec import Codec, build_codec
from voi.tokens.moses import Moses

pytest.importorskip("sacremoses")


def test_english_sentence():
    # the example of the Moses manual's "Tokenization" section, with straight quotes
    tokens = Moses().target_tokens("It's a small world, isn't it? Mr. Smith said \"yes\" & left.")
    assert tokens == [
        *("It", "'s", "a", "small", "world", ",", "isn", "'t", "it", "?"),
        *("Mr.", "Smith", "said", '"', "yes", '"', "&", "left", "."),
    ]


def test_each_side_has_its_language():
    french = Moses(source_language="en", target_language="fr")
    assert french.source_tokens("l'eau isn't") == ["l", "'eau", "isn", "'t"]
    assert french.target_tokens("l'eau") == ["l'", "eau"]
    assert french.text(["l'", "eau"]) == "l'eau"


def test_text_is_written_back():
    moses = Moses()
    text = 'He said, "no": 3.5 % of it isn\'t much (really).'
    assert moses.text(moses.target_tokens(text)) == text.replace(" %", "%")


def test_lowercase_comes_after_the_split():
    codec = build_codec({"pretokenizer": "moses", "lowercase": True}, [Example("x", "Mr. A.")])
    assert codec.tokenizer.target_tokens("Mr. Smith left.") == ["mr.", "smith", "left", "."]
    assert Codec.from_table(json.loads(json.dumps(codec.to_table()))) == codec


def test_romanian_news():
    text = shared_data("ro_en", "rosts", "train.ro").read_text("utf-8")
    moses = Moses(source_language="ro")
    for line in text.split("\n")[:500]:
        tokens = moses.source_tokens(line)
        assert not any(token != token.strip() or not token for token in tokens)
        assert len(tokens) >= len(line.split())  # nothing but splits


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[text\]'"):
        Moses().source_tokens("a")
