"""Searched orders against enumeration, teacher forcing, and a decoder whose order is known."""

import copy
import math
from itertools import permutations

import pytest
import torch
from torch import nn

from small_models import orders_of, text_batch, tiny_decoder
from voi.analysis import normalized_levenshtein
from voi.batch import Batch
from voi.config import DecoderConfig, OrderConfig
from voi.decoder import InsertionDecoder
from voi.orders import make_orders, search_orders
from voi.permutation import inverse

TARGETS = [[4, 5, 6, 5], [6, 4], [5, 5, 5, 5], [4]]
SOURCES = [[4, 6], [5], [6, 6, 4], [4, 5]]


def _enumerated(decoder, batch):
    """Return {order: log p(y, z | x)} of every example, by teacher forcing."""
    tables = []
    for row, length in enumerate(batch.lengths.tolist()):
        table = {}
        for order in permutations(range(length)):
            orders = [list(range(n)) for n in batch.lengths.tolist()]
            orders[row] = list(order)
            table[order] = decoder.log_prob(batch, orders_of(orders))[0, row].item()
        tables.append(table)
    return tables


@pytest.mark.parametrize("count_steps", [True, False])
def test_a_beam_as_wide_as_all_orders_finds_the_best(count_steps):
    decoder = tiny_decoder(seed=3, count_steps=count_steps)
    batch = text_batch(TARGETS, SOURCES)
    found = search_orders(decoder, batch, beam=24)
    for row, table in enumerate(_enumerated(decoder, batch)):
        length = int(batch.lengths[row])
        best = sorted(table.values(), reverse=True)
        assert found.scores[row, : len(best)].tolist() == pytest.approx(best, abs=1e-4)
        assert (found.scores[row, len(best) :] == -math.inf).all()
        listed = [tuple(order[:length]) for order in found.orders[row, : len(best)].tolist()]
        assert set(listed) == set(table)
        assert table[listed[0]] == pytest.approx(best[0], abs=1e-4)


def test_scores_are_those_of_teacher_forcing_and_tails_stay_in_place():
    decoder, batch = tiny_decoder(seed=4), text_batch(TARGETS, SOURCES)
    found = search_orders(decoder, batch, beam=3)
    exact = decoder.log_prob(batch, found.orders.transpose(0, 1)).transpose(0, 1)
    exists = found.scores.isfinite()
    torch.testing.assert_close(found.scores[exists], exact[exists].detach(), atol=1e-4, rtol=0)
    assert exists.sum(1).tolist() == [3, 2, 3, 1]
    assert found.orders.sort(-1).values.eq(torch.arange(4)).all()
    assert found.orders[1, :, 2:].eq(torch.tensor([2, 3])).all()


def test_a_batch_is_its_examples_one_by_one():
    decoder = tiny_decoder(seed=5)
    together = search_orders(decoder, text_batch(TARGETS, SOURCES), beam=4)
    for row, (target, source) in enumerate(zip(TARGETS, SOURCES, strict=True)):
        alone = search_orders(decoder, text_batch([target], [source]), beam=4)
        torch.testing.assert_close(alone.scores[0], together.scores[row], atol=1e-5, rtol=0)
        assert torch.equal(alone.orders[0], together.orders[row, :, : len(target)])


@pytest.mark.parametrize("weighting", ["best", "uniform", "softmax"])
def test_the_orders_found_become_a_law(weighting):
    decoder, batch = tiny_decoder(seed=6), text_batch(TARGETS, SOURCES)
    config = OrderConfig(kind="sao", beam=3, weighting=weighting)
    law = make_orders("sao", config, torch.zeros(7, dtype=torch.long), decoder)(batch)
    found = search_orders(decoder, batch, beam=3)
    probs = law.log_prob(found.orders.transpose(0, 1)).exp().T  # [batch, beam]
    weights = found.scores.softmax(-1)
    expected = {
        "best": torch.tensor([1.0, 0.0, 0.0]).expand_as(weights),
        "uniform": found.scores.isfinite() / found.scores.isfinite().sum(1, keepdim=True),
        "softmax": weights,
    }[weighting]
    exists = found.scores.isfinite()
    torch.testing.assert_close(probs[exists], expected[exists], atol=1e-5, rtol=0)
    assert law.log_prob(law.sample(torch.Size([5]))).isfinite().all()
    assert torch.equal(law.mode, found.orders[:, 0])


def test_a_search_leaves_training_mode_and_gradients_alone():
    decoder, batch = tiny_decoder(seed=7, dropout=0.5).train(), text_batch(TARGETS, SOURCES)
    first, second = (search_orders(decoder, batch, decoder.encode(batch)) for _ in range(2))
    assert decoder.training
    assert not first.scores.requires_grad
    assert not torch.equal(first.scores, second.scores)  # the sources were encoded with dropout


def test_the_order_a_decoder_was_trained_on_is_found_again():
    """The word written at step t is one of two that no other step writes."""
    torch.manual_seed(0)
    known = torch.tensor([1, 3, 0, 4, 2])
    config = DecoderConfig(width=32, hidden=64, heads=2, source_layers=0, layers=2)
    decoder = InsertionDecoder(config, vocabulary_size=14)
    optimiser = torch.optim.Adam(decoder.parameters(), lr=3e-3)
    for _ in range(100):
        loss = -decoder.log_prob(_pairs_of_words(known), known.expand(1, 32, 5)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = search_orders(decoder, _pairs_of_words(known)).orders[:, 0]
    assert normalized_levenshtein(found, known.expand_as(found)).mean() <= 0.02


def _pairs_of_words(known):
    by_step = 4 + 2 * torch.arange(5) + torch.randint(2, (32, 5))
    return Batch(by_step[:, inverse(known)], torch.full((32,), 5))


def test_a_copy_of_both_networks_searches_under_its_own_decoder():
    decoder = tiny_decoder()
    counts = torch.ones(7, dtype=torch.long)
    pair = nn.ModuleList([decoder, make_orders("sao", OrderConfig(), counts, decoder)])
    copied = copy.deepcopy(pair)
    assert copied[1]._decoder is copied[0]
    assert len(list(pair[1].parameters())) == 0
