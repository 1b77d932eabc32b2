from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import shared_data
from voi.data.example import Example
from voi.tokens.codec import build_codec
from voi.tokens.vocabulary import UNK

word = st.sampled_from(["the", "call", "foo", "bar", "baz", "<copy:0>", "<unk>"])
sentence = st.lists(word, min_size=1, max_size=12)
train = [Example("call the call", "the"), Example("call foo the", "foo")]


@given(sentence, sentence)
@settings(deadline=None)
def test_words_of_the_source_are_written_back_exactly(source, target):
    codec = build_codec({"copy": True}, train)
    example = Example(" ".join(source), " ".join(target))
    encoded = codec.encode(example)
    known = {*codec.vocabulary.words[20:], *source}
    expected = [token if token in known else "<unk>" for token in target]
    assert codec.decode(encoded.target, example.source) == expected
    assert [number == UNK for number in encoded.target] == [token not in known for token in target]
    assert UNK not in encoded.source


def test_the_same_word_is_the_same_token_on_both_sides():
    codec = build_codec({"copy": True}, train)
    encoded = codec.encode(Example("x the y x", "y x"))
    first, the, second, again = encoded.source
    assert encoded.target == [second, first]
    assert first == again != the
    assert [codec.vocabulary.words[i] for i in (first, second)] == ["<copy:0>", "<copy:1>"]


def test_rare_words_of_the_training_split_are_copied_and_count_as_unknown():
    # examples: call 2, the 2, foo 1, though it stands in both sides of that one
    codec = build_codec({"copy": True, "min_count": 2, "num_copies": 2}, train)
    assert codec.vocabulary.words[6:] == ("call", "the")
    assert codec.encode(train[1]).target == [4]
    assert codec.vocabulary.counts == (0, 1, 0, 0, 0, 0, 0, 1)


def test_words_beyond_the_reserved_tokens_stay_unknown():
    codec = build_codec({"copy": True, "num_copies": 1}, train)
    assert codec.encode(Example("x y", "y x")).target == [UNK, 4]


def test_a_copy_without_its_word_is_unknown():
    codec = build_codec({"copy": True, "num_copies": 2}, train)
    assert codec.decode([4, 5], "x the") == ["x", "<unk>"]
    assert codec.decode([4], None) == ["<unk>"]


def django(split):
    sources, targets = (
        shared_data("django", f"{split}.{side}").read_text("utf-8").split("\n")[:-1]
        for side in ("src", "tgt")
    )
    return [Example(*pair) for pair in zip(sources, targets, strict=True)]


def test_copying_makes_django_reachable():
    # Counted by other means: without the long training pairs, 52 % of the test targets hold a word
    # that the training split lacks (see the data report), and with the words of their source 94 %
    # of the test targets can be written.
    test = django("test")
    train = [
        pair
        for pair in django("train")
        if len(pair.source.split()) <= 70 and len(pair.target.split()) <= 50
    ]
    assert (len(train), len(test)) == (15939, 1801)
    codec = build_codec({"copy": True}, train)
    targets = [codec.encode(pair).target for pair in test]
    assert round(sum(UNK not in ids for ids in targets) / 1801, 2) == 0.94
    for pair, ids in zip(test, targets, strict=True):
        text = codec.text(codec.decode(ids, pair.source))
        assert (text == " ".join(pair.target.split())) == (UNK not in ids)
