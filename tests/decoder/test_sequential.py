"""head="sequential": an ordinary left-to-right Transformer, checked against PyTorch's own."""

import torch
from torch import nn

from naive_decoder import naive_sinusoid, naive_states, naive_token_log_probs
from small_models import orders_of, text_batch, tiny_decoder
from voi.tokens import END, PAD, START

TARGETS = [[4, 5, 6, 4], [5, 6], [1]]
SOURCES = [[4, 5], [6, 6, 6], [5]]


def copied(ours, theirs):
    """Copy attention and feed-forward weights of one of our blocks into one of PyTorch's layers."""
    ours_self = ours.attention
    theirs.self_attn.in_proj_weight.copy_(ours_self.project.weight)
    theirs.self_attn.in_proj_bias.copy_(ours_self.project.bias)
    theirs.self_attn.out_proj.load_state_dict(ours_self.output.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward[3].state_dict())
    theirs.norm1.load_state_dict(ours.norms["attention"].state_dict())
    if ours.cross is None:
        theirs.norm2.load_state_dict(ours.norms["feed_forward"].state_dict())
        return
    cross = ours.cross
    weights = torch.cat([cross.query.weight, cross.key_value.weight])
    theirs.multihead_attn.in_proj_weight.copy_(weights)
    theirs.multihead_attn.in_proj_bias.copy_(torch.cat([cross.query.bias, cross.key_value.bias]))
    theirs.multihead_attn.out_proj.load_state_dict(cross.output.state_dict())
    theirs.norm2.load_state_dict(ours.norms["cross"].state_dict())
    theirs.norm3.load_state_dict(ours.norms["feed_forward"].state_dict())


def library_options(config):
    return {
        "d_model": config.width,
        "nhead": config.heads,
        "dim_feedforward": config.hidden,
        "dropout": 0.0,
        "norm_first": True,
        "batch_first": True,
        "dtype": torch.float64,
    }


def waves(n, width):
    return torch.stack([naive_sinusoid(t, width) for t in range(n)])


@torch.no_grad()
def library_source(decoder, batch):
    """The encoded source by nn.TransformerEncoderLayer, "nothing" first."""
    width = decoder.config.width
    x = decoder.embedding.weight[batch.source] * width**0.5 + waves(batch.source.shape[1], width)
    x = torch.cat([decoder.source.nothing.expand(len(x), 1, -1), x], dim=1)
    hidden = torch.cat([torch.zeros(len(x), 1, dtype=torch.bool), ~batch.source_mask], dim=1)
    for block in decoder.source.blocks:
        layer = nn.TransformerEncoderLayer(**library_options(decoder.config))
        copied(block, layer)
        x = layer(x, src_key_padding_mask=hidden)
    return decoder.source.norm(x), hidden


@torch.no_grad()
def library_log_probs(decoder, batch):
    """Log-probabilities of all words after every prefix, by nn.TransformerDecoderLayer."""
    source, hidden = library_source(decoder, batch)
    words = torch.cat([torch.full((len(batch), 1), START), batch.target], dim=1)
    n, width = words.shape[1], decoder.config.width
    x = decoder.embedding.weight[words] * width**0.5 + waves(n, width)
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    for block in decoder.blocks:
        layer = nn.TransformerDecoderLayer(**library_options(decoder.config))
        copied(block, layer)
        x = layer(x, source, tgt_mask=future, memory_key_padding_mask=hidden)
    logits = decoder.norm(x) @ decoder.embedding.weight.T
    logits[..., [PAD, START]] = -torch.inf
    return logits.log_softmax(-1)


@torch.no_grad()
def test_source_encoder_is_pytorchs():
    decoder = tiny_decoder(source_layers=2).double()
    batch = text_batch(TARGETS, SOURCES)
    source = decoder.encode(batch)
    expected, hidden = library_source(decoder, batch)
    assert torch.equal(source.mask, ~hidden)
    torch.testing.assert_close(source.states[source.mask], expected[source.mask])


@torch.no_grad()
def test_log_likelihood_is_that_of_pytorchs_decoder():
    decoder = tiny_decoder(head="sequential").double()
    batch = text_batch(TARGETS, SOURCES)
    terms = decoder.step_log_probs(batch, orders_of([sorted(range(len(y))) for y in TARGETS]))
    expected = library_log_probs(decoder, batch)
    for row, target in enumerate(TARGETS):
        by_step = [expected[row, t, word] for t, word in enumerate([*target, END])]
        torch.testing.assert_close(terms.tokens[0, row, : len(by_step)], torch.stack(by_step))
    assert not terms.slots.any()
    torch.testing.assert_close(terms.joint, terms.tokens.sum(-1))


@torch.no_grad()
def test_log_likelihood_equals_a_second_implementation():
    decoder = tiny_decoder(head="sequential").double()
    batch = text_batch(TARGETS[:1], SOURCES[:1])
    terms = decoder.step_log_probs(batch, orders_of([[0, 1, 2, 3]]))
    logits = []
    source = decoder.encode(batch).states[0]
    for t, word in enumerate([*TARGETS[0], END]):
        state = naive_states(decoder, [START, *TARGETS[0][:t]], list(range(t + 1)), source)[-1]
        logits.append(naive_token_log_probs(decoder, state)[word])
    torch.testing.assert_close(terms.tokens[0, 0], torch.stack(logits))


def test_steps_are_counted_where_they_are_needed():
    """A sequential decoder has nothing but the step; an insertion decoder may do without."""
    words = torch.tensor([[4, 5]])
    for options, counted in (
        ({"head": "sequential", "count_steps": False}, True),
        ({"count_steps": True}, True),
        ({"count_steps": False}, False),
    ):
        decoder = tiny_decoder(**options)
        assert torch.equal(decoder.embed(words, 0), decoder.embed(words, 7)) != counted
        assert (decoder.slots is None) == ("head" in options)
