import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voi.tokens.vocabulary import END, PAD, SPECIALS, START, UNK, Vocabulary

words = st.text(min_size=1, max_size=6) | st.sampled_from([*SPECIALS, "<copy:0>"])
counters = st.dictionaries(words, st.integers(1, 9), max_size=12)


@given(counters, counters, st.integers(0, 3))
@settings(deadline=None)
def test_known_words_survive_the_round_trip(sources, targets, num_copies):
    vocabulary = Vocabulary.build(sources, targets, num_copies=num_copies)
    known = list({**sources, **targets})
    ids = [vocabulary.index[word] for word in known]
    assert [vocabulary.words[number] for number in ids] == known
    assert all(number >= 4 + num_copies for number in ids)  # no special, no reserved token
    assert len(vocabulary) == 4 + num_copies + len(set(known))


@given(counters, counters, st.integers(0, 2))
@settings(deadline=None)
def test_a_stored_vocabulary_is_the_same(sources, targets, num_copies):
    vocabulary = Vocabulary.build(sources, targets, num_copies=num_copies)
    assert Vocabulary.from_table(json.loads(json.dumps(vocabulary.to_table()))) == vocabulary


@given(counters, counters, st.sets(words), st.integers(0, 8))
@settings(deadline=None)
def test_order_and_limits(sources, targets, left_out, max_size):
    vocabulary = Vocabulary.build(sources, targets, left_out, max_size)
    joint = Counter(sources) + Counter(targets)
    kept = vocabulary.words[4:]
    ranked = sorted(joint, key=lambda word: (-joint[word], word))
    expected = [word for word in ranked if word not in left_out]
    assert list(kept) == (expected[:max_size] if max_size else expected)


@given(counters, counters, st.sets(words))
@settings(deadline=None)
def test_counts_are_those_of_the_targets(sources, targets, left_out):
    vocabulary = Vocabulary.build(sources, targets, left_out)
    by_id = Counter()
    for word, count in targets.items():
        by_id[vocabulary.index.get(word, UNK)] += count
    assert list(vocabulary.counts) == [by_id[i] for i in range(len(vocabulary))]


def test_specials_are_reached_by_id_only():
    vocabulary = Vocabulary.build({}, {"<end>": 1, "a": 1})
    assert [vocabulary.words[i] for i in (PAD, UNK, START, END)] == list(SPECIALS)
    assert vocabulary.index == {"<end>": 4, "a": 5}
    assert vocabulary.words[4] == vocabulary.words[END] == "<end>"


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (("a", "b", "c", "d"), (0,) * 4),  # no specials
        ((*SPECIALS, "a"), (0,) * 4),  # a count is missing
        ((*SPECIALS, "a", "a"), (0,) * 6),
    ],
)
def test_impossible_vocabularies(words, counts):
    with pytest.raises(ValueError, match=r"vocabulary|counts"):
        Vocabulary(words, counts)
