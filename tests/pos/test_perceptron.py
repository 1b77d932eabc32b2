"""Trained taggers: what they learn, that they are reproduced, and files that are no good."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tagged_sentences import made_sentences, pairs_of, random_sentences, unseen_sentences
from voi.errors import DataError, MissingExtraError
from voi.pos import make_tagger
from voi.pos.perceptron import Share, accuracy, train_tagger

TRAINED = [pairs_of(sentence) for sentence in made_sentences()]
UNSEEN = [pairs_of(sentence) for sentence in unseen_sentences()]


@pytest.fixture(scope="module")
def tagger():
    pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")
    return train_tagger(TRAINED)


@pytest.fixture
def saved(tagger, tmp_path):
    tagger.save(tmp_path / "mine.json")
    return tmp_path / "mine.json"


def test_context_decides_on_words_with_two_tags(tagger):
    assert tagger(["we", "paint", "the", "green", "paint"]) == [
        "PRON",
        "VERB",
        "DET",
        "ADJ",
        "NOUN",
    ]
    assert tagger(["they", "lift", "the", "old", "lift"]) == ["PRON", "VERB", "DET", "ADJ", "NOUN"]
    assert tagger([]) == []


def test_a_file_tags_as_the_tagger_in_memory(tagger, saved):
    read = make_tagger(str(saved))
    rng = random.Random(3)
    words = [word for sentence in TRAINED + UNSEEN for word, _ in sentence]
    words += ["", "7-fold", "1887", "4x", "雪", "Mira"]
    for length in (1, 2, 7, 30):
        tokens = rng.choices(words, k=length)
        assert read(tokens) == tagger(tokens)
    assert read([]) == []


ELSEWHERE = """
import pathlib, random, sys
from tagged_sentences import random_sentences
from voi.pos.perceptron import train_tagger
random.seed(11)
state = random.getstate()
train_tagger(random_sentences()).save(pathlib.Path(sys.argv[1]))
print(random.getstate() == state)
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_gives_the_same_bytes(tmp_path, seed):
    """Whatever strings hash to there; random numbers of the program go on as if nothing was."""
    pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")
    random.seed(int(seed))
    train_tagger(random_sentences()).save(tmp_path / "here.json")
    places = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": places}
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "again.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    assert done.stdout == "True\n"


def test_a_file_is_plain_json(saved):
    table = json.loads(saved.read_text())
    assert table["format"] == "voi tagger"
    assert table["version"] == 1
    assert table["classes"] == sorted({tag for s in TRAINED for _, tag in s})
    assert table["tagdict"]["they"] == "PRON"
    assert "paint" not in table["tagdict"]  # has two tags
    assert set(table["weights"]["bias"]) <= set(table["classes"])


def test_accuracy_of_a_tagger_counted_by_hand():
    sentences = [[("a", "DET"), ("boat", "NOUN"), ("sinks", "VERB")], [("boat", "VERB")]]
    found = accuracy(lambda tokens: ["NOUN"] * len(tokens), sentences, {"boat", "a"})
    assert found.known == Share(num_right=1, num_tokens=3)
    assert found.unknown == Share(num_right=0, num_tokens=1)
    assert found.total == Share(num_right=1, num_tokens=4)


def test_what_cannot_be_trained_on():
    pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")
    with pytest.raises(ValueError, match="expected universal tags, got NNS"):
        train_tagger([[("boats", "NNS")]])
    with pytest.raises(ValueError, match="at least one tagged word"):
        train_tagger([[]])


GOOD = {"format": "voi tagger", "version": 1, "classes": ["X"], "tagdict": {}, "weights": {}}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "Expecting value"),
        ('{"format": "voi tagger", "ver', "damaged"),
        ("[" * 100_000, "damaged"),
        ("[]", 'no format "voi tagger"'),
        ('{"weights": {}, "tagdict": {}, "classes": []}', 'no format "voi tagger"'),
        (json.dumps({**GOOD, "version": 2}), "version 2"),
        (json.dumps({**GOOD, "classes": []}), "classes must be"),
        (json.dumps({**GOOD, "classes": ["NNS"]}), "classes must be"),
        (json.dumps({**GOOD, "classes": [["X"]]}), "classes must be"),
        (json.dumps({**GOOD, "tagdict": {"a": "DET"}}), "tagdict must"),
        (json.dumps({**GOOD, "tagdict": ["a"]}), "tagdict must"),
        (json.dumps({**GOOD, "weights": {"bias": {"DET": 1.0}}}), "weights must"),
        (json.dumps({**GOOD, "weights": {"bias": {"X": "1"}}}), "weights must"),
        (json.dumps({**GOOD, "weights": {"bias": {"X": float("nan")}}}), "weights must"),
        (json.dumps({**GOOD, "weights": {"bias": {"X": True}}}), "weights must"),
        (json.dumps({**GOOD, "weights": {"bias": 1.0}}), "weights must"),
        (json.dumps({**GOOD, "weights": None}), "weights must"),
        (json.dumps(GOOD).replace("{}", '{"bias": {"X": 1' + "0" * 400 + "}}"), "must"),
    ],
)
def test_bad_files_are_one_line(tmp_path, content, problem):
    pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        make_tagger(str(path))
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pickle_is_not_read(tmp_path):
    pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")
    (tmp_path / "old.json").write_bytes(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94.")
    with pytest.raises(DataError, match="damaged"):
        make_tagger(str(tmp_path / "old.json"))


def test_the_smallest_file_is_read(tmp_path):
    pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")
    for weights in ({}, {"bias": {"X": 1}}):  # whole numbers are what other programs write
        (tmp_path / "small.json").write_text(json.dumps({**GOOD, "weights": weights}))
        assert make_tagger(str(tmp_path / "small.json"))(["a", "b"]) == ["X", "X"]


def test_a_file_that_is_not_there_and_a_missing_extra(saved, monkeypatch):
    with pytest.raises(DataError, match=r"no tagger .*none\.json"):
        make_tagger(str(saved.with_name("none.json")))
    monkeypatch.setitem(sys.modules, "nltk", None)
    for name in [name for name in sys.modules if name.startswith("nltk.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[pos\]'"):
        make_tagger(str(saved))
