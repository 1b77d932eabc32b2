import subprocess
import sys

import pytest

from voi.errors import ConfigError, MissingExtraError
from voi.metrics import METRICS, Score, bleu, chrf, exact_match, meteor, rouge, score_all, ter
from voi.metrics.library import load
from voi.metrics.score import check_inputs


def test_score_has_a_value_or_a_reason():
    with pytest.raises(ValueError, match="a value or a reason"):
        Score("meteor", None, "s", num_examples=1)
    with pytest.raises(ValueError, match="a value or a reason"):
        Score("meteor", 1.0, "s", num_examples=1, skipped="no Java")
    with pytest.raises(ValueError, match="2 examples but 1"):
        Score("bleu", 1.0, "s", num_examples=2, per_example=(1.0,))
    skipped = Score("meteor", None, "s", num_examples=1, skipped="no Java")
    assert str(skipped) == "meteor skipped: no Java"


@pytest.mark.parametrize("metric", [bleu, chrf, ter, rouge, meteor, exact_match])
def test_wrong_counts_are_named(metric):
    with pytest.raises(ValueError, match=r"2 hypotheses and 1 lists of references"):
        metric(["a", "b"], [["a"]])
    with pytest.raises(ValueError, match=r"0 hypotheses and 0 lists"):
        metric([], [])


def test_references_are_lists_of_strings():
    with pytest.raises(ValueError, match=r"references\[1\] must be a list of strings"):
        check_inputs(["a", "b"], [["a"], "b"])
    with pytest.raises(ValueError, match=r"references\[0\] is empty"):
        check_inputs(["a"], [[]])
    with pytest.raises(ValueError, match="hypotheses must be a list"):
        check_inputs("a", [["a"]])


def test_registry_flattens_in_the_order_asked_for():
    scores = score_all(["exact_match", "rouge", "ter"], ["a b"], [["a b"]])
    assert [score.name for score in scores] == ["exact_match", "rouge1", "rouge2", "rougeL", "ter"]


WITHOUT_JAVA = set(METRICS) - {"caption", "caption_bleu4", "caption_rouge_l", "cider", "meteor"}


@pytest.mark.parametrize("name", sorted(WITHOUT_JAVA - {"rouge"}))
def test_registered_name_is_the_score_name(name):
    assert [s.name for s in score_all([name], ["a b c d"], [["a b c d"]])] == [name]


def test_unknown_metric_names_the_nearest():
    with pytest.raises(ConfigError, match='unknown metric "blue": did you mean "bleu"'):
        score_all(["blue"], ["a"], [["a"]])
    with pytest.raises(ConfigError, match="known: bleu, "):
        score_all(["perplexity?"], ["a"], [["a"]])


@pytest.mark.parametrize(
    ("module", "metric"),
    [("sacrebleu", chrf), ("rouge_score", rouge), ("pycocoevalcap", meteor)],
)
def test_missing_library_names_the_extra(monkeypatch, module, metric):
    for loaded in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)  # what import does for a missing module
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[metrics\]'"):
        metric(["a"], [["a"]])


def test_load_returns_the_module():
    import sacrebleu

    assert load("sacrebleu") is sacrebleu


def test_import_loads_no_metric_library():
    libraries = ["sacrebleu", "rouge_score", "nltk", "pycocoevalcap"]
    program = f"import sys, voi.metrics; print([m for m in {libraries} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
