"""Models with random weights, made once."""

import pytest

from study_models import CAPTIONS, TEXTS, made_model


@pytest.fixture(scope="session")
def model():
    return made_model(TEXTS)


@pytest.fixture(scope="session")
def captioner():
    return made_model(CAPTIONS, region_size=3)
