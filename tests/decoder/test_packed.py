"""Packed linear maps against plain ones, alone and in a search."""

import pytest
import torch
from torch import nn

from small_models import text_batch
from voi.analysis import order_of_slots
from voi.config import DecoderConfig
from voi.decoder import InsertionDecoder, packed
from voi.decoder.cache import Stepper
from voi.search import ids_in_reading_order, search

has_layout = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this build of torch has no such layout"
)


@pytest.fixture(autouse=True)
def _without_gradient():
    with torch.no_grad():
        yield


@has_layout
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 1), (32, 5), (7, 2, 9)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_values_are_those_of_the_plain_map(shape, bias):
    torch.manual_seed(0)
    plain = nn.Linear(512, 640, bias=bias)
    twin = packed.packed(plain)
    x = torch.randn(*shape, 512)
    assert isinstance(twin, packed.PackedLinear)
    torch.testing.assert_close(twin(x), plain(x), atol=1e-5, rtol=1e-5)


def test_small_maps_and_other_numbers_are_shared():
    small, double = nn.Linear(8, 8), nn.Linear(512, 512).double()
    assert packed.packed(small) is small
    assert packed.packed(double) is double


@has_layout
def test_a_twin_leaves_its_original_alone():
    original = nn.Sequential(
        nn.LayerNorm(512), nn.Linear(512, 512), nn.ModuleDict({"a": nn.ReLU()})
    )
    names = list(original.state_dict())
    twin = packed.packed(original)
    assert isinstance(original[1], nn.Linear)
    assert list(original.state_dict()) == names
    assert isinstance(twin[1], packed.PackedLinear)
    assert twin[0].weight is original[0].weight


@pytest.mark.parametrize("size", [9, 700])
def test_vocabulary_scores_are_products_with_the_embedding(size):
    torch.manual_seed(0)
    embedding, x = nn.Embedding(size, 512), torch.randn(3, 2, 512)
    found = packed.vocabulary_scores(embedding)(x)
    torch.testing.assert_close(found, x @ embedding.weight.t(), atol=1e-3, rtol=1e-5)


def test_search_with_packed_weights_scores_what_it_writes():
    torch.manual_seed(0)
    config = DecoderConfig(width=512, hidden=512, heads=4, source_layers=1, layers=1)
    decoder = InsertionDecoder(config, 600).eval()
    sources = [[4, 5, 6], [300]]
    for _ in range(2):
        source = decoder.encode(text_batch([[4]] * 2, sources))
        results = search(decoder, source, max_length=4)
        assert search(Stepper(decoder), source, max_length=4) == results
        for ids, (found,) in zip(sources, results, strict=True):
            batch = text_batch([ids_in_reading_order(found)], [ids])
            orders = torch.tensor(order_of_slots(found.slots)).view(1, 1, -1)
            expected = decoder.log_prob(batch, orders).item()
            assert found.score == pytest.approx(expected, abs=1e-3)
        for parameter in decoder.parameters():
            parameter.grad = torch.randn_like(parameter)
        torch.optim.Adam(decoder.parameters(), lr=0.02, fused=True).step()  # the next one sees it


@has_layout
def test_under_autocast_maps_are_shared():
    """The layout is of float32, which inputs are not there."""
    large, embedding = nn.Linear(512, 640), nn.Embedding(640, 512)
    with torch.autocast("cpu", torch.bfloat16):
        assert packed.packed(large) is large
        scores = packed.vocabulary_scores(embedding)(torch.randn(3, 512))
    assert scores.dtype == torch.bfloat16
