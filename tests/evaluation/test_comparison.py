"""Systems side by side, and the files the table is written to."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from chance import errors
from voi.errors import DataError
from voi.evaluation.comparison import System, compare_likelihoods, side_by_side
from voi.evaluation.likelihoods import PerToken
from voi.evaluation.outputs import Outputs
from voi.evaluation.scores import score_outputs
from voi.evaluation.tables import notes, text_rows, to_csv, to_json, to_markdown, write_table
from voi.metrics import Bootstrap, compare

REFERENCES = tuple((f"the {word} sat on the mat",) for word in ("cat", "dog", "cow", "hen", "fox"))
RIGHT = tuple(reference for (reference,) in REFERENCES)
HALF = (*RIGHT[:2], "a dog lay", "a hen", "the fox sat on a mat")
METRICS = ["bleu", "ter", "exact_match"]
FEW = Bootstrap(num_resamples=50)


def _system(name, hypotheses, references=REFERENCES, likelihoods=()):
    outputs = Outputs(name, hypotheses, references, None, {"checkpoint": name * 8, "beam": 2})
    return System(name, outputs, score_outputs(outputs, METRICS), likelihoods)


def _per_token(values, tokens):
    return PerToken("log_p_bound", "log_p_bound|nats per token", tuple(values), tuple(tokens), 0.1)


def _table():
    first = _system("a", HALF, likelihoods=(_per_token([-2.0, -4.0], [2, 3]),))
    return side_by_side(
        [first, _system("b", RIGHT, likelihoods=(_per_token([-1.0, -2.0], [2, 3]),))], FEW
    )


def test_differences_are_those_of_the_paired_bootstrap():
    table = _table()
    assert table.systems == ("a", "b")
    for row in table.rows[:2]:
        expected = compare(row.name, HALF, RIGHT, REFERENCES, FEW)
        assert row.cells[0].comparison is None
        assert row.cells[1].comparison == expected
        assert row.cells[1].value == pytest.approx(expected.system)
    exact = table.rows[2].cells[1].comparison
    assert (exact.baseline, exact.system, exact.difference) == (40.0, 100.0, 60.0)
    assert exact.low <= 60.0 <= exact.high
    assert [row.higher_is_better for row in table.rows] == [True, False, True, True]


def test_likelihoods_are_compared_per_token():
    """Gains of 1 and 2 nats on 2 and 3 tokens; a resample is (1, 1), (1, 2) or (2, 2)."""
    found = compare_likelihoods(
        _per_token([-2.0, -4.0], [2, 3]), _per_token([-1.0, -2.0], [2, 3]), FEW
    )
    assert found.difference == pytest.approx(3.0 / 5)
    assert (found.baseline, found.system) == pytest.approx((-6.0 / 5, -3.0 / 5))
    assert found.low == pytest.approx(1.0 / 2)
    assert found.high == pytest.approx(2.0 / 3)
    with pytest.raises(DataError, match="other numbers of tokens"):
        compare_likelihoods(_per_token([-2.0], [2]), _per_token([-1.0], [3]), FEW)


@pytest.mark.statistical
def test_interval_is_the_normal_one_for_many_targets():
    """200 gains on one token each: mean +- 1.96 errors.

    A 2.5 % quantile of R normal draws has a standard error of 2.67 deviations / sqrt(R).
    """
    gains = np.random.default_rng(0).normal(0.1, 1.0, 200)
    ones = [1] * 200
    found = compare_likelihoods(_per_token(0 * gains, ones), _per_token(gains, ones), Bootstrap())
    error = gains.std() / np.sqrt(200)
    tolerance = errors(2) * 2.67 * error / np.sqrt(Bootstrap().num_resamples)
    assert found.low == pytest.approx(gains.mean() - 1.96 * error, abs=tolerance)
    assert found.high == pytest.approx(gains.mean() + 1.96 * error, abs=tolerance)


def test_equal_systems_do_not_differ():
    table = side_by_side([_system("a", HALF), _system("b", HALF)], FEW)
    assert all(row.cells[1].comparison.difference == 0.0 for row in table.rows)
    assert all(row.cells[1].comparison.p_value == 1.0 for row in table.rows)


def test_what_cannot_be_compared_says_why():
    other = tuple((reference.upper(),) for (reference,) in REFERENCES)
    only_likelihood = System("c", None, (), (_per_token([-1.0], [2]),))
    systems = [_system("a", HALF), _system("b", RIGHT, other), only_likelihood]
    table = side_by_side(systems, FEW)
    bleu = table.rows[0]
    assert bleu.cells[1].comparison is None
    assert "references differ" in bleu.cells[1].not_compared
    assert bleu.cells[2].skipped == "not computed for this system"
    assert table.rows[-1].name == "log_p_bound"
    assert any("bleu, b, not compared: the references differ" in note for note in notes(table))
    assert text_rows(table)[1][-2:] == ["skipped", "-"]


def test_files(tmp_path):
    table = _table()
    write_table(table, tmp_path / "new", "comparison")
    assert (tmp_path / "new" / "comparison.md").read_text() == to_markdown(table)
    stored = json.loads((tmp_path / "new" / "comparison.json").read_text())
    assert stored == json.loads(to_json(table))
    assert stored["rows"][0]["cells"][1]["comparison"]["num_resamples"] == 50
    lines = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert [(line["metric"], line["system"]) for line in lines[:3]] == [
        ("bleu", "a"), ("bleu", "b"), ("ter", "a"),
    ]  # fmt: skip
    assert float(lines[5]["difference"]) == 60.0
    assert (lines[4]["difference"], lines[4]["value"]) == ("", "40.0")
    assert lines[1]["signature"] == table.rows[0].cells[1].signature
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot write scores into"):
        write_table(table, tmp_path / "file", "x")


def test_markdown_tells_systems_apart():
    text = to_markdown(_table())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == "| metric | a | b | difference, 95 % interval, p |"
    assert "| ter (lower is better) |" in text
    assert "| exact_match | 40.00 | 100.00 | +60.00 [" in text
    assert "| -1.2000 ± 0.1000 | -0.6000 ± 0.1000 | +0.6000 [" in text
    assert "- b: text:b as it is|checkpoint:bbbbbbbb" in text


@pytest.mark.parametrize("name", ["elbo", "log_p_bound", "log_p_bound (short targets)"])
def test_how_a_bound_is_read_is_said_once(name):
    found = replace(_per_token([-2.0, -4.0], [2, 3]), name=name)
    systems = [System(system, None, (), (found,)) for system in "ab"]
    said = [note for note in notes(side_by_side(systems, FEW)) if "--likelihood-samples" in note]
    assert len(said) == (name == "log_p_bound")
    assert all(note.startswith("log_p_bound: a lower bound, which more orders") for note in said)
    assert not any("lower bound" in note for note in notes(side_by_side([_system("a", HALF)], FEW)))
