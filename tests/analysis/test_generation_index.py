"""Generation index by group, on sentences small enough to count by hand."""

import numpy as np
import pytest

from voi.analysis.generation_index import (
    FirstToken,
    first_tokens,
    frequency_band,
    indices_by_band,
    indices_by_tag,
    indices_by_word,
    normalized_generation_index,
)
from voi.analysis.slots import slots_of
from voi.analysis.traces import Trace

TAGS = {"a": "DET", "the": "DET", "red": "ADJ", "bus": "NOUN", "dog": "NOUN"}


def trace(text, order):
    tokens = tuple(text.split())
    return Trace(
        target=text, tokens=tokens, order=tuple(order), slots=slots_of(order), kind="generated"
    )


def rng():
    return np.random.default_rng(0)


def tag(tokens):
    return [TAGS.get(token, "X") for token in tokens]


# Written: bus a red | the dog the zzz
TRACES = [trace("a red bus", [2, 0, 1]), trace("the dog the zzz", [0, 1, 2, 3])]


def test_index_is_the_step_over_the_length():
    assert normalized_generation_index([2, 0, 1]).tolist() == [1 / 3, 2 / 3, 0.0]
    assert normalized_generation_index([0]).tolist() == [0.0]
    assert normalized_generation_index([]).tolist() == []


def test_by_tag_pools_tokens_and_sorts_by_mean():
    rows = indices_by_tag(TRACES, tag, rng=rng())
    assert [row.group for row in rows] == ["NOUN", "DET", "ADJ", "X"]
    nouns, articles, adjectives, others = rows
    assert nouns.mean == pytest.approx((0 + 1 / 4) / 2)
    assert nouns.l2r == pytest.approx((2 / 3 + 1 / 4) / 2)
    assert (nouns.count, nouns.num) == (2, 2)
    assert articles.mean == pytest.approx((1 / 3 + 0 + 2 / 4) / 3)
    assert (articles.count, articles.num) == (3, 2)  # three tokens in two sentences
    assert (adjectives.mean, others.mean) == pytest.approx((2 / 3, 3 / 4))
    assert (adjectives.low, adjectives.high) == pytest.approx((2 / 3, 2 / 3))


def test_interval_resamples_sentences():
    # Resampling the two sentences gives the first twice, both, or the second twice.
    articles = indices_by_tag(TRACES, tag, rng=rng())[1]
    assert (articles.low, articles.high) == pytest.approx((0.25, 1 / 3))


def test_by_word_keeps_repeated_words_together():
    rows = {row.group: row for row in indices_by_word(TRACES, rng=rng())}
    assert set(rows) == {"a", "red", "bus", "the", "dog", "zzz"}
    assert rows["the"].mean == pytest.approx((0 + 2 / 4) / 2)
    assert (rows["the"].count, rows["the"].num) == (2, 1)
    assert [row.group for row in indices_by_word(TRACES, rng=rng(), min_count=2)] == ["the"]


def test_equal_means_go_alphabetically():
    rows = indices_by_word([trace("b", [0]), trace("a", [0])], rng=rng())
    assert [row.group for row in rows] == ["a", "b"]


def test_by_band_goes_from_rare_to_frequent():
    counts = {"a": 10, "the": 99, "red": 1, "bus": 9}  # dog and zzz were never seen
    rows = indices_by_band(TRACES, counts, rng=rng())
    assert [(row.group, row.count) for row in rows] == [("0", 2), ("1-9", 2), ("10-99", 3)]
    assert rows[0].mean == pytest.approx((1 / 4 + 3 / 4) / 2)
    assert rows[1].mean == pytest.approx((2 / 3 + 0) / 2)
    coarse = indices_by_band(TRACES, counts, rng=rng(), edges=(5, 50))
    assert [(row.group, row.count) for row in coarse] == [("0-4", 3), ("5-49", 2), ("50+", 2)]


def test_band_edges():
    counts = (0, 1, 9, 10, 99, 100, 9999, 10000, 10**9)
    assert [frequency_band(count) for count in counts] == [
        *("0", "1-9", "1-9", "10-99", "10-99", "100-999", "1000-9999", "10000+", "10000+")
    ]
    assert frequency_band(3, (3, 4)) == "3"


def test_first_tokens():
    traces = [*TRACES, trace("dog bus", [1, 0]), trace("", [])]
    assert first_tokens(traces) == [FirstToken("bus", 2, 2 / 3), FirstToken("the", 1, 1 / 3)]
    assert first_tokens([]) == []


def test_empty_targets_add_nothing():
    assert indices_by_word([trace("", [])], rng=rng()) == []


def test_wrong_input_is_explained():
    with pytest.raises(ValueError, match="one tag for each token, got 1 for 3"):
        indices_by_tag(TRACES, lambda tokens: ["X"], rng=rng())
    for edges in ((), (10, 1), (0, 5), (5, 5)):
        with pytest.raises(ValueError, match="edges must be"):
            indices_by_band(TRACES, {}, rng=rng(), edges=edges)
