"""Decoding with a cache gives the states and probabilities that teacher forcing gives."""

import pytest
import torch

from small_models import text_batch, tiny_decoder
from voi.decoder.cache import Stepper
from voi.permutation import from_slots

SOURCES = [[4, 5, 6], [6], [5, 4]]


def _random_readings(generator, batch, beam, steps):
    """Return random tokens and slots of `beam` hypotheses that branch from one another."""
    parents = [torch.randint(beam, (batch, beam), generator=generator) for _ in range(steps)]
    tokens = [torch.randint(4, 7, (batch, beam), generator=generator) for _ in range(steps)]
    slots = [torch.randint(t + 1, (batch, beam), generator=generator) for t in range(steps)]
    return parents, tokens, slots


@pytest.mark.parametrize("count_steps", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_branching_hypotheses_equal_teacher_forcing(count_steps, seed):
    batch, beam, steps = len(SOURCES), 3, 18  # more steps than the cache has room for at first
    decoder = tiny_decoder(count_steps=count_steps, seed=seed).double()
    source = decoder.encode(text_batch([[4]] * batch, SOURCES))
    stepper = Stepper(decoder)
    cache, states, reading = stepper.start(source, beam, capacity=2)
    parents, tokens, slots = _random_readings(
        torch.Generator().manual_seed(seed), batch, beam, steps
    )
    history = [[([], []) for _ in range(beam)] for _ in range(batch)]  # tokens, slots
    for t in range(steps):
        _check_step(decoder, stepper, source, cache, states, reading, history)
        history = [
            [
                (
                    history[b][parents[t][b, i]][0] + [int(tokens[t][b, i])],
                    history[b][parents[t][b, i]][1] + [int(slots[t][b, i])],
                )
                for i in range(beam)
            ]
            for b in range(batch)
        ]
        old = reading.gather(1, parents[t].unsqueeze(-1).expand_as(reading)).tolist()
        for b in range(batch):
            for i in range(beam):
                old[b][i].insert(int(slots[t][b, i]) + 1, cache.used + i)
        reading = torch.tensor(old)
        states = stepper.write(cache, tokens[t], reading, slots[t] + 1)


def _check_step(decoder, stepper, source, cache, states, reading, history):
    """Compare the state, and log p(token) and log p(slot | token), with teacher forcing."""
    written = len(history[0][0][0])
    chosen = torch.full((*reading.shape[:2], 1), 5)
    slot_terms = stepper.slot_log_probs(cache, states, chosen, reading).exp()
    torch.testing.assert_close(slot_terms.sum(-1), torch.ones_like(slot_terms[..., 0]))
    for b in range(len(history)):
        for i, (tokens, slots) in enumerate(history[b]):
            order = from_slots(torch.tensor([slots], dtype=torch.long).view(1, -1))
            ids = torch.tensor([tokens], dtype=torch.long).view(1, -1)
            row = source.select(torch.tensor([b]))
            expected = decoder.states(ids, order, row)[0, -1]
            torch.testing.assert_close(states[b, i], expected, atol=1e-10, rtol=1e-8)
            slot = (b + i) % (written + 1)
            full = from_slots(torch.tensor([[*slots, slot]]))
            target = torch.empty(written + 1, dtype=torch.long)
            target[full[0]] = torch.tensor([*tokens, 5])
            one = text_batch([target.tolist()], [SOURCES[b]])
            terms = decoder.step_log_probs(one, full.unsqueeze(0))
            log_tokens = stepper.token_log_probs(states[b, i])
            assert log_tokens[5].item() == pytest.approx(
                terms.tokens[0, 0, written].item(), abs=1e-5
            )
            assert slot_terms[b, i, 0, slot].log().item() == pytest.approx(
                terms.slots[0, 0, written].item(), abs=1e-5
            )


def test_sequential_head_has_one_slot():
    decoder = tiny_decoder(head="sequential")
    source = decoder.encode(text_batch([[4]], [[5]]))
    stepper = Stepper(decoder)
    cache, states, reading = stepper.start(source, 1)
    slots = stepper.slot_log_probs(cache, states, torch.tensor([[[4]]]), reading)
    assert slots.exp().tolist() == [[[[1.0]]]]


def test_selected_examples_go_on_alone():
    decoder = tiny_decoder().double()
    source = decoder.encode(text_batch([[4]] * 3, SOURCES))
    stepper = Stepper(decoder)
    cache, _, _ = stepper.start(source, 1)
    tokens, reading, places = torch.tensor([[4], [5], [6]]), torch.tensor([[[0, 1]]] * 3), 1
    stepper.write(cache, tokens, reading, torch.full((3, 1), places))
    keep = torch.tensor([2])
    alone = cache.select(keep)
    more = torch.tensor([[[0, 2, 1]]] * 3)
    together = stepper.write(cache, tokens, more, torch.ones(3, 1, dtype=torch.long))
    single = stepper.write(alone, tokens[keep], more[keep], torch.ones(1, 1, dtype=torch.long))
    torch.testing.assert_close(single, together[keep])
