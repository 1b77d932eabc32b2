"""Position biases and blocks against plain loops; padding never leaks."""

import math

import pytest
import torch
from torch import nn

from small_models import roughen
from voi.layers import (
    Block,
    CrossAttention,
    InsertionBias,
    PositionalAttention,
    RelativeBias,
    SelfAttention,
    XLBias,
    sinusoids,
)
from voi.permutation import relative_positions

BATCH, HEADS, N, SIZE = 2, 2, 5, 4
WIDTH = HEADS * SIZE


def rough(module: nn.Module, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return roughen(module)


def queries_and_keys(n=N, seed=3):
    """Unscaled queries, as the papers write them, and keys."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, BATCH, HEADS, n, SIZE, generator=generator)


def looped(n, entry):
    """The matrix [b, h, n, n] of a bias written as a function of batch, head, query, key."""
    bias = torch.empty(BATCH, HEADS, n, n)
    for b in range(BATCH):
        for h in range(HEADS):
            for i in range(n):
                for j in range(n):
                    bias[b, h, i, j] = entry(b, h, i, j)
    return bias / math.sqrt(SIZE)


def orders():
    return torch.tensor([[2, 0, 4, 1, 3], [4, 3, 0, 2, 1]])


def test_two_vectors_stand_for_three():
    """For any E[-1], E[0], E[+1] the vectors (E[+1] - E[-1]) / 2 and E[0] - (E[+1] + E[-1]) / 2
    give the same attention weights, and bias rows that differ by q . (E[+1] + E[-1]) / 2 alone."""
    torch.manual_seed(0)
    E = torch.randn(HEADS, 3, SIZE)  # left of, itself, right of
    q, k = queries_and_keys()
    R = relative_positions(orders())
    three = looped(N, lambda b, h, i, j: q[b, h, i] @ E[h, R[b, i, j] + 1])
    bias = InsertionBias(HEADS, SIZE)
    middle = (E[:, 2] + E[:, 0]) / 2
    with torch.no_grad():
        bias.vectors.copy_(torch.stack([(E[:, 2] - E[:, 0]) / 2, E[:, 1] - middle], dim=-1))
        two = bias(q / math.sqrt(SIZE), k, R.float())
    shift = torch.einsum("bhid,hd->bhi", q, middle) / math.sqrt(SIZE)
    torch.testing.assert_close(three, two + shift.unsqueeze(-1))
    content = q @ k.transpose(-1, -2) / math.sqrt(SIZE)
    torch.testing.assert_close((content + two).softmax(-1), (content + three).softmax(-1))
    causal = torch.ones(N, N, dtype=torch.bool).triu(1)
    weights = [(content + x).masked_fill(causal, -math.inf).softmax(-1) for x in (two, three)]
    torch.testing.assert_close(*weights)


def test_three_vectors_without_common_part_are_the_bias_itself():
    bias = rough(InsertionBias(HEADS, SIZE))
    q, k = queries_and_keys()
    R = relative_positions(orders())
    sign, itself = bias.vectors.detach().unbind(-1)
    E = torch.stack([-sign, itself, sign], dim=1)
    expected = looped(N, lambda b, h, i, j: q[b, h, i] @ E[h, R[b, i, j] + 1])
    torch.testing.assert_close(bias(q / math.sqrt(SIZE), k, R.float()), expected)


@pytest.mark.parametrize("n", [1, 5, 9])
@torch.no_grad()
def test_relative_bias_is_the_loop(n):
    bias = rough(RelativeBias(HEADS, SIZE, limit=3))
    q, k = queries_and_keys(n)

    def entry(b, h, i, j):
        return q[b, h, i] @ bias.vectors[h, :, max(-3, min(3, j - i)) + 3]

    torch.testing.assert_close(bias(q / math.sqrt(SIZE), k, None), looped(n, entry))


@pytest.mark.parametrize("n", [1, 5, 9])
@torch.no_grad()
def test_xl_bias_is_the_loop(n):
    """With the content term q . k these are the four terms of Transformer-XL."""
    bias = rough(XLBias(HEADS, SIZE))
    q, k = queries_and_keys(n)

    def entry(b, h, i, j):
        wave = bias.distance.weight @ sinusoid(j - i, WIDTH)
        place = wave[h * SIZE : (h + 1) * SIZE]
        u, v = bias.content[h, 0], bias.position[h, 0]
        return u @ k[b, h, j] + (q[b, h, i] + v) @ place

    expected = looped(n, entry)
    torch.testing.assert_close(bias(q / math.sqrt(SIZE), k, None), expected, rtol=1e-5, atol=1e-5)


def sinusoid(position: float, width: int) -> torch.Tensor:
    half = width // 2
    angles = [position / 10000 ** (i / (half - 1)) for i in range(half)]
    return torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])


@pytest.mark.parametrize("width", [2, 4, 8])
def test_sinusoids(width):
    waves = sinusoids(torch.tensor([[0, 1], [-3, 100]]), width)
    assert waves.shape == (2, 2, width)
    if width > 2:
        torch.testing.assert_close(waves[1, 0], sinusoid(-3, width))
        torch.testing.assert_close(waves[1, 1], sinusoid(100, width), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(waves[0, 0], torch.tensor([0.0, 1.0]).repeat_interleave(width // 2))


@torch.no_grad()
def test_self_attention_is_pytorchs():
    ours, theirs = (
        rough(SelfAttention(WIDTH, HEADS)),
        nn.MultiheadAttention(WIDTH, HEADS, batch_first=True),
    )
    theirs.in_proj_weight.copy_(ours.project.weight)
    theirs.in_proj_bias.copy_(ours.project.bias)
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    x = torch.randn(BATCH, N, WIDTH)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    expected, _ = theirs(x, x, x, key_padding_mask=~real)
    found = ours(x, real.unsqueeze(1))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_bias_of_zero_changes_nothing():
    torch.manual_seed(0)
    plain = SelfAttention(WIDTH, HEADS)
    biased = SelfAttention(WIDTH, HEADS, RelativeBias(HEADS, SIZE))
    biased.load_state_dict(plain.state_dict(), strict=False)
    biased.bias.vectors.zero_()
    x = torch.randn(BATCH, N, WIDTH)
    causal = torch.ones(1, N, N, dtype=torch.bool).tril()
    torch.testing.assert_close(biased(x, causal), plain(x, causal), rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_positional_attention_weighs_by_position_alone():
    layer = rough(PositionalAttention(WIDTH, HEADS))
    x, y = torch.randn(2, 1, N, WIDTH)
    visible = torch.ones(1, 1, N, dtype=torch.bool)
    both = layer(torch.cat([x, y, x + y]), visible)
    bias = layer(torch.zeros(1, N, WIDTH), visible)[0]  # weights that ignore x make it affine
    torch.testing.assert_close(both[2] - bias, both[0] + both[1] - 2 * bias, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_cross_attention_shares_a_source_among_rows():
    cross = rough(CrossAttention(WIDTH, HEADS))
    source, x = torch.randn(BATCH, 3, WIDTH), torch.randn(BATCH * 4, N, WIDTH)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    folded = cross(x, cross.memory(source), mask)
    for row in range(BATCH * 4):
        kept = source[row // 4][mask[row // 4]].unsqueeze(0)
        every = torch.ones(1, kept.shape[1], dtype=torch.bool)
        alone = cross(x[row : row + 1], cross.memory(kept), every)
        torch.testing.assert_close(folded[row : row + 1], alone, rtol=1e-5, atol=1e-5)


BIASES = {
    "none": lambda: None,
    "insertion": lambda: InsertionBias(HEADS, SIZE),
    "relative": lambda: RelativeBias(HEADS, SIZE),
    "xl": lambda: XLBias(HEADS, SIZE),
}


@pytest.mark.parametrize("positional", [False, True])
@pytest.mark.parametrize("kind", BIASES)
@torch.no_grad()
def test_padded_positions_do_not_influence_real_ones(kind, positional):
    """A row cut to its length gives the same outputs, whatever stands in its padding."""
    parts = {"bias": BIASES[kind](), "positional": positional, "cross": True}
    block = rough(Block(WIDTH, 16, HEADS, 0.0, **parts))
    x, source = torch.randn(BATCH, N, WIDTH), torch.randn(BATCH, 4, WIDTH)
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    source_real = torch.tensor([[True] * 2 + [False] * 2, [True] * 4])
    R = relative_positions(torch.tensor([[2, 0, 4, 1, 3], [1, 2, 0, 3, 4]])).float()
    given = R if kind == "insertion" else None
    memory = block.cross.memory(source)
    padded = block(x, real.unsqueeze(1), given, memory, source_real)
    assert torch.isfinite(padded).all()
    junk = torch.where(real.unsqueeze(-1), x, 77.0)
    filled = block(junk, real.unsqueeze(1), given, memory, source_real)
    assert torch.equal(filled[real], padded[real])
    for row, (n, m) in enumerate([(5, 2), (3, 4)]):
        alone = block(
            x[row : row + 1, :n],
            real[row : row + 1, None, :n],
            None if given is None else given[row : row + 1, :n, :n],
            block.cross.memory(source[row : row + 1, :m]),
            source_real[row : row + 1, :m],
        )
        torch.testing.assert_close(padded[row, :n], alone[0], rtol=1e-5, atol=1e-5)


def test_a_block_has_only_the_parts_asked_for():
    names = {name.split(".")[0] for name, _ in Block(WIDTH, 16, HEADS, 0.0).named_parameters()}
    assert names == {"norms", "attention", "feed_forward"}
    assert set(Block(WIDTH, 16, HEADS, 0.0, cross=True).norms) == {
        "attention",
        "cross",
        "feed_forward",
    }
