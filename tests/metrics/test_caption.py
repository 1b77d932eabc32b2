import gzip
import json
import math
import os
import re
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from shared_data import shared_data
from voi.metrics import caption, cider, meteor, score_all
from voi.metrics.java import ptb_tokenize

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

HYPOTHESES = [
    "A man is riding a brown horse.",  # equal to its reference
    "",
    "two dogs, (both big) play -- with a ball!",
    "zebras",
    "a line\nbreak and ||| bars",
]
REFERENCES = [
    ["A man is riding a brown horse."],
    ["A red bus on a street."],
    ["Two big dogs playing with a ball.", "The dogs' ball is red; they play."],
    ["Zebras graze."],
    ["A line break and some bars", "Nothing of the kind", "A bar"],
]


def coco_captions(num_images: int) -> tuple[list[str], list[list[str]]]:
    """Return one caption of each image as hypothesis and the others as its references."""
    path = shared_data("coco_captions", "captions_val2017.json.gz")
    captions_of: dict[int, list[str]] = {}
    for record in json.loads(gzip.decompress(path.read_bytes()))["annotations"]:
        captions_of.setdefault(record["image_id"], []).append(record["caption"])
    chosen = list(captions_of.values())[:num_images]
    return [own[0] for own in chosen], [own[1:] for own in chosen]


def library_tokens(texts: list[str]) -> list[str]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    tokenized = PTBTokenizer().tokenize({i: [{"caption": t}] for i, t in enumerate(texts)})
    return [tokenized[i][0] for i in range(len(texts))]


@pytest.fixture(scope="module")
def scored():
    """Our scores and the library's on the same captions.

    Each METEOR takes ten seconds to load, so there is one of each and they load side by side. Ours
    runs under a locale with decimal commas, on which the library's own wrapper breaks.
    """
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge

    coco_hypotheses, coco_references = coco_captions(100)
    hypotheses, references = HYPOTHESES + coco_hypotheses, REFERENCES + coco_references
    library_meteor = Meteor()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de -Duser.country=DE")
            ours = {score.name: score for score in caption(hypotheses, references)}
        words = iter(library_tokens([*hypotheses, *(r for own in references for r in own)]))
        res = {i: [next(words)] for i in range(len(hypotheses))}
        gts = {i: [next(words) for _ in own] for i, own in enumerate(references)}
        theirs = {
            "meteor": library_meteor.compute_score(gts, res),
            "caption_rouge_l": Rouge().compute_score(gts, res),
            "cider": Cider().compute_score(gts, res),
        }
    finally:
        library_meteor.meteor_p.stdout.close()
        library_meteor.meteor_p.stderr.close()
    corpus, per_example = Bleu(4).compute_score(gts, res, verbose=0)
    theirs["caption_bleu4"] = corpus[3], per_example[3]
    return SimpleNamespace(ours=ours, theirs=theirs)


@needs_java
@pytest.mark.parametrize("name", ["caption_bleu4", "meteor", "caption_rouge_l", "cider"])
def test_equals_library(scored, name):
    value, per_example = scored.theirs[name]
    assert scored.ours[name].value == pytest.approx(100 * value)
    assert scored.ours[name].per_example == pytest.approx([100 * v for v in per_example])
    assert scored.ours[name].num_examples == 105
    assert "pycocoevalcap" in scored.ours[name].signature
    assert value > 0.05


@needs_java
def test_perfect_and_empty_examples(scored):
    for name, perfect in [("caption_bleu4", 100), ("meteor", 100), ("cider", 1000)]:
        assert scored.ours[name].per_example[0] == pytest.approx(perfect, abs=1e-4)
        assert scored.ours[name].per_example[1] == pytest.approx(0.0, abs=1e-4)
    assert scored.ours["caption_rouge_l"].per_example[:2] == pytest.approx((100.0, 0.0))


@needs_java
def test_tokens_by_hand_and_by_library():
    texts = ["A man's dog, isn't it?", "", "  ", 'He said: "no"...', "naïve café", ""]
    assert ptb_tokenize(texts, timeout=60.0) == library_tokens(texts)
    assert ptb_tokenize(texts, timeout=60.0)[0] == "a man 's dog is n't it"


@needs_java
def test_line_breaks_do_not_shift_captions():
    texts = ["one\rtwo", "three\u2028four", "five\x85six\n", "seven\x0beight\x0cnine"]
    assert ptb_tokenize(texts, timeout=60.0) == [
        "one two",
        "three four",
        "five six",
        "seven eight nine",
    ]


@needs_java
def test_hand_computed_cider():
    """Two examples without a common word, so every n-gram has weight log 2.

    "p q" against "p q r s": cosines 2 / (sqrt 2 sqrt 4), 1 / sqrt 3, 0 and 0, and a difference of
    two bigrams in length under a Gaussian of width six.
    """
    score = cider(["k l m n", "p q"], [["k l m n"], ["p q r s"]])
    second = 1000 * (2 / math.sqrt(8) + 1 / math.sqrt(3)) / 4 * math.exp(-(2**2) / (2 * 6**2))
    assert score.per_example == pytest.approx((1000.0, second))
    assert score.value == pytest.approx((1000 + second) / 2)


@needs_java
def test_hand_computed_bleu_and_rouge():
    """k l m n against two references: best precision 2/4 by the first, best recall 1 by it too."""
    [rouge_l] = score_all(["caption_rouge_l"], ["k l m n"], [["k l", "z y x w v n"]])
    assert rouge_l.value == pytest.approx(100 * 2.44 * 0.5 * 1 / (1 + 1.44 * 0.5))
    [bleu4] = score_all(["caption_bleu4"], ["k l m n o"], [["k l m n x y"]])
    expected = 100 * math.exp(1 - 6 / 5) * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert bleu4.value == pytest.approx(expected)


@needs_java
def test_references_without_words():
    assert cider(["a dog"], [["..."]]).value == 0.0


def test_without_java_every_row_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    scores = caption(["a dog"], [["a dog"]])
    assert [score.name for score in scores] == [
        "caption_bleu4",
        "meteor",
        "caption_rouge_l",
        "cider",
    ]
    for score in scores:
        assert score.value is None
        assert score.num_examples == 1
        assert "java is not on the path" in score.skipped


@needs_java
def test_without_jar_only_meteor_is_skipped(monkeypatch):
    monkeypatch.setattr("pycocoevalcap.meteor.meteor.METEOR_JAR", "absent.jar")
    rouge_l, skipped = caption(["a dog"], [["a dog"]], kinds=("caption_rouge_l", "meteor"))
    assert rouge_l.value == pytest.approx(100.0)
    assert skipped.value is None
    assert "absent.jar is missing" in skipped.skipped


def fake_java(monkeypatch, folder: Path, body: str) -> Path:
    """Put a `java` first on the path that misbehaves; return the file in which it notes its id."""
    ids = folder / "ids"
    script = folder / "java"
    script.write_text(f'#!/bin/sh\necho $$ >> "{ids}"\n{body}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return ids


def all_gone(ids: Path) -> bool:
    """Return whether every noted process ends; a killed orphan may need a moment."""
    deadline = time.monotonic() + 10
    while any(map(is_running, ids.read_text().split())):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_running(process_id: str) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # an orphan's body may wait for its new parent


@pytest.mark.parametrize(
    ("body", "timeout", "reason"),
    [
        ("exec sleep 600", 1.0, "no answer in 1 seconds"),
        ('sleep 600 & echo $! >> "$(dirname "$0")/ids"; wait', 1.0, "no answer in 1 seconds"),
        ("echo out of memory >&2; exit 3", 60.0, r"METEOR broke off: .*\(out of memory\)"),
        ("while read line; do echo no; echo no; done", 60.0, "broke off: could not convert"),
    ],
    ids=["silent", "silent child", "dead", "nonsense"],
)
def test_broken_meteor_is_skipped_and_closed(monkeypatch, tmp_path, body, timeout, reason):
    ids = fake_java(monkeypatch, tmp_path, body)
    module = sys.modules["voi.metrics.caption"]
    monkeypatch.setattr(module, "ptb_tokenize", lambda texts, timeout: texts)
    score = meteor(["a dog"], [["a dog"]], timeout=timeout)
    assert score.value is None
    assert re.search(reason, score.skipped)
    assert all_gone(ids)


@pytest.mark.parametrize(
    ("body", "timeout", "reason"),
    [
        ("exec sleep 600", 1.0, "the tokeniser gave no answer in 1 seconds"),
        ("echo broken >&2; exit 1", 60.0, "ended with code 1 and 0 lines for 2 (broken)"),
        ("echo one line", 60.0, "ended with code 0 and 1 lines for 2"),
    ],
    ids=["silent", "dead", "short"],
)
def test_broken_tokenizer_is_skipped_and_closed(monkeypatch, tmp_path, body, timeout, reason):
    ids = fake_java(monkeypatch, tmp_path, body)
    score = cider(["a dog"], [["a dog"]], timeout=timeout)
    assert reason in score.skipped
    assert all_gone(ids)


def test_java_that_does_not_start_is_skipped(monkeypatch, tmp_path):
    (tmp_path / "java").write_bytes(b"\x7fno program")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "does not start" in meteor(["a"], [["a"]]).skipped
