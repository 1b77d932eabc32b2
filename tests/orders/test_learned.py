"""The order generator: valid laws for ragged batches, what it shares, what it copies."""

import copy
import dataclasses
import pickle
from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn

from small_models import (
    region_batch,
    roughen,
    text_batch,
    tiny_decoder,
    tiny_generator,
)
from small_runs import Quiet, tiny_experiment
from voi import runs
from voi.batch import Batch, collate
from voi.config import LAWS, OrderConfig, Positions
from voi.distributions import EarlyLate, GumbelMatching, MatrixPlackettLuce, PlackettLuce
from voi.errors import ConfigError
from voi.orders import OrderGenerator, make_orders
from voi.pos import UNIVERSAL
from voi.prepared import prepare

TARGETS = [[4, 5, 6, 4, 1], [5], [6, 4, 4]]
SOURCES = [[4, 5], [6, 6, 6], [5]]
POSITIONS, ROWS = Positions.__args__, ("step", "position")
CLASSES = {
    "gumbel-matching": GumbelMatching,
    "plackett-luce": PlackettLuce,
    "matrix-plackett-luce": MatrixPlackettLuce,
    "early-late": EarlyLate,
}
every_kind = pytest.mark.parametrize(
    ("positions", "law", "rows"), list(product(POSITIONS, LAWS, ROWS))
)


def within(logits, n):
    return logits[..., :n, :n] if logits.ndim == 3 else logits[..., :n]


@every_kind
def test_laws_of_ragged_batches(positions, law, rows):
    """Valid laws; each row alone, in a batch or with more padding has the same parameters."""
    generator = tiny_generator(positions=positions, law=law, rows=rows)
    q = generator(text_batch(TARGETS, SOURCES))
    wide = generator(text_batch(TARGETS, SOURCES, target_width=8, source_width=6))
    assert type(q) is CLASSES[law]
    assert (q.batch_shape, q.event_shape, wide.event_shape) == ((3,), (5,), (8,))
    orders = q.sample((7,))
    assert q.support.check(orders).all()
    assert torch.isfinite(q.log_prob(orders)).all()
    for row, target in enumerate(TARGETS):
        alone = generator(text_batch([target], SOURCES[row : row + 1])).logits
        for other in (q, wide):
            found = within(other.logits[row : row + 1], len(target))
            torch.testing.assert_close(found, alone, rtol=1e-5, atol=1e-5)


@every_kind
def test_gradients_reach_every_parameter(positions, law, rows):
    generator = tiny_generator(positions=positions, law=law, rows=rows)
    q = generator(text_batch(TARGETS, SOURCES))
    orders = q.sample((4,))
    q.log_prob(orders).sum().backward()
    for name, parameter in generator.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_positions_are_seen(positions):
    """Equal words at different places get different scores; every word is seen from everywhere.

    In a target of one word repeated nothing can tell by distances alone what stands where.
    """
    generator = tiny_generator(positions=positions, law="plackett-luce")
    scores = generator(text_batch([[4, 4, 5, 4]])).logits[0]
    assert len(scores.unique()) == 4
    other = generator(text_batch([[4, 4, 5, 6]])).logits[0]
    assert (scores != other).all()  # no causal mask: every position sees every word


@torch.no_grad()
def test_rows_of_steps_count_from_both_ends():
    """rows="step": row t depends on t and on the length, not on the word at position t."""
    generator = tiny_generator(rows="step")
    rows = generator.head.step_rows(
        generator.head._steps(torch.zeros(3, 5, 8), text_batch([[4] * 5, [5] * 3, [6] * 5]))
    )
    torch.testing.assert_close(rows[0], rows[2])
    assert (rows[0, 0] != rows[1, 0]).any()


@torch.no_grad()
def test_sources_are_seen():
    generator = tiny_generator()
    target = [[4, 5, 6]]
    text, other = (generator(text_batch(target, [source])).logits for source in ([4], [6, 5]))
    assert (text - other).abs().max() > 1e-3
    assert (text - generator(text_batch(target)).logits).abs().max() > 1e-3


@torch.no_grad()
def test_regions_as_sources():
    generator = tiny_generator(region_size=3)
    logits = generator(region_batch([[4, 5], [4, 5]], [3, 0])).logits
    nothing = generator(text_batch([[4, 5]])).logits[0]
    torch.testing.assert_close(logits[1], nothing, rtol=1e-5, atol=1e-5)
    assert (logits[0] - nothing).abs().max() > 1e-3


def test_sampler_is_handed_on():
    options = {"sampler": "sinkhorn", "tau": 0.5, "sinkhorn_iterations": 7}
    q = tiny_generator(**options)(text_batch(TARGETS))
    assert {name: getattr(q, name) for name in options} == options
    assert q.support.check(q.sample((3,))).all()


@torch.no_grad()
def test_sharing_uses_the_decoders_embedding_and_source():
    decoder, generator = tiny_decoder(), tiny_generator()
    batch = text_batch(TARGETS, SOURCES)
    own = generator(batch).logits
    names = set(generator.state_dict())
    generator.share(decoder)
    shared = generator(batch).logits
    assert (shared - own).abs().max() > 1e-3
    assert set(generator.state_dict()) == names  # nothing of the decoder's is stored twice
    assert not set(map(id, generator.parameters())) & set(map(id, decoder.parameters()))
    torch.testing.assert_close(generator(batch, decoder.encode(batch)).logits, shared)
    copied = tiny_generator()
    copied.embedding.load_state_dict(decoder.embedding.state_dict())
    copied.source.load_state_dict(decoder.source.state_dict())
    torch.testing.assert_close(copied(batch).logits, shared)


@pytest.mark.parametrize("encoded", [False, True])
def test_gradients_reach_what_is_shared(encoded):
    decoder, generator = tiny_decoder(), tiny_generator()
    batch = text_batch(TARGETS, SOURCES)
    generator.share(decoder)
    q = generator(batch, decoder.encode(batch) if encoded else None)
    q.log_prob(q.sample((3,))).sum().backward()
    assert decoder.embedding.weight.grad.any()
    assert all(p.grad is not None and p.grad.any() for p in decoder.source.blocks.parameters())
    assert all(p.grad is None for p in generator.source.parameters())
    assert generator.embedding.weight.grad is None
    assert all(p.grad is None for p in decoder.blocks.parameters())


@torch.no_grad()
def test_separating_copies():
    decoder, generator = tiny_decoder(), tiny_generator()
    batch = text_batch(TARGETS, SOURCES)
    generator.share(decoder)
    shared = generator(batch).logits
    generator.separate()
    torch.testing.assert_close(generator(batch).logits, shared)
    assert torch.equal(generator.embedding.weight, decoder.embedding.weight)
    decoder.embedding.weight.add_(1.0)
    torch.testing.assert_close(generator(batch).logits, shared)
    generator.separate()  # nothing is shared any more: nothing happens
    torch.testing.assert_close(generator(batch).logits, shared)


@pytest.mark.parametrize(
    "options", [{"width": 16}, {"hidden": 8}, {"heads": 1}, {"source_layers": 2}]
)
def test_sharing_needs_equal_sizes(options):
    with pytest.raises(ConfigError, match="share needs equal width, hidden, heads, source_layers"):
        tiny_generator(**options).share(tiny_decoder())


def test_alignment():
    decoder, generator = tiny_decoder(), tiny_generator()
    before = generator.alignment(decoder)
    ours, theirs = generator.embedding.weight.detach(), decoder.embedding.weight.detach()
    cosines = [(a @ b) / (a.norm() * b.norm()) for a, b in zip(ours, theirs, strict=True)]
    torch.testing.assert_close(before.detach(), 1 - torch.stack(cosines).mean())
    before.backward()
    assert generator.embedding.weight.grad.any()
    assert decoder.embedding.weight.grad is None  # the generator follows, the decoder does not
    with torch.no_grad():
        generator.embedding.weight.copy_(3 * decoder.embedding.weight)
    assert abs(generator.alignment(decoder).item()) < 1e-6


def test_alignment_of_copies_has_no_gradient_at_all():
    """Adam would make whole steps of what is only rounding."""
    decoder, generator = tiny_decoder(), tiny_generator()
    with torch.no_grad():
        generator.embedding.weight.copy_(decoder.embedding.weight)
    generator.alignment(decoder).backward()
    assert not generator.embedding.weight.grad.any()


def test_built_by_name():
    made = make_orders(
        "voi", OrderConfig(width=8, heads=2), torch.zeros(9, dtype=torch.long), tiny_decoder(), 3
    )
    assert isinstance(made, OrderGenerator)
    assert made.embedding.num_embeddings == 9
    assert made.source.regions is not None


def test_one_token_has_one_order():
    q = tiny_generator()(Batch(torch.tensor([[4]]), torch.tensor([1])))
    assert not q.sample((3,)).any()
    torch.testing.assert_close(q.log_prob(q.mode), torch.zeros(1), rtol=0, atol=1e-5)


def test_token_dropout_hides_words_in_training_alone(monkeypatch):
    """A hidden token is the same whichever word it is; the others keep their say."""
    generator = tiny_generator(law="plackett-luce", token_dropout=0.5)
    batch, other = (text_batch([[4, word, 6, 4]], SOURCES[:1]) for word in (5, 1))
    assert not torch.equal(generator(batch).logits, generator(other).logits)
    assert torch.equal(generator(batch).logits, generator(batch).logits)
    generator.train()
    chances = torch.tensor([[0.9, 0.4, 0.9, 0.9]])
    monkeypatch.setattr(torch, "rand", lambda shape, device=None: chances)
    assert torch.equal(generator(batch).logits, generator(other).logits)
    chances = torch.tensor([[0.4, 0.5, 0.4, 0.4]])
    assert not torch.equal(generator(batch).logits, generator(other).logits)


def test_without_token_dropout_no_random_number_is_drawn():
    generator = tiny_generator().train()
    torch.manual_seed(0)
    generator(text_batch(TARGETS, SOURCES))
    drawn = torch.rand(3)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(3))


@pytest.mark.parametrize("name", ["dropout", "token_dropout"])
def test_dropout_is_a_share(name):
    with pytest.raises(ConfigError, match=rf"order\.{name} must be in \[0, 1\), got 1"):
        OrderConfig(**{name: 1.0})


def tags_by_first_letter(tokens):
    """A tagger for the tests: nouns start with an A."""
    return ["NOUN" if token.startswith("A") else "VERB" for token in tokens]


def test_parts_of_speech_change_the_law(tmp_path):
    """The same target with other tags has other scores, and tags reach the batch from the text."""
    settings = [f"data.tokens.tags={__name__}:tags_by_first_letter", "order.tags=true"]
    prepared = prepare(tiny_experiment(*settings))
    batch = collate(prepared.train, np.arange(4))
    texts = [prepared.task.split("train")[i].target.split() for i in range(4)]
    expected = [[UNIVERSAL.index(tag) for tag in tags_by_first_letter(text)] for text in texts]
    assert batch.tags.tolist() == expected
    orders = roughen(prepared.networks().orders)
    changed = dataclasses.replace(batch, tags=(batch.tags + 1) % 12)
    assert not torch.allclose(orders(batch).logits, orders(changed).logits)
    assert runs.start(prepared, tmp_path / "run", Quiet()).run()


def test_tags_need_a_tagger():
    with pytest.raises(ConfigError, match="needs a tagger"):
        tiny_experiment("order.tags=true")


@pytest.mark.parametrize("positions", ["sinusoid", "sinusoid+attention", "relative", "xl"])
@torch.no_grad()
def test_numbers_of_twice_the_length(positions):
    prepared = prepare(tiny_experiment(f"order.positions={positions}"))
    batch = collate(prepared.train, np.arange(4))
    networks = prepared.networks()
    short = networks.orders(batch).logits
    long = networks.double().orders(batch).logits
    assert long.dtype == torch.float64
    torch.testing.assert_close(long.float(), short, rtol=1e-4, atol=1e-5)
    assert not torch.equal(long, long.float().double())


@pytest.mark.parametrize("positions", get_args(Positions))
def test_a_batch_of_empty_targets_has_the_empty_order(positions):
    q = tiny_generator(positions=positions)(text_batch([[], []], [[4], [5]]))
    assert q.sample((3,)).shape == (3, 2, 0)


@pytest.mark.parametrize("positions", get_args(Positions))
def test_networks_of_half_precision_run(positions):
    decoder, generator = tiny_decoder().bfloat16(), tiny_generator(positions=positions).bfloat16()
    batch = text_batch([[4, 5], [6]], [[4], [5]])
    orders = generator(batch).sample((2,))
    assert decoder.log_prob(batch, orders).isfinite().all()


def test_a_copy_of_both_networks_shares_its_own_decoder():
    pair = nn.ModuleDict({"decoder": tiny_decoder(), "orders": tiny_generator()})
    pair["orders"].share(pair["decoder"])
    copied = copy.deepcopy(pair)
    with torch.no_grad():
        pair["decoder"].embedding.weight.zero_()
    batch = text_batch([[4, 5, 6]], [[4]])
    logits = [each["orders"](batch).logits for each in (pair, copied)]
    assert not torch.allclose(*logits)
    assert pickle.loads(pickle.dumps(copied))["orders"].is_sharing
