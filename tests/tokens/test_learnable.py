"""Which count of pairs makes words rare enough to be copied, against trying them all."""

import pytest

from voi.config import DataConfig
from voi.data.example import Example
from voi.tokens import build_corpus
from voi.tokens.codec import build_codec
from voi.tokens.config import MANY_UNKNOWN
from voi.tokens.learnable import MOST_COUNT, copying_advice, count_with_copies

FEW = [Example(f"set w{i // 5} {i}", f"w{i // 5} = 1 ; a b c d") for i in range(100)]
LONG = [Example(f"set w{i // 5} {i} " + "x " * (i % 5 > 2), "w = a b c d e") for i in range(100)]
NONE = [Example(f"set {i}", "put it") for i in range(100)]


def _tried(examples, config):
    """Return the least count whose corpus has copies and few unknown tokens; 0: there is none."""
    for least in range(2, MOST_COUNT + 1):
        codec = build_codec({**config.tokens, "min_count": least}, examples)
        corpus, report = build_corpus(examples, codec, config)
        if report.unknown_targets > MANY_UNKNOWN:
            return 0
        copies = codec.vocabulary.copies
        if any(number in copies for number in corpus.targets.values):
            return least
    return 0


@pytest.mark.parametrize("examples", [FEW, LONG, NONE, [*FEW, *LONG]], ids=["few", "l", "no", "x"])
@pytest.mark.parametrize("longest", [3, 200])
def test_the_least_count_is_that_of_trying_all(examples, longest):
    tokens = {"min_count": 2, "copy": True}
    config = DataConfig(tokens=tokens, long_examples="skip", max_source_length=longest)
    codec = build_codec(tokens, examples)
    found = count_with_copies(examples, codec, config)
    assert found == _tried(examples, config)
    advice = copying_advice(examples, codec, config)
    assert (f"min_count={found}, or " in advice) == bool(found)
    assert advice.endswith("--set data.tokens.copy=false")


def test_long_examples_that_are_not_left_out_count():
    """Words to be copied stand in long examples only."""
    pairs = [
        Example(f"set w{i // 5} " + "x " * 9, f"w{i // 5} a b c d e f g h i") for i in range(100)
    ]
    pairs += [Example("set", "a b c")]
    tokens = {"min_count": 2, "copy": True}
    for what, least in (("skip", 0), ("error", 6)):
        config = DataConfig(tokens=tokens, long_examples=what, max_source_length=5)
        assert count_with_copies(pairs, build_codec(tokens, pairs), config) == least
