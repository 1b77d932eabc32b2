"""Trace files: what is written is read, and what is malformed is named by file and line."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import SIXTY, partial_sentences, trace_of
from voi.analysis.slots import slots_of
from voi.analysis.traces import Trace, from_record, read_traces, to_record, write_traces
from voi.errors import DataError

FULL = {
    "source": "ein roter Bus",
    "target": "a red bus",
    "tokens": ["a", "red", "bus"],
    "order": [2, 0, 1],
    "slots": [0, 0, 1],
    "score": -3.5,
    "token_scores": [-1.0, -0.5, -0.25],
    "slot_scores": [0.0, -0.75, -1],
    "reference": "the red bus",
    "kind": "generated",
    "samples": [[2, 0, 1], [0, 1, 2]],
    "known_orders": [[2, 1, 0]],
}
SHORT = {"target": "hi", "tokens": ["hi"], "order": [0], "slots": [0], "kind": "inferred"}


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_steps_are_the_positions_written_so_far():
    trace = trace_of(SIXTY)
    steps = list(trace.steps())
    assert [" ".join(tokens) for tokens, _ in steps] == partial_sentences(trace)
    for (tokens, new), position in zip(steps, trace.order, strict=True):
        assert tokens[new] == trace.tokens[position]


def test_a_record_becomes_a_trace(tmp_path):
    full, short = read_traces(write_lines(tmp_path / "t.jsonl", FULL, SHORT))
    assert full.tokens == ("a", "red", "bus")
    assert full.order == (2, 0, 1)
    assert full.slot_scores == (0.0, -0.75, -1.0)
    assert full.samples == ((2, 0, 1), (0, 1, 2))
    assert (short.source, short.score, short.samples, short.kind) == (None, None, None, "inferred")


def test_keys_keep_the_documented_order_and_foreign_keys_survive(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", FULL | {"image": 7, "note": {"by": ["me"]}}, SHORT)
    traces = read_traces(path)
    assert traces[0].extra == {"image": 7, "note": {"by": ["me"]}}
    write_traces(tmp_path / "again.jsonl", traces)
    lines = (tmp_path / "again.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(json.loads(lines[0])) == [*FULL, "image", "note"]
    assert json.loads(lines[0]) == FULL | {"image": 7, "note": {"by": ["me"]}}
    assert json.loads(lines[1]) == dict.fromkeys(FULL) | SHORT


@pytest.mark.parametrize(
    "tokens",
    [
        ["<script>", "alert(1)", "</script>"],
        ["猫", "が", "寝た"],
        ["قطة", "נָחָשׁ", "🐈‍⬛"],
        ["line\nbreak", "a\u2028b\x85c", 'quote"\\'],
        ["\ud800", "\x00", ""],
    ],
)
def test_any_text_survives(tmp_path, tokens):
    trace = Trace(
        source=tokens[0],
        target=" ".join(tokens),
        tokens=tuple(tokens),
        order=(1, 2, 0),
        slots=(0, 1, 0),
        kind="generated",
    )
    write_traces(tmp_path / "t.jsonl", [trace, trace])
    assert read_traces(tmp_path / "t.jsonl") == [trace, trace]


def test_text_is_readable_in_the_file(tmp_path):
    trace = replace(from_record(SHORT), target="猫 <script>")
    write_traces(tmp_path / "t.jsonl", [trace])
    assert "猫 <script>" in (tmp_path / "t.jsonl").read_text(encoding="utf-8")


@given(
    st.lists(st.text(), max_size=6).flatmap(
        lambda tokens: st.tuples(st.just(tokens), st.permutations(range(len(tokens))))
    ),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_records_round_trip(words, score):
    tokens, order = words
    trace = Trace(
        target=" ".join(tokens),
        tokens=tuple(tokens),
        order=tuple(order),
        slots=slots_of(order),
        kind="inferred",
        score=score,
    )
    assert from_record(json.loads(json.dumps(to_record(trace)))) == trace


def test_inserting_by_slots_restores_the_sentence():
    trace, text = from_record(FULL), []
    for position, slot in zip(trace.order, trace.slots, strict=True):
        text.insert(slot, trace.tokens[position])
    assert text == ["a", "red", "bus"]


def test_blank_lines_windows_ends_and_byte_order_mark_are_fine(tmp_path):
    line = json.dumps(SHORT).encode()
    (tmp_path / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n" + line)
    assert len(read_traces(tmp_path / "t.jsonl")) == 2
    (tmp_path / "none.jsonl").write_bytes(b"")
    assert read_traces(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"order": [0, 1, 1]},
            r'"order" must be a permutation of 0..2 for 3 tokens, got \[0, 1, 1',
        ),
        ({"order": [0, 1]}, '"order" must be a permutation'),
        ({"order": [1, 2, 3]}, '"order" must be a permutation'),
        ({"order": [0, 1.5, 2]}, r'"order" must be \[whole number, ...\], got \[0, 1.5, 2\]'),
        ({"order": [False, True, 2]}, '"order" must be'),
        ({"order": "210"}, '"order" must be'),
        ({"slots": [0, 0, 2]}, r'"slots" must count .* \[0, 0, 1\] .* got \[0, 0, 2\]'),
        ({"tokens": ["a", 1, "b"]}, r'"tokens" must be \[text, ...\]'),
        ({"target": None}, '"target" must be text, got null'),
        ({"source": 3}, '"source" must be text, or null, got 3'),
        ({"score": "good"}, '"score" must be number, or null'),
        ({"score": True}, '"score" must be number'),
        ({"score": 10**400}, "too large"),
        ({"token_scores": [-1.0]}, '"token_scores" must have 3 or 4 entries, one a step, got 1'),
        ({"slot_scores": [-1.0] * 4}, '"slot_scores" must have 3 entries'),
        ({"samples": [[0, 1, 2], [0, 0, 2]]}, '"samples" must be a permutation'),
        ({"known_orders": [0, 1, 2]}, '"known_orders" must be'),
        ({"kind": "guessed"}, '"kind" must be "generated" or "inferred", got \'guessed\''),
        ({"tokens": ["a", "b"]}, '"order" must be a permutation of 0..1 for 2 tokens'),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path, change, message):
    path = write_lines(tmp_path / "bad.jsonl", SHORT, FULL | change)
    with pytest.raises(DataError, match=rf"bad\.jsonl:2: .*{message}"):
        read_traces(path)


@pytest.mark.parametrize("key", ["target", "tokens", "order", "slots", "kind"])
def test_missing_keys_are_named(tmp_path, key):
    path = write_lines(tmp_path / "bad.jsonl", {k: v for k, v in FULL.items() if k != key})
    with pytest.raises(DataError, match=rf"bad\.jsonl:1: missing '{key}'"):
        read_traces(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"target": "hi"', "expected one JSON object a line"),
        (b"hello", "expected one JSON object a line"),
        (b"[" * 10**5, "got JSON nested too deeply"),
        (b"[1, 2]", r"expected a JSON object, got \[1, 2\]"),
        (b'{"target": "\xff"}', "expected UTF-8"),
        (json.dumps(FULL | {"score": float("-inf")}).encode(), "finite, got -Infinity"),
        (json.dumps(FULL).replace("-3.5", "-1e999").encode(), '"score" must be finite'),
    ],
)
def test_lines_that_are_no_json_objects(tmp_path, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\n" + line + b"\n")
    with pytest.raises(DataError, match=rf"bad\.jsonl:2: .*{message}"):
        read_traces(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match=r"no\.jsonl.*No such file"):
        read_traces(tmp_path / "no.jsonl")
    with pytest.raises(DataError, match="could not be written"):
        write_traces(tmp_path / "no" / "t.jsonl", [])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", SHORT)

    def broken():
        yield from_record(FULL)
        raise RuntimeError("the model failed")

    with pytest.raises(RuntimeError, match="the model failed"):
        write_traces(path, broken())
    assert [trace.target for trace in read_traces(path)] == ["hi"]
    assert list(tmp_path.iterdir()) == [path]


def test_extra_cannot_hide_a_field():
    with pytest.raises(ValueError, match=r"extra must not hold keys of a trace, got \['order'\]"):
        replace(from_record(SHORT), extra={"order": [1]})
