"""Hypotheses and references from files of every kind."""

import gzip
import json
import re

import pytest

from voi.analysis import Trace, write_traces
from voi.errors import DataError
from voi.evaluation.stored import read_outputs, read_references, told_of_several

EXPECTED = (("a b", "a"), ("",), ("c",))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("r.txt", "a b\n\nc\n", (("a b",), ("",), ("c",))),
        ("r.txt", "a b\n\nc", (("a b",), ("",), ("c",))),
        ("r.txt", "a\rb\n\rc\r\n\r\n", (("a\rb",), ("\rc",), ("",))),
        ("r.txt", "a\x0bb\u2028c\n", (("a\x0bb\u2028c",),)),
        ("r.tsv", "a b\ta\n\nc\t\n", EXPECTED),
        ("r.tsv", "a b\ta\r\n\r\nc\t\r\n", EXPECTED),
        ("r.jsonl", '["a b", "a"]\n""\n{"references": ["c"], "target": "x"}\n', EXPECTED),
        ("r.jsonl", '{"source": "s", "target": "t"}\n{"reference": "r", "target": "t"}\n',
         (("t",), ("r",))),
    ],
)  # fmt: skip
def test_references(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert read_references(path) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.jsonl", "no\n", "r.jsonl:1: expected JSON, got 'no'"),
        ("r.jsonl", '"a"\n{"source": "a"}\n', "r.jsonl:2: expected a text, a list of texts, or an"),
        ("r.jsonl", "[]\n", "expected a text, a list"),
        ("r.tsv", "Source\tTarget\na\tb\n", "holds pairs, its columns are source, target: give"),
        ("r.tsv", "id\tsrc\ttgt\n1\ta\tb\n", "holds pairs, its columns are id, source, target"),
        ("r.csv", "a\n", "must be a .txt, .tsv or .jsonl file"),
        ("r.txt", None, "cannot read .*r.txt: No such file"),
    ],
)
def test_bad_references(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_references(path)


def _trace(target, **options):
    words = tuple(target.split())
    order = tuple(range(len(words)))
    return Trace(target=target, tokens=words, order=order, slots=order, kind="generated", **options)


def test_traces_bring_their_references(tmp_path):
    path = tmp_path / "h.jsonl"
    extra = {"references": ["x", "y"], "published": ["<unk>", "y"]}
    write_traces(path, [_trace("a b", reference="x", extra=extra), _trace("", reference="z")])
    outputs = read_outputs(path, "mine")
    assert outputs.hypotheses == ("a b", "")
    assert outputs.references == (("x", "y"), ("z",))
    assert outputs.published is None  # one line lacks them
    assert outputs.about == {}
    (tmp_path / "h.about.json").write_text(json.dumps({"beam": 4}))
    write_traces(path, [_trace("a b", reference="x", extra=extra)])
    outputs = read_outputs(path, "mine")
    assert outputs.published == (("<unk>", "y"),)
    assert outputs.about == {"beam": 4}
    given = read_outputs(path, "mine", (("other",),))
    assert (given.references, given.published) == ((("other",),), None)


def test_plain_texts(tmp_path):
    path = tmp_path / "h.txt"
    path.write_text("a\n\nb\n")
    outputs = read_outputs(path, "h", (("a",), ("b",), ("c",)), limit=2)
    assert (outputs.hypotheses, outputs.references) == (("a", ""), (("a",), ("b",)))
    with pytest.raises(DataError, match="has 3 hypotheses for 1 references"):
        read_outputs(path, "h", (("a",),))
    with pytest.raises(DataError, match="holds no references: give them with --references"):
        read_outputs(path, "h")
    path.write_text("")
    with pytest.raises(DataError, match="is empty"):
        read_outputs(path, "h", ())


def test_traces_without_references(tmp_path):
    path = tmp_path / "h.jsonl"
    write_traces(path, [_trace("a b", reference="x"), _trace("c")])
    with pytest.raises(DataError, match="holds no references"):
        read_outputs(path, "h")


@pytest.mark.parametrize(
    ("name", "text"), [("r.txt", "a\nb\n"), ("r.tsv", "a\nb\n"), ("r.jsonl", '"a"\n"b"\n')]
)
def test_a_byte_order_mark_is_no_text(tmp_path, name, text):
    marked, plain = tmp_path / name, tmp_path / "h.txt"
    marked.write_text(text, encoding="utf-8-sig")
    plain.write_text("a\nb\n", encoding="utf-8-sig")
    outputs = read_outputs(plain, "h", read_references(marked))
    assert (outputs.hypotheses, outputs.references) == (("a", "b"), (("a",), ("b",)))


@pytest.mark.parametrize("name", ["a.ndjson", "a.json", "a.JSONL", "a.jsonl.gz"])
def test_traces_are_known_by_every_name_of_json_lines(tmp_path, name):
    write_traces(tmp_path / "a.jsonl", [_trace("b a", reference="b c")])
    content = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = read_outputs(tmp_path / name, "a")
    assert (found.hypotheses, found.references) == (("b a",), (("b c",),))
    assert read_references(tmp_path / name) == (("b c",),)


@pytest.mark.parametrize(
    ("name", "references", "expected"),
    [
        ("r.tsv", (("a",), ("b",)), ""),
        ("r.tsv", (), ""),
        ("r.tsv", (("a",), ("b", "c")), "columns 1 to 2 are all taken as .* cut it off .cut -f2.$"),
        ("r.tsv.gz", (("a", "b", "c"),), "columns 1 to 3 are all taken as .* off .cut -f2-.$"),
        ("r.jsonl", (("a", "b", "c"),), "r.jsonl: up to 3 references for each output$"),
    ],
)
def test_what_is_told_of_several_references(tmp_path, name, references, expected):
    told = told_of_several(tmp_path / name, references)
    assert re.search(expected, told) if expected else told == ""
