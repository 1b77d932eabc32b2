"""Models with random weights: of texts, and of images."""

import numpy as np
import torch

from small_models import TINY, roughen
from voi.checkpoint import Checkpoint
from voi.config import experiment
from voi.data import Example, Regions
from voi.model import Model
from voi.networks import Networks
from voi.tokens import build_codec

TEXTS = [
    Example("a b c", "c b a"),
    Example("b", "a c"),
    Example("c a", "b c a b"),
    Example("a", "c"),
]


def made_model(examples, region_size=0, tokens=(), **order):
    sizes = {**TINY, "layers": 2}
    table = {
        "data": {"tokens": dict(tokens)},
        "decoder": sizes,
        "order": {**sizes, **order},
        "training": {"steps": 1},
        "search": {"max_length": 6},
    }
    config, codec = experiment(table), build_codec(dict(tokens), examples)
    torch.manual_seed(0)
    networks = roughen(Networks.of(config, codec, region_size), scale=0.6)
    return Model(Checkpoint(config, codec, networks))


def regions(seed, size=4, name=""):
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.random((size, 2, 2)), axis=1)  # left, top before right, bottom
    features = rng.standard_normal((size, 3)).astype(np.float32)
    labels = ("bus", "", *(f"thing {i}" for i in range(2, size)))[:size]
    return Regions(features, corners.reshape(size, 4).astype(np.float32), name, labels)


CAPTIONS = [
    Example(regions(0, name="one.png"), "a red bus"),
    Example(regions(0, name="one.png"), "the bus"),
    Example(regions(1, 3, "two.png"), "a tree by the road"),
]
