import json
import pickle
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared_data import shared_data
from voi.data.example import Example
from voi.errors import MissingExtraError
from voi.pos import UNIVERSAL
from voi.tokens.bpe import MARK, learn_subwords
from voi.tokens.codec import Codec, build_codec
from voi.tokens.vocabulary import UNK
from voi.tokens.words import Words

pytest.importorskip("tokenizers")

TRAIN = [Example("low lower lowest <unk> <pad>", "new newer newest wide wider widest")] * 3
BPE = {"kind": "bpe", "size": 60}


def test_merges_are_those_of_byte_pair_encoding():
    # by hand: a a b x2, a a c x1 -> the pair (a, a) is seen 3 times, then (▁, aa) 3, (▁aa, b) 2
    subwords = learn_subwords(Words(), [["aab", "aac"], ["aab"]], size=7, min_count=2)
    assert set(subwords.pieces) == {"a", "b", "c", "▁", "aa", "▁aa", "▁aab"}
    assert subwords.target_tokens("aab aac b") == ["▁aab", "▁aa", "c", "▁", "b"]


@given(st.text(alphabet="lowernidst <unk>pad\t"))
@settings(deadline=None)
def test_known_letters_survive_the_round_trip(text):
    codec = build_codec(BPE, TRAIN)
    ids = codec.encode_target(text, None)
    assert UNK not in ids
    assert codec.text(codec.decode(ids, None)) == " ".join(text.split())


@given(st.text())
@example("lo▁w ▁ ▁new")
@settings(deadline=None)
def test_pieces_join_to_the_words_whatever_the_letters(text):
    tokenizer = build_codec(BPE, TRAIN).tokenizer
    tokens = tokenizer.target_tokens(text)
    assert tokenizer.text(tokens) == " ".join(text.replace("▁", "_").split())


def test_new_letters_are_unknown():
    codec = build_codec(BPE, TRAIN)
    ids = codec.encode_target("loß", None)
    assert ids[-1] == UNK
    assert codec.text(codec.decode(ids, None)) == "lo<unk>"


def test_special_texts_are_ordinary_text():
    codec = build_codec(BPE, TRAIN)
    ids = codec.encode_source("<unk> <pad>")
    assert all(number >= 4 for number in ids)
    assert codec.text(codec.decode(ids, None)) == "<unk> <pad>"


def test_counts_are_those_of_the_targets():
    codec = build_codec(BPE, TRAIN)
    counts = [0] * len(codec.vocabulary)
    for pair in TRAIN:
        for number in codec.encode(pair).target:
            counts[number] += 1
    assert list(codec.vocabulary.counts) == counts


def test_stored_pickled_and_learned_again_it_is_the_same():
    codec = build_codec(BPE, TRAIN)
    text = "lowest widest new"
    stored = Codec.from_table(json.loads(json.dumps(codec.to_table())))
    for other in (stored, pickle.loads(pickle.dumps(codec)), build_codec(BPE, iter(TRAIN))):
        assert other == codec
        assert other.encode_target(text, None) == codec.encode_target(text, None)


def test_real_pairs():
    sides = (
        shared_data("ro_en", "mlqe_pe", f"dev.{side}").read_text("utf-8").split("\n")[:500]
        for side in ("ro", "en")
    )
    pairs = [Example(*pair) for pair in zip(*sides, strict=True)]
    codec = build_codec({"kind": "bpe", "size": 1000, "strip_diacritics": True}, pairs)
    assert len(codec.vocabulary) == 1004
    for pair in pairs:
        ids = codec.encode_target(pair.target, pair.source)
        assert codec.text(codec.decode(ids, pair.source)) == " ".join(pair.target.split())


def by_length(words):
    return ["NOUN" if len(word) > 3 else "DET" for word in words]


def test_pieces_have_the_tag_of_their_word():
    pair = Example(None, "the zebra sat")
    codec = build_codec({**BPE, "size": 12, "tags": f"{__name__}:by_length"}, [pair])
    pieces, tags = codec.tokenizer.target_tokens(pair.target), codec.encode(pair).tags
    expected = [by_length([word])[0] for word in ("the", "zebra", "sat")]
    starts = np.cumsum([piece.startswith(MARK) for piece in pieces]) - 1
    assert len(pieces) > 3
    assert [UNIVERSAL[tag] for tag in tags] == [expected[word] for word in starts]


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[text\]'"):
        build_codec(BPE, TRAIN)
