"""`voi generate`: lines in, targets out, in order."""

import gzip
import io
import json
import os
import subprocess
import sys
from threading import Thread

import pytest

from small_runs import TINY, call, saved_model
from voi import Model, load
from voi.analysis import from_record
from voi.lines import to_utf8
from voi.search import Hypothesis, Sampling

SOURCES = ["from-left a b c", "from-right c c a", "from-left b b b"]


@pytest.fixture(scope="module")
def run(trained):
    return trained


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "sources.txt"
    path.write_text("".join(f"{source}\n" for source in SOURCES))
    return path


def test_one_line_per_source_from_file_and_pipe(run, lines, monkeypatch, capsys):
    assert call(monkeypatch, "generate", run, lines) == 0
    from_file = capsys.readouterr().out
    assert len(from_file.splitlines()) == len(SOURCES)
    with lines.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert call(monkeypatch, "generate", run) == 0
    assert capsys.readouterr().out == from_file


def test_a_pipe_is_read_once_and_a_dash_is_standard_input(
    run, lines, tmp_path, monkeypatch, capsys
):
    """A named pipe, as a shell makes one for <(...), and a dash in place of a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert call(monkeypatch, "generate", run, lines) == 0
    expected = capsys.readouterr().out
    writer = Thread(target=lambda: pipe.write_bytes(lines.read_bytes()))
    writer.start()
    assert call(monkeypatch, "generate", run, pipe) == 0
    writer.join()
    assert capsys.readouterr().out == expected != ""
    with lines.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert call(monkeypatch, "generate", run, "-") == 0
    assert capsys.readouterr().out == expected


def test_json_is_the_trace_format(run, lines, monkeypatch, capsys):
    assert call(monkeypatch, "generate", run, lines, "--json", "--beam", 3, "--nbest", 2) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    traces = [from_record(record) for record in records]
    assert [trace.source for trace in traces] == [s for s in SOURCES for _ in range(2)]
    assert all(trace.score is not None for trace in traces)


def test_fewer_targets_than_asked_for_are_told(run, lines, monkeypatch, capsys):
    generate = Model.generate

    def fewer(self, sources, **options):
        found = generate(self, sources, **options)
        return [own[: 1 + (i == 0)] for i, own in enumerate(found)]

    monkeypatch.setattr(Model, "generate", fewer)
    options = ("--beam", 3, "--nbest", 2)
    assert call(monkeypatch, "generate", run, lines, *options) == 0
    few = "voi: fewer than 2 targets were found (--json names the source of each) for "
    assert f"{few}{lines}, line 2 and 1 more\n" in capsys.readouterr().err
    assert call(monkeypatch, "generate", run, lines, *options, "--json") == 0
    assert "fewer than" not in capsys.readouterr().err


def test_constraints_hold(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "gaps.txt"
    path.write_text("".join(f"{source}\tB ___ A\n" for source in SOURCES))
    assert call(monkeypatch, "generate", run, path, "--gaps", "--max-length", 6) == 0
    for line in capsys.readouterr().out.splitlines():
        words = line.split()
        assert (words[0], words[-1]) == ("B", "A")
        assert len(words) > 2
    path.write_text("".join(f"{source}\n" for source in SOURCES))
    options = ["--keywords", "A C", "--max-length", 6]
    assert call(monkeypatch, "generate", run, path, *options) == 0
    for line in capsys.readouterr().out.splitlines():
        assert {"A", "C"} <= set(line.split())
    assert call(monkeypatch, "generate", run, path, *options, "--in-order") == 0
    for line in capsys.readouterr().out.splitlines():
        words = line.split()
        assert "C" in words[words.index("A") :]


def test_prefix_sampling_and_trace(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "prefix.txt"
    path.write_text(f"{SOURCES[0]}\tC B\n")
    assert call(monkeypatch, "generate", run, path, "--prefix", "--sample", 4) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("C B") for line in lines)
    assert call(monkeypatch, "generate", run, path, "--prefix", "--trace") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split()[0] == "1"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("no tab here\n", ["--gaps"], "line 1: expected SOURCE<tab>TEXT"),
        ("from-left a b c\tA zebra ___\n", ["--gaps"], "'zebra' cannot stand"),
        ("from-left a b c\tA\n", ["--gaps"], "expected a text with ___"),
        ("from-left a b c\tA ____ C\n", ["--gaps"], "a gap is ___, three underscores, got '____'"),
        ("from-left a b c\tA __ ___\n", ["--gaps"], "a gap is ___, three underscores, got '__'"),
        ("from-left a b c\tA ___\n", ["--prefix"], "only texts with gaps have gaps"),
        ("from-left a b c\tA ___\tC\n", ["--gaps"], "with --gaps, got 3 columns: cut off"),
        ("x\n", ["--gaps", "--prefix"], "give one of --gaps, --prefix and --keywords"),
        ("x\n", ["--gaps", "--keywords", "A"], "give one of --gaps, --prefix and --keywords"),
        ("x\n", ["--sample", "2", "--nbest", "2"], "give --sample without --nbest"),
        ("x\n", ["--keywords", "A B C A", "--max-length", "2"], "raise max_length"),
        ("x\n", ["--keywords", "zebra"], "voi: 'zebra' cannot stand"),
        ("x\n", ["--keywords", " "], "give words with --keywords"),
        ("x\n", ["--keywords", ""], "give words with --keywords: there are none"),
        ("x\n", ["--in-order"], "give --keywords with --in-order"),
        ("x\n", ["--temperature", "2"], "give --sample with --temperature"),
        ("x\n", ["--top-p", "1", "--seed", "0"], "give --sample with --top-p, --seed"),
        ("x\n", ["--trace", "--json"], "give --trace or --json, not both"),
        ("x\n", ["--sample", "1", "--beam", "2"], "give --sample without --beam"),
        ("x\n", ["--sample", "2", "--length-penalty", "0"], "--sample without --length-penalty"),
        ("x\n", ["--beam", "0"], "Invalid value for '--beam'"),
        ("x\n", ["--max-length", "0"], "Invalid value for '--max-length'"),
        ("x\n", ["--nbest", "2"], "voi: nbest must be at most the beam"),
        ("x\n", ["--merge"], "give --beam with --merge"),
        ("a\tA ___\nb\tB\n", ["--gaps"], "lines.txt, line 2: expected a text with ___"),
        ("a\tA ___\nb\tA B C ___\n", ["--gaps"], "lines.txt, line 2: the target needs room for 4"),
        ("a\tA\n" * 40 + "b\tzebra\n", ["--prefix"], "lines.txt, line 41: 'zebra' cannot stand"),
        ("a\n" * 40 + "b\tx\n", [], "lines.txt, line 41: expected one source per line, got a tab"),
    ],
)
def test_bad_input(run, tmp_path, monkeypatch, capsys, text, options, message):
    path = tmp_path / "lines.txt"
    path.write_text(text)
    assert call(monkeypatch, "generate", run, path, *options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (b"c\tzebra", "'zebra' cannot stand"),
        (b"c", "expected SOURCE<tab>TEXT"),
        (b"c\t\xff", "expected UTF-8 text"),
    ],
)
def test_lines_of_standard_input_are_named_and_those_before_are_answered(
    run, last, message, tmp_path, monkeypatch, capsys
):
    given = tmp_path / "given.txt"
    given.write_bytes(b"a\tA\nb\tA B\n" + last + b"\n")
    with given.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert call(monkeypatch, "generate", run, "--prefix") == 2
    captured = capsys.readouterr()
    assert [line[:1] for line in captured.out.splitlines()] == ["A", "A"]
    assert captured.err.startswith(f"voi: line 3 of standard input: {message}")


def test_a_pipe_that_waits_is_answered_line_by_line(run):
    """The next line is sent only after the answer to the one before has come."""
    command = [sys.executable, "-c", "from voi.cli import main; main()", "generate", str(run)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        for source in SOURCES:
            program.stdin.write(f"{source}\n")
            program.stdin.flush()
            assert program.stdout.readline().endswith("\n")
        program.stdin.close()
        assert program.wait(60) == 0


def test_lines_without_source_and_empty_targets_are_told_of(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "lines.txt"
    path.write_text(f"{SOURCES[0]}\n\n{SOURCES[1]}\n  \n\n{SOURCES[2]}")
    assert call(monkeypatch, "generate", run, path) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 6
    assert error == f"voi: no source is given in {path}, line 2 and 2 more\n"
    nothing = [[Hypothesis("", (), (), (), -1.0)]]
    monkeypatch.setattr(Model, "generate", lambda self, sources, **_: nothing * len(sources))
    path.write_text(SOURCES[0])
    assert call(monkeypatch, "generate", run, path) == 0
    assert capsys.readouterr().err == f"voi: an empty target was written for {path}, line 1\n"


@pytest.mark.parametrize("is_piped", [False, True])
@pytest.mark.parametrize(
    ("option", "tail"),
    [((), ""), (("--gaps",), "\tB ___"), (("--prefix",), "\tB"), (("--json",), "")],
)
def test_blank_lines_at_the_end_are_left_out(
    run, tmp_path, monkeypatch, capsys, is_piped, option, tail
):
    """Also where there are more of them than are read at once."""
    path = tmp_path / "lines"
    path.write_text(f"{SOURCES[0]}{tail}\n" + "\n \n\r\n" * 15)
    with path.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        file_name = () if is_piped else (path,)
        assert call(monkeypatch, "generate", run, *file_name, *option, "--max-length", 4) == 0
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert "no source" not in error


def test_many_blank_lines_in_the_middle_are_answered_in_their_places(
    run, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "lines"
    path.write_text(f"{SOURCES[0]}\n" + "\n" * 70 + f"{SOURCES[1]}\n\n")
    assert call(monkeypatch, "generate", run, path, "--json") == 0
    sources = [json.loads(line)["source"] for line in capsys.readouterr().out.splitlines()]
    assert sources == [SOURCES[0], *[""] * 70, SOURCES[1]]


@pytest.mark.parametrize("flag", ["--gaps", "--prefix"])
def test_a_text_behind_a_flag_is_told_where_it_belongs(run, monkeypatch, capsys, flag):
    assert call(monkeypatch, "generate", run, flag, "za ___") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("voi: cannot read za ___: No such file or directory; ")
    assert f"{flag} is a flag, the texts stand in the lines of a file: SOURCE<tab>TEXT" in line


def test_a_run_on_images_is_told_where_they_can_be_given(tmp_path, lines, monkeypatch, capsys):
    settings = "data.options={train=4, valid=2, test=2}"
    scenes = saved_model(tmp_path / "scenes", settings, task="scenes")
    assert call(monkeypatch, "generate", scenes, lines) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("voi: this run describes images")
    assert "`voi show`" in line


def test_blank_lines_alone_are_told(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "blank").write_text("\n\n")
    assert call(monkeypatch, "generate", run, tmp_path / "blank") == 0
    assert "voi: no source is given in" in capsys.readouterr().err


def test_targets_alone_need_no_sources(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.tsv").write_text("".join(f"b {i % 9}\n" for i in range(40)))
    settings = ['data.options.columns=["target"]', 'data.options.source_key=""', *TINY[1:]]
    options = [part for one in (*settings, "training.steps=1") for part in ("--set", one)]
    command = ["train", "--data", tmp_path / "a.tsv", *options, "--out", tmp_path / "run"]
    assert call(monkeypatch, *command) == 0
    capsys.readouterr()
    for text in ("\n", "b\n\n \n"):  # each line asks for a target
        (tmp_path / "blank").write_text(text)
        assert call(monkeypatch, "generate", tmp_path / "run", tmp_path / "blank") == 0
        out, error = capsys.readouterr()
        assert len(out.splitlines()) == len(text.splitlines())
        assert "no source" not in error
    (tmp_path / "gaps").write_text("\tb ___\n\n")
    assert call(monkeypatch, "generate", tmp_path / "run", tmp_path / "gaps", "--gaps") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_sources_without_a_known_word_are_told(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "sources"
    path.write_text("from-left a b c\nx y\nfrom-left x\nz\n")
    assert call(monkeypatch, "generate", run, path) == 0
    said = f"voi: no word of the source is in the model's vocabulary in {path}, line 2 and 1 more\n"
    assert said in capsys.readouterr().err


def test_packed_sources_are_read(run, lines, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    assert call(monkeypatch, "generate", run, lines) == 0
    expected = capsys.readouterr().out
    assert call(monkeypatch, "generate", run, packed) == 0
    assert capsys.readouterr().out == expected
    packed.write_bytes(gzip.compress(b"from-left a b c\n\xe9\n"))
    assert call(monkeypatch, "generate", run, packed) == 2
    advice = f"{packed}, line 2: expected UTF-8 text: convert it, as with gunzip -c {packed} | "
    assert advice in capsys.readouterr().err
    packed.write_bytes(lines.read_bytes())
    assert call(monkeypatch, "generate", run, packed) == 2
    assert "it is no gzip file, or a damaged one" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_told(run, tmp_path, monkeypatch, capsys, encoding):
    path = tmp_path / "wide.txt"
    path.write_bytes("\ufefffrom-left a b c\nfrom-left b\n".encode(encoding))
    assert call(monkeypatch, "generate", run, path) == 2
    assert f"expected UTF-8 text, this is UTF-16: {to_utf8(str(path), 'UTF-16')}" in (
        capsys.readouterr().err
    )


def test_wide_letters_without_a_mark_and_packed_files_are_told(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "odd.txt"
    text = "from-left a b c\nfrom-left b\n"
    for content, told in (
        (text.encode("utf-16-le"), f"this is UTF-16LE: {to_utf8(str(path), 'UTF-16LE')}"),
        (gzip.compress(text.encode()), "this is packed by gzip: unpack it, or end its name in .gz"),
    ):
        path.write_bytes(content)
        assert call(monkeypatch, "generate", run, path) == 2
        captured = capsys.readouterr()
        assert not captured.out
        assert f"{path}, line 1: expected UTF-8 text, {told}" in captured.err


def test_bytes_that_are_no_text_are_an_error(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"from-left a b c\n\xff\xfe\n")
    assert call(monkeypatch, "generate", run, path) == 2
    error = capsys.readouterr().err
    assert (
        f"{path}, line 2: expected UTF-8 text: convert it, as with iconv -f WINDOWS-1252" in error
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample", -1], "'--sample'"),
        (["--sample", 2, "--temperature", 0], "--temperature"),
        (["--sample", 2, "--temperature", "nan"], "--temperature"),
        (["--sample", 2, "--temperature", "inf"], "--temperature"),
        (["--sample", 2, "--top-p", 2], "--top-p"),
        (["--sample", 2, "--top-p", "nan"], "--top-p"),
        (["--sample", 2, "--seed", -5], "--seed"),
        (["--length-penalty", "nan"], "length_penalty must be from -10 to 10, got nan"),
        (["--length-penalty", "inf"], "length_penalty must be from -10 to 10, got inf"),
        (["--length-penalty", "1e300"], "length_penalty must be from -10 to 10, got 1e+300"),
    ],
    ids=str,
)
def test_numbers_out_of_range_are_one_line(run, lines, options, message, monkeypatch, capsys):
    assert call(monkeypatch, "generate", run, lines, *options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_mark_of_the_byte_order_is_not_read_and_a_tab_is_refused(
    run, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "sources.txt"
    path.write_bytes(b"\xef\xbb\xbf" + SOURCES[0].encode() + b"\r\n")
    assert call(monkeypatch, "generate", run, path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["source"] == SOURCES[0]
    path.write_text(f"{SOURCES[0]}\tA B C\n")
    assert call(monkeypatch, "generate", run, path) == 2
    assert "line 1: expected one source per line, got a tab" in capsys.readouterr().err


def test_every_line_has_samples_of_its_own(run, tmp_path, monkeypatch, capsys):
    """Lines are read in parts; equal lines of different parts must not share their draws."""
    (tmp_path / "same").write_text("from-left a b c\n" * 60)
    command = ["generate", run, tmp_path / "same", "--sample", 1, "--temperature", 3]
    assert call(monkeypatch, *command) == 0
    found = capsys.readouterr().out.splitlines()
    assert found[32:60] != found[:28]
    model = load(run)
    whole = model.generate(["from-left a b c"] * 60, sample=Sampling(1, 3.0, 1.0, 0))
    assert [one.text for (one,) in whole] == found


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_files_and_pipes_are_utf8_whatever_the_locale_says(run, tmp_path, monkeypatch, encoding):
    source = "from-left \u0219i \u00e9"
    (tmp_path / "sources").write_text(f"{source}\n", encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    assert call(monkeypatch, "generate", run, tmp_path / "sources", "--json") == 0
    out.flush()
    assert json.loads(out.buffer.getvalue().decode("utf-8"))["source"] == source


def test_what_the_encoding_of_a_terminal_lacks_is_escaped(run, tmp_path, monkeypatch):
    (tmp_path / "sources").write_text("from-left \u00e9\n", encoding="utf-8")
    out = Terminal(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert call(monkeypatch, "generate", run, tmp_path / "sources", "--json") == 0
    out.flush()
    assert b"\\xe9" in out.buffer.getvalue()


@pytest.mark.parametrize("is_seen", [False, True])
def test_targets_of_several_lines_stay_one_line_each(run, lines, monkeypatch, capsys, is_seen):
    texts = ["if a:\n\tb\r\n", "a", "b\rc"]
    written = {
        source: [Hypothesis(text, (text,), (0,), (0,), -1.0)]
        for source, text in zip(SOURCES, texts, strict=True)
    }
    monkeypatch.setattr(Model, "generate", lambda self, sources, **_: [written[x] for x in sources])
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_seen)
    assert call(monkeypatch, "generate", run, lines) == 0
    out, error = capsys.readouterr()
    tab = r"\t" if is_seen else "\t"
    assert out.split("\n") == [rf"if a:\n{tab}b\r\n", "a", r"b\rc", ""]
    said = r"voi: line breaks are written as \n (--json keeps them) for"
    assert error == f"{said} {lines}, line 1 and 1 more\n"
    assert call(monkeypatch, "generate", run, lines, "--json") == 0
    out, error = capsys.readouterr()
    assert [json.loads(line)["target"] for line in out.splitlines()] == texts
    assert error == ""


def test_a_carriage_return_within_a_line_is_white_space(run, tmp_path, monkeypatch, capsys):
    path = tmp_path / "sources.txt"
    path.write_bytes(b"from-left a b c\nfrom-right c c a\n")
    assert call(monkeypatch, "generate", run, path) == 0
    expected = capsys.readouterr().out
    path.write_bytes(b"from-left a\rb c\r\nfrom-right c c a\n")
    assert call(monkeypatch, "generate", run, path) == 0
    assert capsys.readouterr().out == expected
    with path.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert call(monkeypatch, "generate", run) == 0
    assert capsys.readouterr().out == expected
