"""One small run, served once."""

import pytest

from serve_models import chain_model, scenes_model, serving
from voi.serve import Playground


@pytest.fixture(scope="session")
def model():
    return chain_model()


@pytest.fixture(scope="session")
def server(model):
    with serving(Playground(model, "runs/chain")) as server:
        yield server


@pytest.fixture(scope="session")
def image_server():
    with serving(Playground(scenes_model(), "runs/scenes")) as server:
        yield server
