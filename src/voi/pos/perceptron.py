"""Taggers trained on tagged sentences: NLTK's averaged perceptron, kept in a JSON file.

    {"format": "voi tagger", "version": 1, "classes": [...], "tagdict": {...}, "weights": {...}}

The file holds what NLTK's tagger holds: `tagdict` has the tags of frequent words that are nearly
always the same, `weights[feature][tag]` decides on the others. Nothing is pickled.
"""

import contextlib
import json
import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voi.atomic import write_text
from voi.errors import DataError
from voi.extras import load_extra
from voi.pos.tagset import UNIVERSAL

FORMAT, VERSION = "voi tagger", 1

TaggedSentence = list[tuple[str, str]]  # words with their universal tags


@dataclass(frozen=True)
class TrainedTagger:
    """A tagger that was trained here or read from a file."""

    model: Any  # NLTK's PerceptronTagger

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """Return a universal tag for each token."""
        return [tag for _, tag in self.model.tag(list(tokens))]

    def save(self, path: Path) -> None:
        """Write the tagger as JSON, whole or not at all; equal taggers give equal files."""
        table = {
            "format": FORMAT,
            "version": VERSION,
            "classes": sorted(self.model.classes),
            "tagdict": self.model.tagdict,
            "weights": self.model.model.weights,
        }
        write_text(path, json.dumps(table, ensure_ascii=False, sort_keys=True) + "\n")


def train_tagger(sentences: Sequence[TaggedSentence], iterations: int = 5) -> TrainedTagger:
    """Return a tagger that learned from the sentences, the same one for the same sentences."""
    given = [sentence for sentence in sentences if sentence]
    if unknown := {tag for sentence in given for _, tag in sentence} - {*UNIVERSAL}:
        raise ValueError(f"expected universal tags, got {', '.join(sorted(unknown))}")
    if not given:
        raise ValueError("expected at least one tagged word, got none")
    model = _untrained()
    with _seeded():
        model.train(given, nr_iter=iterations)
    return TrainedTagger(model)


def load_tagger(path: Path) -> TrainedTagger:
    """Return the tagger of a file that `TrainedTagger.save` wrote."""
    model = _untrained()
    if not path.is_file():
        raise DataError(f"no tagger {path}: give a file that `voi data tagger` wrote")
    try:
        table = json.loads(path.read_text(encoding="utf-8"), parse_int=float)
        _check(table)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{path} is no tagger of `voi data tagger`, or is damaged ({reason}): train it again"
        ) from error
    model.model.weights, model.tagdict = table["weights"], table["tagdict"]
    model.classes = model.model.classes = set(table["classes"])
    return TrainedTagger(model)


def _untrained() -> Any:
    library: Any = load_extra("nltk.tag.perceptron", "pos", "a trained tagger")
    return library.PerceptronTagger(load=False)


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Seed Python's generator, with which NLTK shuffles sentences, and restore it afterwards."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)


def _check(table: Any) -> None:
    """Raise ValueError with what is wrong about the content of a tagger's file."""
    _need(isinstance(table, dict) and table.get("format") == FORMAT, f'no format "{FORMAT}"')
    _need(table.get("version") == VERSION, f"version {table.get('version')}, expected {VERSION}")
    classes, tagdict, weights = (table.get(name) for name in ("classes", "tagdict", "weights"))
    _need(
        isinstance(classes, list) and bool(classes) and all(tag in UNIVERSAL for tag in classes),
        "classes must be universal tags",
    )
    _need(
        isinstance(tagdict, dict) and all(tag in classes for tag in tagdict.values()),
        "tagdict must give words tags of classes",
    )
    _need(
        isinstance(weights, dict) and all(_are_weights(part, classes) for part in weights.values()),
        "weights must give features finite numbers for tags of classes",
    )


def _are_weights(by_tag: Any, classes: Collection[str]) -> bool:
    return isinstance(by_tag, dict) and all(
        tag in classes and isinstance(weight, float) and math.isfinite(weight)
        for tag, weight in by_tag.items()
    )


def _need(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(problem)


@dataclass(frozen=True)
class Share:
    """How many tokens were tagged right."""

    num_right: int
    num_tokens: int


@dataclass(frozen=True)
class Accuracy:
    """Tokens tagged right, those of words that were seen in training apart from the others."""

    known: Share
    unknown: Share

    @property
    def total(self) -> Share:
        """All tokens."""
        return Share(
            self.known.num_right + self.unknown.num_right,
            self.known.num_tokens + self.unknown.num_tokens,
        )


def words_of(sentences: Sequence[TaggedSentence]) -> set[str]:
    """Return the different words of sentences."""
    return {word for sentence in sentences for word, _ in sentence}


def accuracy(
    tagger: Callable[[Sequence[str]], Sequence[str]],
    sentences: Sequence[TaggedSentence],
    known: Collection[str],
) -> Accuracy:
    """Return how well a tagger does on tagged sentences; `known` are the words of its training."""
    right, tokens = {True: 0, False: 0}, {True: 0, False: 0}
    for sentence in sentences:
        found = tagger([word for word, _ in sentence])
        for (word, tag), guess in zip(sentence, found, strict=True):
            right[word in known] += guess == tag
            tokens[word in known] += 1
    return Accuracy(Share(right[True], tokens[True]), Share(right[False], tokens[False]))
