"""Which examples an evaluation takes, for scores and likelihoods alike."""

import numpy as np
import pytest

from voi.data import Example, Regions, grouped
from voi.evaluation import Settings


def of_image(name, caption):
    return Example(Regions(np.zeros((1, 3)), np.zeros((1, 4)), name), caption)


APART = [of_image(name, f"{name} {i}") for i, name in enumerate("abcbaac")]


@pytest.mark.parametrize("limit", range(5))
def test_a_limit_takes_the_captions_of_the_images_that_are_scored(limit):
    found = Settings(limit=limit).with_likelihoods(APART)
    entries = grouped(APART)[: limit or None]
    assert [example.target for example in found] == [text for _, own in entries for text in own]
    assert [str(example.source) for example in found] == [
        str(image) for image, own in entries for _ in own
    ]


def test_a_limit_of_likelihoods_counts_captions():
    found = Settings(limit=2, likelihood_limit=4).with_likelihoods(APART)
    assert [example.target for example in found] == ["a 0", "a 4", "a 5", "b 1"]
    found = Settings(limit=1, likelihood_limit=4).with_likelihoods(APART)
    assert [example.target for example in found] == ["a 0", "a 4", "a 5"]


def test_of_texts_a_limit_counts_examples():
    texts = [Example("same", str(i)) for i in range(5)]
    for limit, likelihoods, num in ((0, 0, 5), (2, 0, 2), (2, 4, 2), (4, 2, 2), (9, 0, 5)):
        found = Settings(limit=limit, likelihood_limit=likelihoods).with_likelihoods(texts)
        assert list(found) == texts[:num]
