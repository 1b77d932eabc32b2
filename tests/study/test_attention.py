"""Cross-attention weights against torch's own multi-head attention, on inputs stepped by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from small_models import orders_of, region_batch, text_batch, tiny_decoder
from study_models import CAPTIONS
from voi.analysis import Trace, slots_of
from voi.permutation import relative_positions
from voi.study import attention_of, cross_attention, opacities
from voi.tokens import START

TARGETS = [[4, 5, 6, 4], [5, 5]]
ORDERS = [[2, 0, 3, 1], [1, 0]]


def direct(decoder, batch, orders):
    """Return the weights of the last block by torch's multi-head attention, START's row first."""
    source = decoder.encode(batch)
    x = decoder.embed(nn.functional.pad(batch.target.gather(1, orders), (1, 0), value=START))
    places = nn.functional.pad(orders, (1, 0), value=-1)
    relation, n = relative_positions(places).to(x.dtype), x.shape[1]
    visible = torch.ones(n, n, dtype=torch.bool).tril().unsqueeze(0)
    for block in decoder.blocks[:-1]:
        x = block(x, visible, relation, block.cross.memory(source.states), source.mask)
    last = decoder.blocks[-1]
    x = x + last.attention(last.norms["attention"](x), visible, relation)
    theirs = nn.MultiheadAttention(x.shape[-1], last.cross.heads, batch_first=True).eval()
    with torch.no_grad():
        weights = [last.cross.query.weight, last.cross.key_value.weight]
        theirs.in_proj_weight.copy_(torch.cat(weights))
        theirs.in_proj_bias.copy_(torch.cat([last.cross.query.bias, last.cross.key_value.bias]))
        states = source.states
        queries = last.norms["cross"](x)
        return theirs(queries, states, states, key_padding_mask=~source.mask)[1]


@pytest.mark.parametrize(
    ("batch", "options"),
    [
        (text_batch(TARGETS, [[4, 5, 6], [6]]), {}),
        (text_batch(TARGETS, [[4, 5, 6], [6]]), {"layers": 1}),
        (region_batch(TARGETS, [4, 2]), {"region_size": 3}),
    ],
    ids=["text", "one block", "regions"],
)
def test_weights_are_those_of_the_last_layer(batch, options):
    decoder = tiny_decoder(**options)
    orders = orders_of(ORDERS)[0]
    found = cross_attention(decoder, batch, orders)
    expected = direct(decoder, batch, orders)
    assert found.shape == (2, 4, batch.source_mask.shape[1])
    torch.testing.assert_close(found[0], expected[0, :4, 1:])
    torch.testing.assert_close(found[1, :2], expected[1, :2, 1:])
    assert not found[1, 2:].any()  # padding of the target
    assert not found[1, :, batch.source_lengths[1] :].any()  # padding of the source
    # With "nothing" a row adds up to 1.
    torch.testing.assert_close(found[0].sum(-1) + expected[0, :4, 0], torch.ones(4))


def test_the_order_matters_and_the_decoder_stays_as_it_was():
    decoder, batch = tiny_decoder(), text_batch([[4, 5, 6]], [[4, 5]])
    before = decoder.log_prob(batch, orders_of([[0, 1, 2]]))
    rows = [
        cross_attention(decoder, batch, orders_of([order])[0]) for order in ([0, 1, 2], [2, 1, 0])
    ]
    torch.testing.assert_close(rows[0][0, 0], rows[1][0, 0])  # nothing is written yet
    assert (rows[0][0, 1] - rows[1][0, 1]).abs().max() > 1e-3
    assert not any(module._forward_pre_hooks for module in decoder.modules())
    torch.testing.assert_close(decoder.log_prob(batch, orders_of([[0, 1, 2]])), before)


def test_a_trace_has_a_row_for_each_step(captioner):
    source, order = CAPTIONS[0].source, (2, 0, 1)
    trace = Trace(
        target="a red bus",
        tokens=("a", "red", "bus"),
        order=order,
        slots=slots_of(order),
        kind="inferred",
    )
    weights = attention_of(captioner, source, trace)
    assert weights.shape == (3, 4)
    shown = opacities(weights)
    assert shown.max(axis=1) == pytest.approx([1, 1, 1])
    np.testing.assert_allclose(shown * weights.max(axis=1, keepdims=True), weights)
