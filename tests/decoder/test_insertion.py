"""log p(y, z | x) against enumeration, against a second implementation, and its invariances."""

import dataclasses
import random
from itertools import permutations, product

import pytest
import torch

from chance import assert_frequencies
from enumeration import all_orders
from naive_decoder import (
    insert_all,
    naive_slot_log_probs,
    naive_states,
    naive_terms,
    naive_token_log_probs,
    order_from,
    slots_of,
)
from small_models import orders_of, producible, region_batch, text_batch, tiny_decoder
from voi.batch import Batch
from voi.tokens import END, START

TARGETS = [[4, 5, 6, 4], [5], [6, 1], [4, 4, 5, 6, 1]]
SOURCES = [[4, 5], [6, 6, 6, 4], [5], [1, 4]]
ORDERS = [[2, 0, 3, 1], [0], [1, 0], [4, 1, 0, 3, 2]]


def text_of(row):
    return text_batch([TARGETS[row]], [SOURCES[row]])


def everything(vocabulary_size, length):
    """Every (y, z) of a length, as a batch without source and one order per row."""
    pairs = [
        (words, order)
        for words in product(producible(vocabulary_size), repeat=length)
        for order in permutations(range(length))
    ]
    target, orders = torch.tensor(pairs, dtype=torch.long).reshape(len(pairs), 2, length).unbind(1)
    return Batch(target, torch.full((len(pairs),), length)), orders.unsqueeze(0)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("count_steps", [False, True])
@pytest.mark.parametrize("vocabulary_size", [5, 6])  # 2 or 3 words can be written, one is UNK
@torch.no_grad()
def test_mass_of_all_targets_and_orders_is_one(dtype, tolerance, vocabulary_size, count_steps):
    decoder = tiny_decoder(vocabulary_size, count_steps=count_steps).to(dtype)
    longest = 3 if vocabulary_size == 5 else 2
    finished = sum(
        decoder.log_prob(*everything(vocabulary_size, n)).exp().sum() for n in range(longest + 1)
    )
    terms = decoder.step_log_probs(*everything(vocabulary_size, longest + 1))
    unfinished = (terms.tokens[..., :-1].sum(-1) + terms.slots.sum(-1)).exp().sum()
    assert 0.1 < finished < 0.99  # both parts matter
    assert terms.tokens.dtype == terms.slots.dtype == dtype
    assert abs(finished + unfinished - 1) < tolerance


@torch.no_grad()
def test_mass_not_ended_falls_by_what_ends():
    decoder = tiny_decoder(5).double()
    for n in range(3):
        terms = decoder.step_log_probs(*everything(5, n))
        ended = terms.joint.exp().sum()
        before = (terms.tokens[..., :-1].sum(-1) + terms.slots.sum(-1)).exp().sum()
        longer = decoder.step_log_probs(*everything(5, n + 1))
        after = (longer.tokens[..., :-1].sum(-1) + longer.slots.sum(-1)).exp().sum()
        torch.testing.assert_close(before, ended + after, rtol=1e-12, atol=0)


@pytest.mark.parametrize("count_steps", [False, True])
@pytest.mark.parametrize("row", range(len(TARGETS)))
@torch.no_grad()
def test_terms_equal_a_second_implementation(row, count_steps):
    decoder, batch = tiny_decoder(count_steps=count_steps).double(), text_of(row)
    source = decoder.encode(batch).states[0]
    order = ORDERS[row]
    words = [TARGETS[row][i] for i in order]
    assert insert_all(words, slots_of(order)) == TARGETS[row]
    tokens, slots, means = naive_terms(decoder, words, slots_of(order), source)
    terms = decoder.step_log_probs(batch, orders_of([order]))
    torch.testing.assert_close(terms.tokens[0, 0], tokens)
    torch.testing.assert_close(terms.slots[0, 0], slots)
    torch.testing.assert_close(terms.means[0, 0], means)
    torch.testing.assert_close(terms.joint[0, 0], tokens.sum() + slots.sum())


@pytest.mark.parametrize("count_steps", [False, True])
@torch.no_grad()
def test_terms_equal_a_second_implementation_in_all_orders(count_steps):
    decoder = tiny_decoder(layers=1, count_steps=count_steps).double()
    batch = text_batch([[4, 5, 4]])
    orders = all_orders(3)
    terms = decoder.step_log_probs(batch, orders.unsqueeze(1))
    source = decoder.encode(batch).states[0]
    for k, order in enumerate(orders.tolist()):
        words = [batch.target[0, i].item() for i in order]
        tokens, slots, _ = naive_terms(decoder, words, slots_of(order), source)
        torch.testing.assert_close(terms.tokens[k, 0], tokens)
        torch.testing.assert_close(terms.slots[k, 0], slots)


def test_smoothing_mixes_in_the_mean_over_words():
    terms = tiny_decoder().step_log_probs(text_of(0), orders_of([ORDERS[0]]))
    expected = 0.9 * terms.tokens + 0.1 * terms.means
    torch.testing.assert_close(terms.smoothed(0.1), expected.sum(-1) + terms.slots.sum(-1))
    torch.testing.assert_close(terms.smoothed(0.0), terms.joint)


@pytest.mark.parametrize("step", range(4))
@torch.no_grad()
def test_a_word_changes_no_term_before_it(step):
    decoder = tiny_decoder()
    order = ORDERS[0]
    other = list(TARGETS[0])
    other[order[step]] = 1
    old, new = (
        decoder.step_log_probs(text_batch([y], [SOURCES[0]]), orders_of([order]))
        for y in (TARGETS[0], other)
    )
    assert torch.equal(old.tokens[..., :step], new.tokens[..., :step])
    assert torch.equal(old.slots[..., :step], new.slots[..., :step])
    assert (old.tokens[..., step:] != new.tokens[..., step:]).all()  # and every one after it


@torch.no_grad()
def test_later_steps_change_no_term_before_them():
    """All continuations of the same words and slots agree on the terms of the beginning."""
    decoder = tiny_decoder().double()
    histories = [
        (words, slots)
        for words in product((4, 5), repeat=4)
        for slots in product(*(range(t + 1) for t in range(4)))
    ]
    targets = [insert_all(list(words), list(slots)) for words, slots in histories]
    orders = orders_of([order_from(list(slots)) for _, slots in histories])
    terms = decoder.step_log_probs(text_batch(targets), orders)
    for step in range(1, 4):
        groups: dict[tuple, list[int]] = {}
        for row, (words, slots) in enumerate(histories):
            groups.setdefault((words[:step], slots[:step]), []).append(row)
        assert len(groups) == 2**step * [1, 1, 2, 6][step]
        for rows in groups.values():
            for known in (terms.tokens[0, rows, :step], terms.slots[0, rows, :step]):
                torch.testing.assert_close(known, known[:1].expand_as(known))
            assert terms.tokens[0, rows, step].std() > 1e-3  # the word at `step` does differ


@pytest.mark.parametrize("head", ["insertion", "sequential"])
@torch.no_grad()
def test_padding_and_batch_mates_have_no_influence(head):
    decoder = tiny_decoder(head=head)
    orders = ORDERS if head == "insertion" else [sorted(order) for order in ORDERS]
    together = decoder.step_log_probs(text_batch(TARGETS, SOURCES), orders_of(orders))
    padded = text_batch(TARGETS, SOURCES, target_width=9, source_width=8)
    wide = decoder.step_log_probs(padded, orders_of(orders, 9))
    assert wide.tokens.shape == (1, 4, 10)
    assert wide.slots.shape == (1, 4, 9)
    for row, order in enumerate(orders):
        alone = decoder.step_log_probs(text_of(row), orders_of([order]))
        n = len(order)
        for terms in (together, wide):
            for name, size in (("tokens", n + 1), ("slots", n), ("means", n + 1)):
                values = getattr(terms, name)[0, row]
                expected = getattr(alone, name)[0, 0]
                torch.testing.assert_close(values[:size], expected, rtol=1e-5, atol=1e-5)
                assert not values[size:].any()  # zero on padding


@torch.no_grad()
def test_what_stands_in_padding_has_no_influence():
    decoder = tiny_decoder()
    clean = text_batch(TARGETS, SOURCES, 6, 5)
    source, target = clean.source.clone(), clean.target.clone()
    source[~clean.source_mask] = 6
    target[~clean.target_mask] = 5
    dirty = Batch(target, clean.lengths, source, source_lengths=clean.source_lengths)
    orders = orders_of(ORDERS, 6)
    torch.testing.assert_close(decoder.log_prob(dirty, orders), decoder.log_prob(clean, orders))


def test_padding_receives_no_gradient():
    decoder = tiny_decoder()
    batch = text_batch([[4, 5], [5, 4, 5, 4]], [[5], [4, 5, 4]])
    decoder.log_prob(batch, orders_of([[1, 0], [3, 1, 2, 0]])).sum().backward()
    gradients = [p.grad for p in decoder.parameters()]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    assert not decoder.embedding.weight.grad[0].any()  # PAD is never read nor produced


@torch.no_grad()
def test_orders_scored_together_equal_one_at_a_time():
    decoder, batch = tiny_decoder(), text_batch(TARGETS, SOURCES)
    reverse = [list(reversed(order)) for order in ORDERS]
    reading = [sorted(order) for order in ORDERS]
    choices = [orders_of(orders) for orders in (ORDERS, reverse, reading)]
    folded = decoder.log_prob(batch, torch.cat(choices))
    alone = torch.cat([decoder.log_prob(batch, orders) for orders in choices])
    torch.testing.assert_close(folded, alone, rtol=1e-5, atol=1e-5)
    given = decoder.step_log_probs(batch, torch.cat(choices), decoder.encode(batch))
    torch.testing.assert_close(given.joint, folded)


@torch.no_grad()
def test_sources_matter_and_only_the_own_one():
    decoder = tiny_decoder()
    batch = text_batch([[4, 5], [4, 5]], [[4, 5, 6], [4, 5, 6]])
    other = text_batch([[4, 5], [4, 5]], [[4, 5, 6], [6, 5]])
    orders = orders_of([[1, 0], [1, 0]])
    same, changed = decoder.log_prob(batch, orders)[0], decoder.log_prob(other, orders)[0]
    torch.testing.assert_close(same[0], same[1])
    torch.testing.assert_close(same[0], changed[0])
    assert abs(same[1] - changed[1]) > 1e-3


@torch.no_grad()
def test_image_regions_as_sources():
    """Regions are a set; an image without any, alone or beside others, equals no source at all."""
    decoder = tiny_decoder(region_size=3)
    targets, orders = [[4, 5], [4, 5], [6]], orders_of([[1, 0], [1, 0], [0]])
    batch = region_batch(targets, [4, 0, 2])
    scores = decoder.log_prob(batch, orders)[0]
    nothing = decoder.log_prob(text_batch(targets), orders)[0]
    torch.testing.assert_close(scores[1], nothing[1])
    assert (scores - nothing)[[0, 2]].abs().min() > 5e-5
    empty = decoder.log_prob(region_batch(targets, [0, 0, 0]), orders)[0]
    torch.testing.assert_close(empty, nothing)
    turned = dataclasses.replace(batch, features=batch.features.clone(), boxes=batch.boxes.clone())
    turned.features[0], turned.boxes[0] = batch.features[0].flip(0), batch.boxes[0].flip(0)
    turned.features[2, 2:] = 9.0  # padding
    torch.testing.assert_close(decoder.log_prob(turned, orders)[0], scores)


@torch.no_grad()
def test_an_empty_target_is_end_alone():
    decoder = tiny_decoder().double()
    batch = Batch(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 0]))
    source = decoder.encode(batch).states[0]
    state = naive_states(decoder, [START], [0], source)[-1]
    expected = naive_token_log_probs(decoder, state)[END]
    scores = decoder.log_prob(batch, torch.zeros(3, 2, 0, dtype=torch.long))
    torch.testing.assert_close(scores, expected.expand(3, 2))


@pytest.mark.statistical
@torch.no_grad()
def test_samples_taken_step_by_step_follow_the_joint():
    """Frequencies of 40,000 ancestral samples are as exp(log_prob) says."""
    decoder, num_samples, longest = tiny_decoder(5).double(), 40_000, 2
    source = decoder.encode(text_batch([[4]])).states[0]
    rng, conditionals, counts = random.Random(0), {}, {}
    for _ in range(num_samples):
        outcome = _ancestral(decoder, source, longest, rng, conditionals)
        counts[outcome] = counts.get(outcome, 0) + 1
    outcomes, probabilities = [], []
    for n in range(longest + 1):
        batch, orders = everything(5, n)
        for words, order in zip(batch.target.tolist(), orders[0].tolist(), strict=True):
            outcomes.append((tuple(words[i] for i in order), tuple(slots_of(order))))
        probabilities += decoder.log_prob(batch, orders)[0].exp().tolist()
    assert set(counts) <= {*outcomes, "longer"}
    outcomes.append("longer")
    probabilities.append(1 - sum(probabilities))
    found = [counts.get(outcome, 0) for outcome in outcomes]
    assert_frequencies(found, probabilities, num_samples)


def _ancestral(decoder, source, longest, rng, conditionals):
    """One sample (words, slots): token, then slot; cut as "longer" beyond `longest` tokens."""
    words, slots, reading = (), (), [0]
    while True:
        if (words, slots) not in conditionals:
            conditionals[words, slots] = _conditionals(decoder, source, words, list(reading))
        by_word, by_slot = conditionals[words, slots]
        word = rng.choices(list(by_word), list(by_word.values()))[0]
        if word == END:
            return words, slots
        if len(words) == longest:
            return "longer"
        slot = rng.choices(range(len(reading)), by_slot[word])[0]
        words, slots = (*words, word), (*slots, slot)
        reading.insert(slot + 1, len(words))


def _conditionals(decoder, source, words, reading):
    states = decoder.states(
        torch.tensor([words], dtype=torch.long).reshape(1, -1),
        torch.tensor([[reading.index(t + 1) - 1 for t in range(len(words))]]).long().reshape(1, -1),
        decoder.encode(text_batch([[4]])),
    )[0]
    by_word = {w: p.exp().item() for w, p in naive_token_log_probs(decoder, states[-1]).items()}
    by_slot = {
        w: [p.exp().item() for p in naive_slot_log_probs(decoder, states, reading, w)]
        for w in by_word
        if w != END
    }
    return by_word, by_slot


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(1, 2), (0, 1, 2), (3, 1, 4), (2, 2)])
def test_orders_of_another_shape_are_refused(shape):
    batch = text_batch([[4, 5]], [[4]])
    with pytest.raises(ValueError, match=r"orders must be \[K, batch, n\]"):
        tiny_decoder().log_prob(batch, torch.zeros(shape, dtype=torch.long))


@pytest.mark.parametrize("order", [[0, 0, 2], [1, 2, 0], [0, 3, 2]])
def test_what_is_no_order_is_refused(order):
    batch = text_batch([[4, 5], [4, 5, 4]], [[4], [4]])
    orders = torch.tensor([[[1, 0, 2], [2, 0, 1]]])
    assert tiny_decoder().log_prob(batch, orders).shape == (1, 2)
    orders[0, 0] = torch.tensor(order)
    with pytest.raises(ValueError, match="every position of its target once"):
        tiny_decoder().log_prob(batch, orders)
