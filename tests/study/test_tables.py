"""Tables of a study against the functions of voi.analysis, and what is left out by name."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from drawn import HEBREW, HOSTILE, trace_of
from voi.analysis import comparisons, sampled_comparisons, to_rows, write_traces
from voi.errors import DataError
from voi.study import Series, file_series, in_words, read_counts, study
from voi.study.files import to_json
from voi.study.series import aligned
from voi.study.tables import TABLES
from voi.study.text_tables import overall_table, text_tables
from voi.tokens.tagging import tagging_words

COUNTS = {"a": 100, "b": 3}


def traces_of(lean, num=12, **fields):
    """Return traces of three lengths, more or less from the left."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(num):
        n = 2 + i % 3

        def order(n=n):
            return tuple(np.argsort(lean * np.arange(n) + rng.random(n)).tolist())

        tokens = [("a", "b", "c")[j % 3] for j in range(n)]
        found.append(
            trace_of(tokens, order=order(), source=str(i), samples=(order(), order()), **fields)
        )
    return found


MINE = Series("mine", "learned", traces_of(0.0), COUNTS)
OTHER = Series("other", "learned", traces_of(9.0), COUNTS)


def tagger(tokens):
    return ["VOWEL" if token == "a" else "OTHER" for token in tokens]


def studied(*all_series, **options):
    return study(all_series, num_resamples=20, **options)


def test_rows_are_those_of_the_analysis():
    found = studied(MINE, OTHER, tagger=tagger)
    rows = [row.values for row in found.rows("comparisons", series="mine, learned")]
    expected = to_rows(comparisons(MINE.traces, counts=COUNTS))
    whose = {"run": "mine", "orders": "learned", "compared": "orders"}
    assert rows == [{**whose, **row} for row in expected]
    rows = [row.values for row in found.rows("comparisons", series="mine, sampled")]
    expected = to_rows(sampled_comparisons(MINE.traces, counts=COUNTS))
    assert rows == [{**whose, "orders": "sampled", **row} for row in expected]
    assert {row.values["group"] for row in found.tables["by_tag"]} == {"VOWEL", "OTHER"}
    assert list(found.tables) == list(TABLES)
    assert all(found.tables.values())


def test_every_token_has_a_row():
    trace = trace_of(["a", "b", "a"], order=(2, 0, 1))
    mine = Series("mine", "learned", [trace_of([], order=()), trace], COUNTS)
    rows = [row.values for row in studied(mine, tagger=tagger).tables["tokens"]]
    whose = {"run": "mine", "orders": "learned", "example": 1}
    steps = [("a", "VOWEL", 100, 1), ("b", "OTHER", 3, 2), ("a", "VOWEL", 100, 0)]
    assert rows == [
        {**whose, "position": i, "token": a, "tag": b, "count": c, "step": t, "index": t / 3}
        for i, (a, b, c, t) in enumerate(steps)
    ]
    bare = [row.values for row in studied(replace(mine, counts=None)).tables["tokens"]]
    assert {(row["tag"], row["count"]) for row in bare} == {(None, None)}
    rare = studied(replace(mine, counts={})).tables["tokens"]
    assert {row.values["count"] for row in rare} == {0}


def test_left_to_right_is_found_to_be_left_to_right():
    found = studied(OTHER)
    (row,) = found.rows("overall", series="other, learned", reference="l2r", metric="nld")
    assert row.values["mean"] == 0
    (row,) = found.rows("contiguity", neighbour="final")
    assert row.values["mean"] == 1
    (first,) = found.rows("first_tokens")
    assert (first.values["token"], first.values["share"]) == ("a", 1)
    words = " ".join(in_words(found)[0].sentences)
    assert "closest fixed order is l2r: normalised Levenshtein distance 0.000" in words
    assert "At 100% of the steps" in words
    assert "“a” (100%)" in words


def test_two_series_are_compared_on_the_same_targets():
    same = replace(MINE, run="copy")
    found = studied(MINE, same, OTHER)
    distances = {
        (row.run, row.other): row.values["mean"] for row in found.rows("between", metric="nld")
    }
    assert distances["mine", "copy, learned"] == 0
    assert distances["mine", "other, learned"] == distances["copy", "other, learned"] > 0
    assert in_words(found)[-1].heading == "Side by side"


def test_ranks_are_compared_where_asked_for():
    found = studied(MINE, compare="ranks")
    expected = to_rows(comparisons(MINE.traces, counts=COUNTS, compare="ranks"))
    rows = [row.values for row in found.rows("comparisons", orders="learned")]
    assert [row["tau"] for row in rows] == [row["tau"] for row in expected]
    assert "Compared are ranks" in overall_table(found).note


def test_intervals_follow_the_seed():
    tables = [studied(MINE, seed=seed).tables for seed in (3, 3, 4)]
    assert tables[0] == tables[1] != tables[2]


def test_what_is_left_out_is_named():
    bare = Series("bare", "generated", [replace(t, samples=None) for t in MINE.traces])
    skipped = " ".join(studied(bare, untagged="no tagger here").skipped)
    for part in ("no tagger here", "--counts", "--samples", "known best orders"):
        assert part in skipped
    known = [replace(trace, known_orders=(trace.order,)) for trace in MINE.traces]
    full = Series("full", "learned", known, COUNTS)
    assert studied(full, tagger=tagger).skipped == ()
    assert "known for 12 of the targets the distance is 0.000" in " ".join(
        in_words(studied(full))[0].sentences
    )
    code = replace(full, has_sentences=False)
    found = studied(code, tagger=tagger)
    assert "full, learned: targets are no sentences" in found.skipped[0]
    assert not found.tables["by_tag"]


def test_the_tagger_is_named_where_its_result_stands():
    found = studied(MINE, tagger=tagger, tagged_by="HanTa, English")
    assert "Of the parts of speech (by HanTa, English) " in " ".join(in_words(found)[0].sentences)
    notes = {table.title: table.note for table in text_tables(found)}
    expected = "Parts of speech by HanTa, English."
    assert notes["Generation index by part of speech"] == expected
    assert to_json(found)["tagged_by"] == "HanTa, English"


def test_a_language_that_the_tagger_does_not_know_is_left_out():
    german = replace(OTHER, language="de")
    english = replace(MINE, language="en")
    found = studied(MINE, english, german, tagger=tagger, tagged_language="en")
    assert {row.run for row in found.tables["by_tag"]} == {"mine", "mine (2)"}
    reason = "of other, learned: the targets are 'de' (data.tokens.target_language), the default"
    assert sum(reason in skipped for skipped in found.skipped) == 1
    assert studied(german, tagger=tagger).tables["by_tag"]


@pytest.mark.parametrize("compare", ["orders", "ranks"])
def test_tables_of_distances_say_what_was_compared(compare):
    found = studied(MINE, OTHER, tagger=tagger, compare=compare)
    for name in ("comparisons", "overall", "by_length", "between"):
        assert {row.values["compared"] for row in found.tables[name]} == {compare}
    assert not any("compared" in row.values for row in found.tables["by_word"])


def test_every_table_has_a_cell_for_every_column():
    found = text_tables(studied(MINE, OTHER, tagger=tagger))
    assert len(found) == 11
    for table in found:
        assert {len(row) for row in table.rows} == {len(table.header)}
    compact = overall_table(studied(MINE), is_compact=True)
    assert [row[4].count("[") for row in compact.rows] == [0] * len(compact.rows)


def test_strange_and_empty_targets_pass_through():
    strange = Series("x", "generated", [trace_of(HOSTILE), trace_of(HEBREW), trace_of([])])
    found = studied(strange, tagger=lambda tokens: ["X"] * len(tokens))
    assert found.rows("overall", reference="l2r", metric="nld")
    assert text_tables(found)
    nothing = Series("x", "generated", [trace_of([])])
    assert in_words(studied(nothing))[0].sentences == (
        "Targets: 1, with 0 tokens.",
        "Of these 1 have fewer than two tokens, and so only one order.",
    )


def test_pieces_have_the_tag_of_their_word():
    seen = []

    def upper(words):
        seen.append(list(words))
        return [word.upper() for word in words]

    assert tagging_words(upper)(["▁the", "▁bu", "s", "▁", "▁go", "es"]) == [
        "THE", "BUS", "BUS", "X", "GOES", "GOES",
    ]  # fmt: skip
    assert tagging_words(upper)(["", " ", "b"]) == ["X", "X", "B"]
    assert tagging_words(upper)([]) == []
    assert seen == [["the", "bus", "goes"], ["b"]]


def test_files_become_series(tmp_path):
    write_traces(tmp_path / "mine.jsonl", MINE.traces)
    found = file_series(tmp_path / "mine.jsonl", COUNTS)
    assert (found.run, found.orders) == ("mine", "generated")
    assert [asdict(trace) for trace in found.traces] == [asdict(trace) for trace in MINE.traces]
    mixed = [replace(MINE.traces[0], kind="inferred"), *MINE.traces[1:]]
    write_traces(tmp_path / "mixed.jsonl", mixed)
    assert file_series(tmp_path / "mixed.jsonl").orders == "mixed"
    write_traces(tmp_path / "none.jsonl", [])
    with pytest.raises(DataError, match="at least one trace"):
        file_series(tmp_path / "none.jsonl")


def test_samples_of_two_series_of_one_name_are_told_apart():
    found = studied(MINE, replace(OTHER, run="mine", orders="generated"))
    names = ["mine, learned", "mine, sampled", "mine (2), generated", "mine (2), sampled"]
    assert list(dict.fromkeys(row.series for row in found.tables["overall"])) == names
    for traces, name in ((MINE.traces, names[1]), (OTHER.traces, names[3])):
        (row,) = found.rows("overall", series=name, reference="l2r", metric="nld")
        each = [c.nld for c in sampled_comparisons(traces) if c.reference == "l2r"]
        assert row.values["mean"] == pytest.approx(np.mean(each))
    assert list(dict.fromkeys(row[0] for row in overall_table(found).rows)) == names


def test_only_series_that_would_be_confused_get_a_number():
    bare = [replace(trace, samples=None) for trace in MINE.traces]
    generated = replace(MINE, orders="generated", traces=bare)
    assert [series.run for series in aligned([MINE, generated])] == ["mine", "mine"]
    twice = aligned([MINE, replace(MINE, run="mine (2)"), MINE])
    assert [series.run for series in twice] == ["mine", "mine (2)", "mine (3)"]


def test_series_must_speak_of_the_same_examples():
    assert [series.run for series in aligned([MINE, MINE, MINE])] == [
        "mine",
        "mine (2)",
        "mine (3)",
    ]
    with pytest.raises(DataError, match="12 in mine, learned and 11"):
        aligned([MINE, replace(OTHER, traces=OTHER.traces[1:])])
    with pytest.raises(DataError, match="study them apart"):
        aligned([MINE, replace(OTHER, traces=OTHER.traces[::-1])])
    with pytest.raises(DataError, match="at least one run"):
        aligned([])


@pytest.mark.parametrize("text", ["[1]", '{"a": 1.5}', '{"a": true}', "{"])
def test_counts_are_whole_numbers(tmp_path, text):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(COUNTS))
    assert read_counts(path) == COUNTS
    path.write_text(text)
    with pytest.raises(DataError, match="expected a JSON object"):
        read_counts(path)
    with pytest.raises(DataError, match="expected a JSON object"):
        read_counts(tmp_path / "absent.json")
