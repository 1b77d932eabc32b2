"""Every output obeys its rules, whatever the model prefers."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small_models import text_batch, tiny_decoder
from voi.analysis import order_of_slots
from voi.errors import DataError
from voi.search import Rules, Sampling, ids_in_reading_order, search

WORDS = st.integers(4, 9)
DECODER = tiny_decoder(10, seed=8)
MAX_LENGTH = 9


@st.composite
def rule_fields(draw):
    words = tuple(draw(st.lists(WORDS, max_size=4)))
    is_open = tuple(draw(st.booleans()) for _ in range(len(words) + 1))
    gaps = tuple(flag and draw(st.booleans()) for flag in is_open)
    needs = len(words) + sum(gaps)
    required, room = [], MAX_LENGTH - needs
    while any(is_open) and room > 0 and draw(st.booleans()):
        required.append(tuple(draw(st.lists(WORDS, min_size=1, max_size=min(3, room)))))
        room -= len(required[-1])
    return words, is_open, gaps, tuple(required)


def _pieces(found, rule):
    """Return what was inserted before, between and after the given words."""
    order, text = order_of_slots(found.slots), ids_in_reading_order(found)
    places = sorted(order[: len(rule.given)])
    assert [text[i] for i in places] == list(rule.given)
    bounds = [-1, *places, len(text)]
    return [text[a + 1 : b] for a, b in pairwise(bounds)]


def _count(text, word):
    """Return how often a word of several tokens stands in a text, without overlap."""
    found = start = 0
    while start + len(word) <= len(text):
        is_here = tuple(text[start : start + len(word)]) == word
        found, start = found + is_here, start + (len(word) if is_here else 1)
    return found


def _check(found, rule):
    pieces = _pieces(found, rule)
    for piece, is_open, is_gap in zip(pieces, rule.open_slots, rule.gaps, strict=True):
        assert is_open or not piece, "a word was written where none may stand"
        assert piece or not is_gap, "a gap was left empty"
    text = ids_in_reading_order(found)
    for word in set(rule.required):
        assert _count(text, word) >= rule.required.count(word), "a required word is missing"
    assert len(text) <= MAX_LENGTH


@settings(max_examples=60, deadline=None)
@given(st.lists(rule_fields(), min_size=1, max_size=4), st.integers(0, 3))
def test_all_rules_hold_together(fields, mode):
    batch = [Rules(*values) for values in fields]
    source = DECODER.encode(text_batch([[4]] * len(batch), [[5, 4]] * len(batch)))
    options = [
        {},
        {"beam": 3, "nbest": 3},
        {"beam": 16, "nbest": 16, "length_penalty": 1.0},
        {"sampling": Sampling(2, temperature=2.0, seed=mode)},
    ][mode]
    results = search(DECODER, source, rules=batch, max_length=MAX_LENGTH, **options)
    for rule, hypotheses in zip(batch, results, strict=True):
        assert hypotheses
        for found in hypotheses:
            _check(found, rule)


@pytest.mark.parametrize("beam", [1, 8, 16, 32])
@pytest.mark.parametrize("num_given", [5, 6, 7])
def test_a_beam_wider_than_there_are_choices(beam, num_given):
    """At the steps of given words one pair is possible, and the rest of the beam stays empty."""
    decoder = tiny_decoder(30, seed=8)
    given = tuple(4 + i % 3 for i in range(num_given))
    slots = (False,) * num_given + (True,)
    rule = Rules(given, slots, slots)
    source = decoder.encode(text_batch([[4]], [[5, 4]]))
    (results,) = search(decoder, source, rules=[rule], beam=beam, nbest=beam, max_length=9)
    assert results
    for found in results:
        _check(found, rule)


@pytest.mark.parametrize("options", [{}, {"sampling": Sampling()}], ids=["greedy", "sample"])
@pytest.mark.parametrize("seed", range(8))
def test_a_mark_takes_no_room_that_a_gap_and_a_word_need(seed, options):
    decoder = tiny_decoder(9, seed=seed)
    rule = Rules((), (True,), (True,), ((5,),), marks=frozenset({4, 6, 7}))
    source = decoder.encode(text_batch([[4]], [[5, 4]]))
    ((found,),) = search(decoder, source, rules=[rule], max_length=rule.least_length, **options)
    text = ids_in_reading_order(found)
    assert 5 in text  # which fills the gap too


def test_score_counts_the_given_words():
    rule = Rules((4, 6), (False, True, False), (False, True, False))
    source = DECODER.encode(text_batch([[4]], [[5, 4]]))
    (found,) = search(DECODER, source, rules=[rule], max_length=5)[0]
    batch = text_batch([ids_in_reading_order(found)], [[5, 4]])
    order = torch.tensor(order_of_slots(found.slots)).view(1, 1, -1)
    assert found.score == pytest.approx(DECODER.log_prob(batch, order).item(), abs=1e-4)


def test_no_rules_change_nothing():
    source = DECODER.encode(text_batch([[4]], [[5, 4]]))
    plain = search(DECODER, source, beam=3, max_length=6)
    assert plain == search(DECODER, source, beam=3, max_length=6, rules=[Rules()])


def test_too_little_room():
    rule = Rules((4,), (True, False), (True, False), required=((5, 6),))
    source = DECODER.encode(text_batch([[4]], [[5]]))
    with pytest.raises(DataError, match=r"the target needs room for 4 tokens .* has 3: raise"):
        search(DECODER, source, rules=[rule], max_length=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((4,), (True,), (False,)), "expected 2 slots, got 1"),
        (((), (False,), (True,)), "a gap must be an open slot"),
        (((), (False,), (False,), ((4,),)), "required words need an open slot"),
        (((), (True,), (False,), ((),)), "a required word needs at least one token"),
    ],
)
def test_rules_must_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        Rules(*arguments)


def test_rules_of_one_batch_know_the_same_pieces():
    words, pieces = Rules((4,), (True, True), (False, False)), frozenset({8, 9})
    source = DECODER.encode(text_batch([[4], [5]], [[5], [6]]))
    other = Rules((4,), (True, True), (False, False), joins=pieces)
    with pytest.raises(ValueError, match="joins and marks must be the same"):
        search(DECODER, source, rules=[words, other], max_length=MAX_LENGTH)
    assert len(search(DECODER, source, rules=[Rules(), other], max_length=MAX_LENGTH)) == 2
