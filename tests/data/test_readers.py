import json
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from voi.data.example import Example
from voi.data.readers import Fields, read_jsonl, read_parallel, read_tsv
from voi.errors import ConfigError, DataError
from voi.foreign import encoding_of

plain = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t\ufeff"), min_size=1)
pairs = st.lists(st.tuples(plain, plain).filter(lambda pair: all(map(str.strip, pair))), min_size=1)
in_file = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(pairs)
@in_file
def test_every_format_gives_the_pairs_back(tmp_path, drawn):
    expected = [Example(*pair) for pair in drawn]
    paths = [tmp_path / name for name in ("a.tsv", "a.jsonl", "a.src", "a.tgt")]
    contents = [
        "".join(f"{source}\t{target}\n" for source, target in drawn),
        "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in drawn),
        "".join(source + "\n" for source, _ in drawn),
        "".join(target + "\n" for _, target in drawn),
    ]
    for path, content in zip(paths, contents, strict=True):
        assume(encoding_of(content.encode()) is None)  # as may be with many zero bytes
        path.write_text(content, encoding="utf-8", newline="")
    assert list(read_tsv(paths[0], Fields())) == expected
    assert list(read_jsonl(paths[1], Fields())) == expected
    assert list(read_parallel(paths[2], paths[3])) == expected


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_records_are_a_sequence(tmp_path):
    records = read_tsv(write(tmp_path, "a.tsv", b"a\tx\nb\ty\nc\tz\n"), Fields())
    assert records[-1] == Example("c", "z")
    assert records[1:] == [Example("b", "y"), Example("c", "z")]
    for index in (3, -4):
        with pytest.raises(IndexError):
            records[index]


def test_chosen_columns(tmp_path):
    path = write(tmp_path, "a.tsv", b"1\ta b\tx\n2\tc\ty\n")
    columns = ("id", "text", "summary")
    assert read_tsv(path, Fields("text", "summary", columns))[0] == Example("a b", "x")
    assert read_tsv(path, Fields("", "text", columns))[1] == Example(None, "c")
    with pytest.raises(ConfigError, match=r'"sumary": did you mean "summary"'):
        read_tsv(path, Fields("text", "sumary", columns))


def test_nested_keys(tmp_path):
    path = write(tmp_path, "a.jsonl", b'{"translation": {"ro": "a", "en": "b"}, "n": 1}')
    assert read_jsonl(path, Fields("translation.ro", "translation.en"))[0] == Example("a", "b")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"a", r"line 2 has 1 column, expected 2 \(source, target\)"),
        (b"a\tb\tc", r"line 2 has 3 columns, expected 2"),
        (b"", r"line 2 is blank"),
        (b"  ", r"line 2 is blank"),
        (b"\t", r"line 2 has an empty source"),
        (b" \tb", r"line 2 has an empty source"),
        (b"a\t", r"line 2 has an empty target"),
        (b"a\t\xffb", r"line 2 is not UTF-8 \(byte 0xff at position 3\)"),
    ],
)
def test_bad_lines_of_columns(tmp_path, line, problem):
    path = write(tmp_path, "a.tsv", b"a\tx\n" + line + b"\nb\ty\n")
    advice = "convert it, as with iconv" if "UTF-8" in problem else "correct or remove them"
    with pytest.raises(
        DataError, match=rf"a\.tsv: 1 of 3 lines cannot be used: {problem}.*: {advice}"
    ):
        read_tsv(path, Fields())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", r"line 2 is not JSON \(.*, column 2\)"),
        (b"1" * 5000, r"line 2 is not JSON that can be read \(.*5000 digits\)"),
        (b"[" * 10**5, r"line 2 is not JSON that can be read \(nested too deeply\)"),
        (b"", r"line 2 is blank"),
        (b'{"source": "\\ud83d", "target": "b"}', r"line 2 has a 'source' with half a surrogate"),
        (b'["a", "b"]', r"line 2 is no object with the key 'source'"),
        (b'{"source": "a", "tgt": "b"}', r"line 2 lacks the key 'target' \(it has source, tgt\)"),
        (b'{"source": "a", "target": ["b"]}', r"line 2 has an array as 'target', expected text"),
        (b'{"source": null, "target": "b"}', r"line 2 has null as 'source', expected text"),
        (b'{"source": "a", "target": 1}', r"line 2 has a number as 'target', expected text"),
        (b'{"source": "a", "target": true}', r"line 2 has true as 'target', expected text"),
        (b'{"source": "a", "target": "\\n"}', r"line 2 has an empty target"),
        (b'{"source": "\xe9"}', r"line 2 is not UTF-8 \(byte 0xe9 at position 13\)"),
    ],
)
def test_bad_lines_of_json(tmp_path, line, problem):
    good = b'{"source": "a", "target": "b"}\n'
    path = write(tmp_path, "a.jsonl", good + line + b"\n" + good)
    with pytest.raises(DataError, match=rf"a\.jsonl: 1 of 3 lines cannot be used: {problem}"):
        read_jsonl(path, Fields())


@pytest.mark.parametrize("line", [b"1" * 5000, b"[" * 10**5 + b"]" * 10**5])
def test_json_that_python_cannot_read_is_left_out(tmp_path, line):
    path = write(tmp_path, "a.jsonl", line + b'\n{"source": "a", "target": "b"}\n')
    assert [e.target for e in read_jsonl(path, Fields(), "skip")] == ["b"]


def test_bad_lines_of_parallel_files(tmp_path):
    source = write(tmp_path, "a.ro", b"a\nb\xff\n\nd\ne\n\nf\ng\n")
    target = write(tmp_path, "a.en", b"x\ny\nz\nw\nv\n\nu\n \n")
    said = (
        r"line 2 of a\.ro is not UTF-8 .*; line 3 has an empty source; line 6 is blank; line 8 has "
    )
    with pytest.raises(DataError, match=said + "an empty target: correct"):
        read_parallel(source, target)
    assert len(read_parallel(source, target, "skip")) == 4
    shorter = write(tmp_path, "a.fr", b"x\ny\nz\n")
    with pytest.raises(DataError, match=r"a\.ro and a\.fr have 8 and 3 lines"):
        read_parallel(source, shorter)


def test_only_the_first_problems_are_named(tmp_path):
    path = write(tmp_path, "a.tsv", b"a\tb\n" * 7 + b"bad\n" * 7)
    with pytest.raises(DataError, match=r"7 of 14 lines") as caught:
        read_tsv(path, Fields())
    assert str(caught.value).count("line ") == 5
    assert "; and 2 more: correct or remove them, or leave them out" in str(caught.value)
    assert str(caught.value).endswith("--set data.options.bad_lines=skip")


MESSY = {  # the same mess in every format: blank, no target, empty source, not UTF-8
    "a.tsv": (b"a\tx\n\nb\n \ty\nc\xff\tz\nd\tw\n", "lines"),
    "a.jsonl": (
        b'{"source": "a", "target": "x"}\n\n{"source": "b"}\n{"source": "", "target": "y"}\n'
        b'{"source": "c\xff", "target": "z"}\n{"source": "d", "target": "w"}\n',
        "lines",
    ),
}


@pytest.mark.parametrize("name", MESSY)
def test_bad_lines_can_be_left_out_and_are_noted(tmp_path, name):
    read = read_tsv if name.endswith("tsv") else read_jsonl
    records = read(write(tmp_path, name, MESSY[name][0]), Fields(), "skip")
    assert list(records) == [Example("a", "x"), Example("d", "w")]
    assert records.place(1) == f"{tmp_path / name}, line 6"
    (note,) = records.rows.notes
    for part in ("4 of 6 lines", "line 2 is blank", "line 4 has an empty source", "line 5 is not"):
        assert part in note
    assert note.endswith(": left out")


def test_some_lines_in_another_encoding_are_named_and_the_file_is_not_converted(tmp_path):
    """Converting them would spoil the others."""
    for good in (b"\xef\xbb\xbfa\tb\n", "\u05d0 🦊\tb\n".encode()):
        path = write(tmp_path, "a.tsv", good + b"a\tb\n" * 9 + b"caf\xe9\tb\n")
        with pytest.raises(DataError, match=r"line 11 is not UTF-8 \(byte 0xe9.*: correct or") as e:
            read_tsv(path, Fields())
        assert "iconv" not in str(e.value)
    for other in (b"a\tb\ncaf\xe9\tb\n", "é\tb\n".encode() + b"\xe9\tb\n" * 3):
        with pytest.raises(DataError, match=r"not UTF-8.*convert it, as with iconv"):
            read_tsv(write(tmp_path, "a.tsv", other), Fields())


def test_a_problem_of_every_kind_is_named(tmp_path):
    content = b"a\tb\n" * 20 + b"bad\n" * 7 + b"\n" * 2 + b"a\t\n\xe9\n" + b"a\tb\n"
    with pytest.raises(DataError) as caught:
        read_tsv(write(tmp_path, "a.tsv", content), Fields())
    named = "line 25 has 1 column.*; line 28 is blank; line 30 has an empty target; line 31 is not"
    assert re.search(named + r" UTF-8 \(byte 0xe9 at position 1\); and 3 more", str(caught.value))


@pytest.mark.parametrize(
    ("content", "setting"),
    [
        (b"1\ta\tx\n2\tb\ty\n", """'data.options.columns=["...","source","target"]'"""),
        (b"1\t2\ta\tx\n" * 2, """'data.options.columns=["...","...","source","target"]'"""),
        (b"ID\tTarget\tSource\n1\ta\tx\n", """'data.options.columns=["id","target","source"]'"""),
    ],
)
def test_more_columns_are_named_by_a_setting_to_paste(tmp_path, content, setting):
    with pytest.raises(DataError) as caught:
        read_tsv(write(tmp_path, "a.tsv", content), Fields())
    assert str(caught.value).endswith(f"--set {setting}")
    columns = tuple(json.loads(setting.strip("'").partition("=")[2]))
    assert read_tsv(tmp_path / "a.tsv", Fields(columns=columns))[-1].target in "xya"


def test_very_many_columns_are_counted_and_not_listed(tmp_path):
    with pytest.raises(DataError) as caught:
        read_tsv(write(tmp_path, "a.tsv", b"\t".join([b"x"] * 301) + b"\n"), Fields())
    assert "name all 301 columns in their order" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_file_without_a_tab(tmp_path):
    path = write(tmp_path, "a.tsv", b"a,b\n" * 7)
    with pytest.raises(DataError, match=r"a\.tsv has no tab, expected lines with source <tab> "):
        read_tsv(path, Fields())
    assert len(read_tsv(path, Fields("", "target", ("target",)))) == 7


def test_lines_that_end_with_a_carriage_return_alone(tmp_path):
    path = write(tmp_path, "a.tsv", b"a\tb\rc\td\r")
    with pytest.raises(
        DataError, match=r"carriage return alone: convert it, as with awk 1 RS='\\r'"
    ):
        read_tsv(path, Fields())
    assert list(read_tsv(write(tmp_path, "b.tsv", b"a\tb\r"), Fields())) == [Example("a", "b")]


@pytest.mark.parametrize(
    "content", [b'[{"source": "a", "target": "b"}]', b'[\n{"source": "a", "target": "b"}\n]\n']
)
def test_a_json_array(tmp_path, content):
    path = write(tmp_path, "a.json", content)
    with pytest.raises(
        DataError, match=r"is one JSON array, .*: convert it, as with jq -c '\.\[\]"
    ):
        read_jsonl(path, Fields())


@pytest.mark.parametrize("line", [b"Source\tTarget", b"SOURCE\t target "])
def test_a_header_in_capitals(tmp_path, line):
    records = read_tsv(write(tmp_path, "a.tsv", line + b"\na\tx\n"), Fields())
    assert list(records) == [Example("a", "x")]


@pytest.mark.parametrize(
    ("fields", "setting"),
    [
        (
            Fields(),
            'columns=["...","..."]\' --set data.options.source_key=... --set data.options.t',
        ),
        (
            Fields("a", "b", ("a", "b", "c")),
            'columns=["...","...","..."]\' --set data.options.sourc',
        ),
        (Fields("", "a", ("a",)), 'columns=["..."]\' --set data.options.target_key=...'),
    ],
)
def test_a_first_line_may_be_a_header_unless_it_is_known_to_be_one(tmp_path, fields, setting):
    path = tmp_path / "a.tsv"
    path.write_text("\t".join("xyz"[: len(fields.columns)]) + "\n")
    records = read_tsv(path, fields)
    assert (len(records), setting in records.rows.header_hint) == (1, True)
    path.write_text("\t".join(fields.columns) + "\n" + path.read_text())
    records = read_tsv(path, fields)
    assert (len(records), records.rows.header_hint) == (1, "")


def test_a_file_of_another_layout_is_told_how_to_name_its_columns(tmp_path):
    path = write(tmp_path, "a.tsv", b"1\ta\tx\n2\tb\ty\n")
    for bad_lines in ("error", "skip"):
        with pytest.raises(DataError, match=r"line 1 has 3 columns.*data\.options\.columns"):
            read_tsv(path, Fields(), bad_lines)
    rows = write(tmp_path, "a.jsonl", b'{"text": "a", "target": "x"}\n')
    with pytest.raises(
        DataError, match=r"it has text, target.*--set data\.options\.source_key=\.\.\."
    ):
        read_jsonl(rows, Fields())


@pytest.mark.parametrize(
    "header", ["source\ttarget", ' "Source"\t"Target"', "src\ttgt", "SRC\ttrg", "input\tOutput"]
)
def test_a_header_is_no_pair(tmp_path, header):
    records = read_tsv(write(tmp_path, "a.tsv", f"{header}\na\tx\n".encode()), Fields())
    assert list(records) == [Example("a", "x")]
    assert "line 1 names the columns" in records.rows.notes[0]
    assert records.place(0).endswith("a.tsv, line 2")


def test_a_file_without_examples(tmp_path):
    with pytest.raises(DataError, match=r"a\.tsv holds no examples"):
        read_tsv(write(tmp_path, "a.tsv", b"\n"), Fields())


def test_a_file_that_changes_while_it_is_used_names_the_line(tmp_path):
    path = write(tmp_path, "a.tsv", b"a\tb\nc\td\n")
    records = read_tsv(path, Fields())
    with path.open("r+b") as file:
        file.write(b"a b\n")
    with pytest.raises(DataError, match=r"a\.tsv: line 1 has 1 column"):
        records[0]


@pytest.mark.parametrize("line", ["target\tsource", " Target\tSOURCE "])
def test_a_header_in_another_order_is_an_error(tmp_path, line):
    path = tmp_path / "a.tsv"
    path.write_text(f"{line}\nb\ta\n")
    with pytest.raises(DataError, match=r"""line 1 names the columns target, source, .*columns="""):
        read_tsv(path, Fields())
    records = read_tsv(path, Fields(columns=("target", "source")))
    assert list(records) == [Example("a", "b")]


def test_a_header_in_another_order_is_told_by_the_names_of_the_settings(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("tgt\tsrc\nb\ta\n")
    fields = Fields("Src", "Tgt", columns=("Src", "Tgt"))
    with pytest.raises(DataError, match=re.escape('columns=["Tgt","Src"]')):
        read_tsv(path, fields)
    records = read_tsv(path, replace(fields, columns=("Tgt", "Src")))
    assert list(records) == [Example("a", "b")]


def test_a_tab_at_the_end_of_every_line_is_named_last(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\t\nc\td\t\n")
    with pytest.raises(DataError, match=re.escape('["source","target","..."]')):
        read_tsv(path, Fields())
