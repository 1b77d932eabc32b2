"""Models with random weights, whose outputs differ from source to source."""

import dataclasses

import pytest
import torch

from small_models import roughen
from small_runs import tiny_experiment
from voi.checkpoint import Checkpoint
from voi.model import Model
from voi.networks import Networks
from voi.prepared import prepare
from voi.tokens import build_codec


def random_model(*settings, seed=2, task="chain"):
    """Return a model of a tiny experiment, its weights drawn from a seed."""
    prepared = prepare(tiny_experiment(*settings, task=task))
    networks = prepared.networks()
    torch.manual_seed(seed)
    return Model(Checkpoint(prepared.experiment, prepared.codec, roughen(networks, 0.5)))


def model_of_examples(examples, region_size=0, max_length=5):
    """Return a model with random weights for examples that belong to no task."""
    experiment = tiny_experiment()
    search = dataclasses.replace(experiment.search, max_length=max_length)
    experiment = dataclasses.replace(experiment, search=search)
    codec = build_codec({}, examples)
    torch.manual_seed(0)
    networks = Networks.of(experiment, codec, region_size)
    return Model(Checkpoint(experiment, codec, roughen(networks, 0.3)))


@pytest.fixture(scope="session")
def chain():
    return random_model("data.options={positions=4, symbols=3, train=32, valid=8, test=12}")


@pytest.fixture(scope="session")
def make_model():
    return random_model


@pytest.fixture(scope="session")
def make_model_of():
    return model_of_examples
