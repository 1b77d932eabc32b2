"""Search against enumeration, teacher forcing and a naive greedy loop."""

import dataclasses
import math
from itertools import pairwise, permutations, product

import pytest
import torch

from chance import assert_frequencies
from small_models import region_batch, roughen, text_batch, tiny_decoder
from voi.analysis import order_of_slots
from voi.decoder.cache import Stepper
from voi.errors import DataError
from voi.search import Rules, Sampling, ids_in_reading_order, search
from voi.search.choose import nucleus
from voi.search.rule_state import RuleState
from voi.search.search import Finished
from voi.search.state import History, SearchState
from voi.tokens import END

SOURCES = [[4, 5, 6], [6], [5, 4], [4, 4], [6, 5, 4, 6]]
TOKENS = (1, 4, 5)  # what a vocabulary of 6 can write beside END: <unk> and two tokens


def _source(decoder, sources=SOURCES):
    return decoder.encode(text_batch([[4]] * len(sources), sources))


def _joint(decoder, source_ids, found):
    """Return log p(y, z | x) of a hypothesis by teacher forcing."""
    ids, order = ids_in_reading_order(found), order_of_slots(found.slots)
    batch = text_batch([ids], [source_ids])
    orders = torch.tensor(order, dtype=torch.long).view(1, 1, -1)
    return decoder.log_prob(batch, orders).item()


@pytest.mark.parametrize("head", ["insertion", "sequential"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 3, "nbest": 3},
        {"beam": 4, "nbest": 2, "length_penalty": 0.8},
        {"sampling": Sampling(3, temperature=1.3, top_p=0.9)},
    ],
    ids=str,
)
def test_score_is_the_log_probability_of_what_is_returned(head, options):
    decoder = tiny_decoder(head=head)
    results = search(decoder, _source(decoder), max_length=7, **options)
    for source_ids, hypotheses in zip(SOURCES, results, strict=True):
        for found in hypotheses:
            assert found.score == pytest.approx(_joint(decoder, source_ids, found), abs=1e-4)
            total = sum(found.token_scores) + sum(found.slot_scores)
            assert found.score == pytest.approx(total, abs=1e-4)
            assert len(found.token_scores) == len(found.tokens) + 1 == len(found.slots) + 1


def _enumerated(decoder, longest):
    """Yield (log p(y, z), y, z) of everything up to a length."""
    for n in range(longest + 1):
        orders = torch.tensor(list(permutations(range(n))), dtype=torch.long)
        orders = orders.view(math.factorial(n), 1, n)
        for y in product(TOKENS, repeat=n):
            scores = decoder.log_prob(text_batch([list(y)], [[5, 4]]), orders)
            for order, score in zip(orders[:, 0].tolist(), scores[:, 0].tolist(), strict=True):
                yield score, list(y), order


@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_of_all(seed):
    decoder = tiny_decoder(6, seed=seed)
    everything = sorted(_enumerated(decoder, 3), key=lambda x: -x[0])
    best = search(decoder, _source(decoder, [[5, 4]]), beam=200, nbest=5, max_length=3)[0]
    for found, (score, tokens, order) in zip(best, everything, strict=False):
        assert found.score == pytest.approx(score, abs=1e-4)
        assert (ids_in_reading_order(found), order_of_slots(found.slots)) == (tokens, order)


def _greedy(decoder, source_ids, max_length):
    """Return tokens and slots of greedy decoding by trying every pair with teacher forcing."""
    tokens, slots, size = [], [], decoder.embedding.num_embeddings
    while True:
        stepper = Stepper(decoder)
        states = decoder.states(
            torch.tensor([tokens], dtype=torch.long).view(1, -1),
            torch.tensor([order_of_slots(slots)], dtype=torch.long).view(1, -1),
            decoder.encode(text_batch([[4]], [source_ids])),
        )
        end = stepper.token_log_probs(states[0, -1])[END].item()
        pairs = [(end, END, 0)]
        for token in [w for w in range(size) if w not in (0, 2, END)]:
            for slot in range(len(tokens) + 1):
                order = torch.tensor(order_of_slots([*slots, slot])).view(1, 1, -1)
                text = torch.empty(len(tokens) + 1, dtype=torch.long)
                text[order[0, 0]] = torch.tensor([*tokens, token])
                terms = decoder.step_log_probs(text_batch([text.tolist()], [source_ids]), order)
                step = len(tokens)
                score = terms.tokens[0, 0, step].item() + terms.slots[0, 0, step].item()
                pairs.append((score, token, slot))
        _, token, slot = max(pairs)
        if token == END or len(tokens) == max_length:
            return tokens, slots
        tokens.append(token)
        slots.append(slot)


def test_beam_one_is_greedy():
    decoder = tiny_decoder(7, seed=3)
    results = search(decoder, _source(decoder), beam=1, max_length=5)
    for source_ids, (found,) in zip(SOURCES, results, strict=True):
        tokens, slots = _greedy(decoder, source_ids, 5)
        assert (list(found.tokens), list(found.slots)) == (tokens, slots)


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "nbest": 3, "length_penalty": 0.5}])
def test_a_batch_of_64_equals_64_batches_of_one(options):
    decoder = tiny_decoder(12, seed=5)
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 6, (64,), generator=generator).tolist()
    sources = [torch.randint(4, 12, (n,), generator=generator).tolist() for n in lengths]
    together = search(decoder, _source(decoder, sources), max_length=8, **options)
    for ids, hypotheses in zip(sources, together, strict=True):
        (alone,) = search(decoder, _source(decoder, [ids]), max_length=8, **options)
        assert [(f.tokens, f.slots) for f in alone] == [(f.tokens, f.slots) for f in hypotheses]


@pytest.mark.statistical
def test_wider_beams_score_higher_on_average():
    decoder = tiny_decoder(12, seed=7)
    generator = torch.Generator().manual_seed(1)
    sources = torch.randint(4, 12, (48, 4), generator=generator).tolist()
    means = []
    for beam in (1, 2, 4, 8):
        results = search(decoder, _source(decoder, sources), beam=beam, max_length=6)
        means.append(sum(found[0].score for found in results) / len(results))
    assert all(wide >= narrow - 1e-6 for narrow, wide in pairwise(means))


@pytest.mark.statistical
def test_samples_follow_the_model():
    decoder = tiny_decoder(6, seed=2)
    count = 4000
    drawn = search(
        decoder, _source(decoder, [[5, 4]]), max_length=30, sampling=Sampling(count, seed=1)
    )[0]
    seen: dict[tuple, int] = {}
    for found in drawn:
        key = (tuple(ids_in_reading_order(found)), tuple(order_of_slots(found.slots)))
        seen[key] = seen.get(key, 0) + 1
    every = list(_enumerated(decoder, 2))
    counts = [seen.get((tuple(tokens), tuple(order)), 0) for _, tokens, order in every]
    assert_frequencies(counts, [math.exp(score) for score, _, _ in every], count)


def test_sampling_is_reproducible_and_differs_by_seed():
    decoder = tiny_decoder(seed=4)
    draws = [
        search(decoder, _source(decoder), max_length=6, sampling=Sampling(4, seed=seed))
        for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_a_tiny_nucleus_is_greedy_in_tokens_and_slots():
    probs = torch.tensor([[0.1, 0.6, 0.3], [0.4, 0.35, 0.25]])
    assert nucleus(probs, 0.5).tolist() == [[False, True, False], [True, True, False]]


def test_max_length_ends_every_hypothesis():
    decoder = tiny_decoder(seed=6)
    with torch.no_grad():
        decoder.embedding.weight[END] -= 50 * decoder.embedding.weight[4]  # END is hardly likely
    for hypotheses in search(decoder, _source(decoder), beam=3, nbest=3, max_length=4):
        assert all(len(found.tokens) <= 4 for found in hypotheses)


@pytest.mark.parametrize(
    "options",
    [
        {"num_samples": 0},
        *({"temperature": value} for value in (0.0, 1e-30, math.inf, math.nan)),
        *({"top_p": value} for value in (0.0, 1e-50, 1.5, math.nan)),
        {"seed": -5},
    ],
    ids=str,
)
def test_bad_sampling(options):
    with pytest.raises(ValueError, match="sampling needs"):
        Sampling(**options)


def test_more_best_than_beams():
    decoder = tiny_decoder()
    with pytest.raises(ValueError, match=r"at least 1 and at most 2 .*, got 3"):
        search(decoder, _source(decoder), beam=2, nbest=3)
    with pytest.raises(ValueError, match=r"at least 1 and at most 2 .*, got 0"):
        search(decoder, _source(decoder), beam=2, nbest=0)
    with pytest.raises(ValueError, match=r"at least 1 and at most 1 .*, got 2"):
        search(decoder, _source(decoder), sampling=Sampling(), beam=3, nbest=2)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_every_example_has_rules(count):
    decoder = tiny_decoder()
    with pytest.raises(ValueError, match=f"Rules of each of 3 examples, got {count}"):
        search(decoder, _source(decoder, SOURCES[:3]), rules=[Rules()] * count)


def test_draws_depend_on_the_seed_and_the_number_alone():
    decoder = tiny_decoder(12, seed=9)
    sources = [[4, 5], [6], [7, 8, 9], [5, 5]]
    sampling = Sampling(num_samples=3, seed=5)
    together = search(decoder, _source(decoder, sources), sampling=sampling, max_length=6)
    for number, row in enumerate(sources):
        alone = search(
            decoder, _source(decoder, [row]), sampling=sampling, max_length=6, first=number
        )
        assert [one.tokens for one in alone[0]] == [one.tokens for one in together[number]]
        assert [one.slots for one in alone[0]] == [one.slots for one in together[number]]
    texts = {one.tokens for row in together for one in row}
    assert len(texts) > len(sources)  # samples of one source differ


def test_double_precision_is_kept():
    decoder = tiny_decoder(8, seed=10).double()
    batch = text_batch([[4]], [[5, 4]])
    (found,) = search(decoder, decoder.encode(batch), beam=2, max_length=5)[0]
    batch = text_batch([ids_in_reading_order(found)], [[5, 4]])
    order = torch.tensor(order_of_slots(found.slots)).view(1, 1, -1)
    assert found.score == pytest.approx(decoder.log_prob(batch, order).item(), abs=1e-12)


@pytest.mark.parametrize("penalty", [-1.0, 0.0, 1.0])
def test_a_search_goes_on_while_an_open_hypothesis_can_win(penalty):
    """One is closed at -2.3 after 3 steps; of the open ones one is better, one hopeless."""
    decoder = tiny_decoder()
    rules = RuleState.start([Rules()] * 2, 2, 200, torch.device("cpu"))
    started = SearchState.start(Stepper(decoder), _source(decoder, SOURCES[:2]), 2, rules)
    words, scores = torch.full((2, 2, 3), END), torch.zeros(2, 2, 3)
    state = dataclasses.replace(
        started,
        history=History(words, words, scores, scores),
        scores=torch.tensor([[-2.3, -0.1], [-2.3, -999.0]]),
        lengths=torch.full((2, 2), 3),
        closed=torch.tensor([[True, False]] * 2),
    )
    assert Finished(2, 1, penalty).take(state, torch.arange(2)).tolist() == [False, True]


def test_differences_below_single_precision_decide_a_search_in_double():
    decoder = tiny_decoder().double()
    rules = RuleState.start([Rules()], 2, 200, torch.device("cpu"))
    started = SearchState.start(Stepper(decoder), _source(decoder, SOURCES[:1]), 2, rules)
    words, zeros = torch.full((1, 2, 3), END), torch.zeros(1, 2, 3, dtype=torch.float64)
    state = dataclasses.replace(
        started,
        history=History(words, words, zeros, zeros),
        scores=torch.tensor([[-10.0000003, -10.0000001]], dtype=torch.float64),
        lengths=torch.full((1, 2), 3),
        closed=torch.tensor([[True, False]]),
    )
    assert Finished(1, 1, 0.0).take(state, torch.arange(1)).tolist() == [False]


@pytest.mark.parametrize(("beam", "seed"), [(2, 16), (2, 36), (4, 10), (3, 0)])
@pytest.mark.parametrize("penalty", [0.0, 0.6])
def test_nothing_that_was_finished_is_lost_to_beginnings_that_end_badly(
    beam, seed, penalty, monkeypatch
):
    """All that a step finished within the beam is noted; the best of it must come back."""
    decoder, ended = tiny_decoder(10, layers=1, seed=seed), []
    roughen(decoder, 0.8)
    advance = SearchState.advance

    def noting(self, choice):
        state = advance(self, choice)
        for place in (state.closed & state.scores.isfinite())[0].nonzero().flatten().tolist():
            score, length = state.scores[0, place].item(), state.lengths[0, place].item()
            ended.append((score / ((5 + length) / 6) ** penalty, score))
        return state

    monkeypatch.setattr(SearchState, "advance", noting)
    (found,) = search(
        decoder, _source(decoder, [[3]]), beam=beam, nbest=2, max_length=8, length_penalty=penalty
    )
    wanted = [score for _, score in sorted(set(ended), reverse=True)[:2]]
    assert [one.score for one in found] == wanted


TWO_GIVEN = Rules((5, 6), open_slots=(True,) * 3, gaps=(False,) * 3)
PREFIX = Rules((5,), open_slots=(False, True), gaps=(False, False))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rules", [Rules(), TWO_GIVEN, PREFIX])
def test_a_beam_wider_than_all_candidates_finds_each_once(seed, rules):
    decoder = tiny_decoder(7 if rules.given else 4, seed=seed)
    (found,) = search(
        decoder, _source(decoder, [[1]]), beam=40, nbest=40, max_length=3, rules=[rules]
    )
    written = [(one.tokens, one.slots) for one in found]
    assert found
    assert len(set(written)) == len(written)


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_sources_that_are_no_numbers_are_an_error(beam):
    decoder = tiny_decoder(7, region_size=3)
    batch = region_batch([[], []], [2, 2])
    batch.features[1, 0, 0] = math.nan
    with pytest.raises(FloatingPointError, match="no numbers"):
        search(decoder, decoder.encode(batch), beam=beam, max_length=5)


def test_a_decoder_that_drops_units_is_refused():
    decoder = tiny_decoder(dropout=0.3).train()
    with pytest.raises(ValueError, match="training mode"):
        search(decoder, _source(decoder), max_length=5)


def test_samples_of_a_decoder_that_gives_no_numbers_are_an_error():
    decoder = tiny_decoder(7)
    source = decoder.encode(text_batch([[]], [[4]]))
    source = source._replace(states=source.states * torch.nan)
    with pytest.raises(FloatingPointError, match="gives no numbers"):
        search(decoder, source, max_length=3, sampling=Sampling())


@pytest.mark.parametrize("options", [{}, {"beam": 2}, {"sampling": Sampling()}], ids=str)
def test_slot_scores_that_are_no_numbers_are_an_error(options):
    decoder = tiny_decoder(7)
    source = decoder.encode(text_batch([[]], [[4]]))
    with torch.no_grad():
        decoder.slots.word.weight[0, 0] = torch.nan
    with pytest.raises(FloatingPointError, match="gives no numbers"):
        search(decoder, source, max_length=3, **options)


@pytest.mark.parametrize("sampling", [None, Sampling()])
def test_a_decoder_without_slots_fills_no_gap_before_given_words(sampling):
    decoder = tiny_decoder(7, head="sequential")
    source = decoder.encode(text_batch([[]], [[4]]))
    inner = Rules((4, 5), open_slots=(False, True, False), gaps=(False, True, False))
    with pytest.raises(DataError, match="writes left to right"):
        search(decoder, source, max_length=5, rules=[inner], sampling=sampling)
    last = Rules((4, 5), open_slots=(False, False, True), gaps=(False, False, True))
    ((found, *_),) = search(decoder, source, max_length=5, rules=[last], sampling=sampling)
    assert ids_in_reading_order(found)[:2] == [4, 5]
