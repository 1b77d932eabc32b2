import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voi.data.example import Example
from voi.errors import ConfigError
from voi.tokens.codec import Codec, build_codec
from voi.tokens.vocabulary import END, PAD, START, UNK

texts = st.text(alphabet="ab<>pad unk\t", max_size=20)
examples = st.lists(st.tuples(texts | st.none(), texts), max_size=6)


@given(examples)
@settings(deadline=None)
def test_targets_survive_the_round_trip_up_to_white_space(drawn):
    pairs = [Example(*pair) for pair in drawn]
    codec = build_codec({}, pairs)
    for pair in pairs:
        encoded = codec.encode(pair)
        assert UNK not in encoded.target
        assert codec.text(codec.decode(encoded.target, pair.source)) == " ".join(
            pair.target.split()
        )
        assert encoded.target == codec.encode_target(pair.target, pair.source)
        if pair.source is None:
            assert encoded.source is None
        else:
            assert encoded.source == codec.encode_source(pair.source)


@given(examples, st.booleans(), st.integers(1, 3))
@settings(deadline=None)
def test_a_stored_codec_is_the_same(drawn, copy, min_count):
    pairs = [Example(*pair) for pair in drawn]
    codec = build_codec({"copy": copy, "min_count": min_count}, pairs)
    stored = Codec.from_table(json.loads(json.dumps(codec.to_table())))
    assert stored == codec
    assert [stored.encode(pair) for pair in pairs] == [codec.encode(pair) for pair in pairs]


def test_one_shot_examples_are_enough():
    pairs = [Example("a b", "b c")]
    assert build_codec({"copy": True, "min_count": 2}, iter(pairs)) == build_codec(
        {"copy": True, "min_count": 2}, pairs
    )


def test_decoding_drops_boundaries_and_shows_unknown_words():
    codec = build_codec({}, [Example(None, "a")])
    ids = [START, *codec.encode_target("a z", None), END, PAD, PAD]
    assert codec.decode(ids, None) == ["a", "<unk>"]


def test_lowercase():
    codec = build_codec({"lowercase": True}, [Example("A", "B")])
    assert codec.vocabulary.words[4:] == ("a", "b")
    assert codec.encode_source("a A") == codec.encode_source("A a")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"knd": "words"}, 'did you mean "data.tokens.kind"'),
        ({"kind": "word"}, 'did you mean "words"'),
        ({"kind": "bpe", "copy": True}, "copies whole words"),
        ({"kind": "bpe", "max_size": 9}, "set data.tokens.size"),
        (
            {"size": 400},
            'data.tokens.size does nothing here: set data.tokens.kind = "bpe", or leave',
        ),
        ({"num_copies": 3}, "data.tokens.num_copies does nothing here: set data.tokens.copy"),
        ({"min_count": 0}, "data.tokens.min_count must be at least 1, got 0"),
        ({"num_copies": 0}, "data.tokens.num_copies"),
        ({"lowercase": 1}, "data.tokens.lowercase must be true or false"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ConfigError, match=message):
        build_codec(settings, [])
