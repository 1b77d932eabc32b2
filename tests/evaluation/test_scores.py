"""Scores of outputs: what the libraries say, conventions, and both ways of counting unknowns."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

from shared_data import shared_data
from voi.data import Example, Regions
from voi.data.tasks import make_task
from voi.errors import ConfigError, MissingExtraError
from voi.evaluation import System, identity, side_by_side
from voi.evaluation.conventions import METRICS_OF, Conventions, kind_of
from voi.evaluation.outputs import Outputs, items_of
from voi.evaluation.run import with_accepted
from voi.evaluation.scores import LABELLED, check_metrics, default_metrics, score_outputs
from voi.metrics import METRICS
from voi.tokens import TokensConfig, build_codec


def _outputs(hypotheses, references, published=None, **about):
    shaped = [None if x is None else tuple(map(tuple, x)) for x in (references, published)]
    return Outputs("x", tuple(hypotheses), *shaped, about)


def test_libraries_called_directly_give_the_same():
    lines = shared_data("ro_en", "rosts", "dev.en").read_text(encoding="utf-8").splitlines()[:200]
    hypotheses, references = lines[0::2], lines[1::2]
    outputs = _outputs(hypotheses, [[reference] for reference in references])
    found = {s.name: s for s in score_outputs(outputs, ["bleu", "ter", "chrf", "rouge"])}
    streams = [references]
    assert found["bleu"].value == pytest.approx(sacrebleu.corpus_bleu(hypotheses, streams).score)
    assert found["ter"].value == pytest.approx(sacrebleu.corpus_ter(hypotheses, streams).score)
    assert found["chrf"].value == pytest.approx(sacrebleu.corpus_chrf(hypotheses, streams).score)
    scorer = RougeScorer(["rouge2"], use_stemmer=True)
    pairs = zip(references, hypotheses, strict=True)
    values = [100 * scorer.score(r, h)["rouge2"].fmeasure for r, h in pairs]
    assert found["rouge2"].value == pytest.approx(sum(values) / len(values))


def test_signature_says_all_that_is_needed():
    digest = "0123456789abcdef"
    outputs = _outputs(
        ["a"], [["a"]], text="pieces joined", split="test", beam=5, checkpoint=digest
    )
    (score,) = score_outputs(outputs, ["bleu"])
    for part in ("tok:13a", f"version:{sacrebleu.__version__}", "text:pieces joined", "split:test"):
        assert part in score.signature
    assert score.signature.endswith("beam:5|checkpoint:0123456789ab")
    (unknown,) = score_outputs(_outputs(["a"], [["a"]]), ["exact_match"])
    assert unknown.signature.endswith("text:x as it is")


def test_code_is_counted_both_ways():
    """One of two names is outside the vocabulary: wrong as a string, right as <unk>."""
    examples = [Example("give x", "return x"), Example("give x", "return  x")]
    codec = build_codec({"min_count": 2}, examples)
    tested = [Example("give x", "return x"), Example("give y", "return y")]
    items = items_of(tested, Conventions(codec, "code"))
    assert [item.references for item in items] == [("return x",), ("return y",)]
    assert [item.published for item in items] == [("return x",), ("return <unk>",)]
    hypotheses = ["return x", "return <unk>"]
    outputs = _outputs(
        hypotheses, [item.references for item in items], [item.published for item in items]
    )
    found = {score.name: score for score in score_outputs(outputs, METRICS_OF["code"])}
    assert found["exact_match (strict)"].value == 50.0
    assert found["exact_match (as published)"].value == 100.0
    assert "unknown words:strict" in found["exact_match (strict)"].signature
    published = found["bleu_tokenized (as published)"]
    streams = [["return x", "return <unk>"]]
    expected = sacrebleu.corpus_bleu(hypotheses, streams, tokenize="none", force=True).score
    assert published.value == pytest.approx(expected)
    assert "unknown words:as published" in published.signature
    copying = build_codec({"min_count": 2, "copy": True}, examples)
    (_, copied) = items_of(tested, Conventions(copying, "code"))
    assert copied.published == ("return y",)  # a word that can be copied is not unknown


def test_lines_and_indentation_of_code_count():
    """As in training, which compares tokens; `accepted` are what a task of one's own accepts."""
    right, wrong = "if x :\n    a ( )\n    b ( )", "if x :\n    a ( )\nb ( )"
    of_code = _outputs([right, wrong], [[right]] * 2, [[right]] * 2)
    accepted = dataclasses.replace(of_code, accepted=((right, wrong), (right,)))
    for outputs in (of_code, accepted):
        for score in score_outputs(outputs, ["exact_match"]):
            assert score.per_example == (100.0, 0.0)
            assert "lines and indentation kept" in score.signature
    of_texts = _outputs([right, wrong], [[right]] * 2)
    (score,) = score_outputs(of_texts, ["exact_match"])
    assert score.value == 100.0
    assert "lines" not in score.signature


def test_references_are_written_as_the_codec_writes():
    examples = [Example("x", "f( 'A  b' )")]
    code = Conventions(build_codec({"pretokenizer": "code"}, examples), "code")
    assert code.reference("f(  'A  b')") == "f ( 'A  b' )"
    lower = Conventions(build_codec({"lowercase": True}, examples), "translation")
    assert lower.reference("The Cat") == "the cat"
    assert lower.text == "words joined by spaces, references lower-cased"
    moses = build_codec({"pretokenizer": "moses", "kind": "bpe", "size": 40}, examples)
    conventions = Conventions(moses, "translation")
    assert conventions.text == "pieces joined, moses detokenised (en)"
    assert conventions.reference("The Cat") == "The Cat"


def test_what_a_task_gets():
    words, code = TokensConfig(), TokensConfig(pretokenizer="code")
    image = Regions.__new__(Regions)
    for name in ("chain", "addition", "stargraph", "sorting", "sudoku4"):
        assert kind_of(name, words, "x") == "symbols"
    assert kind_of("pylines", words, "x") == "code"
    assert kind_of("django", words, "x") == "code"
    assert kind_of("wmt16-ro-en", words, "x") == "translation"
    assert kind_of("gigaword", words, "x") == "summaries"
    assert kind_of("files", words, "x") == "text"
    assert kind_of("files", code, "x") == "code"
    assert kind_of("coco", words, image) == "captions"
    assert METRICS_OF[kind_of("files", words, None)] == ()
    assert {name for names in METRICS_OF.values() for name in names} <= METRICS.keys()
    assert set(LABELLED) <= METRICS.keys()
    assert default_metrics(_outputs(["a"], [["a"]], metrics=["ter"])) == ("ter",)


def test_a_task_may_accept_other_targets_than_the_reference():
    """A sudoku whose cells are listed backwards is solved; one with a wrong value is not."""
    task = make_task("sudoku4", {"train": 4, "valid": 1, "test": 3})
    examples = task.split("test")
    first, second, third = (example.target for example in examples)
    backwards = " ".join(reversed(second.split()))
    wrong = third.replace("=1", "=2")
    written = _outputs([first, backwards, wrong], [[first], [second], [third]])
    (plain,) = score_outputs(written, ["exact_match"])
    (score,) = score_outputs(with_accepted(written, task, examples), ["exact_match"])
    assert plain.per_example == (100.0, 0.0, 0.0)
    assert score.per_example == (100.0, 100.0, 0.0)
    assert "right:what the task accepts" in score.signature
    other = with_accepted(_outputs([first, second, third], written.references), task, examples)
    systems = [
        System(name, outputs, score_outputs(outputs, ["exact_match"]))
        for name, outputs in (("a", with_accepted(written, task, examples)), ("b", other))
    ]
    (row,) = side_by_side(systems).rows
    assert row.cells[1].comparison is not None  # the references are the same ones
    assert with_accepted(written, make_task("chain", {}), examples) is written


def test_unknown_metrics_and_missing_libraries(monkeypatch):
    with pytest.raises(ConfigError, match='unknown metric "blue": did you mean "bleu"'):
        check_metrics(["blue"])

    def missing(*arguments):
        raise MissingExtraError("this metric needs sacrebleu: pip install 'voi[metrics]'")

    monkeypatch.setitem(METRICS, "ter", missing)
    skipped, found = score_outputs(_outputs(["a"], [["a"]]), ["ter", "exact_match"])
    assert (skipped.name, skipped.value) == ("ter", None)
    assert "pip install" in skipped.skipped
    assert found.value == 100.0


def test_caption_metrics_without_java_are_skipped_rows(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = score_outputs(_outputs(["a b"], [["a b", "c"]]), ["caption", "exact_match"])
    assert [score.name for score in found if score.skipped] == [
        "caption_bleu4", "meteor", "caption_rouge_l", "cider",
    ]  # fmt: skip
    assert found[-1].value == 100.0


def test_digest_is_that_of_the_file(chain, tmp_path):
    chain.save_pretrained(tmp_path / "model")
    file = tmp_path / "model" / "networks.safetensors"
    assert identity.weights_digest(chain) == hashlib.sha256(file.read_bytes()).hexdigest()
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert manifest["files"][file.name]["sha256"] == identity.weights_digest(chain)


def test_commit_of_a_checkout_only(monkeypatch, tmp_path):
    monkeypatch.setattr(identity, "_SOURCE", Path(tmp_path) / "site-packages")
    assert identity.commit() is None
    assert identity.notes() == {}
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(identity, "_SOURCE", Path(tmp_path) / "src")
    assert identity.commit() is None  # no repository after all
