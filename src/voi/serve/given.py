"""Which tokens of a written target were given by the user, and where its gaps were."""

from collections.abc import Sequence
from dataclasses import dataclass

from voi.data import Source
from voi.search import (
    Hypothesis,
    Rules,
    rules_with_gaps,
    rules_with_keywords,
    rules_with_prefix,
)
from voi.serve.requests import GenerateRequest
from voi.tokens import Codec


@dataclass(frozen=True)
class Given:
    """The part of a target that the user gave."""

    positions: tuple[int, ...] = ()  # final positions of the given tokens, ascending
    gaps: tuple[int, ...] = ()  # each by the number of given tokens before it
    num_first: int = 0  # given tokens that were written before everything else


def rules_of(request: GenerateRequest, codec: Codec, source: Source) -> Rules:
    """Return the rules that a request sets, in token ids."""
    if request.gaps:
        return rules_with_gaps(request.gaps, codec, source)
    if request.prefix:
        return rules_with_prefix(request.prefix, codec, source)
    in_order = request.keywords_in_order
    return rules_with_keywords(request.keywords, codec, source, in_order=in_order)


def given_of(hypothesis: Hypothesis, rules: Rules, codec: Codec, source: Source) -> Given:
    """Return the part of a hypothesis that the rules prescribed."""
    num_first = len(rules.given)
    words = [hypothesis.tokens[position] for position in hypothesis.order]
    required = [codec.decode(word, source) for word in rules.required]
    steps = [*range(num_first), *paying_steps(words, required)]
    return Given(
        positions=tuple(sorted(hypothesis.order[step] for step in steps)),
        gaps=tuple(i for i, is_gap in enumerate(rules.gaps) if is_gap),
        num_first=num_first,
    )


def paying_steps(words: Sequence[str], required: Sequence[Sequence[str]]) -> list[int]:
    """Return the steps that write required words, each of one or more tokens.

    A required word counts as written by the first step that writes its first token, and by the
    steps after it that write its other tokens.

    >>> paying_steps(["x", "New", "York", "x"], [["x"], ["New", "York"]])
    [0, 1, 2]
    """
    missing = list(required)
    steps: list[int] = []
    step = 0
    while step < len(words):
        word = next((word for word in missing if word[0] == words[step]), None)
        if word is None:
            step += 1
            continue
        missing.remove(word)
        steps += range(step, step + len(word))
        step += len(word)
    return steps
