"""`voi data check`: what is wrong with a user's files, in one line with what to do."""

import pytest

from small_runs import call

PAIRS = "".join(f"a café {i}\tb {i % 7}\n" for i in range(40))
LONG = "".join(f"{'word ' * 9}{i}\tb {i % 7}\n" for i in range(40))


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my pairs.tsv").write_text(PAIRS, encoding="latin-1")
    (tmp_path / "PAIRS.TSV").write_text(PAIRS)
    (tmp_path / "broken.jsonl").write_text('{"source": "a", "target": "b"}\n' * 40 + '{"source"}\n')
    (tmp_path / "long.tsv").write_text(LONG)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "Train.TSV").write_text(PAIRS)


RARE = ["--set", "data.tokens.min_count=99"]
SHORT = ["--set", "data.max_source_length=5"]
ICONV = "convert it, as with iconv -f ISO-8859-1 -t UTF-8 'my pairs.tsv' > 'utf8-my pairs.tsv'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "my pairs.tsv"], ICONV),
        (["--data", "long.tsv", *SHORT, "--set", "data.long_examples=skip"], "are too long: raise"),
        (["--data", "long.tsv", *SHORT], "all examples of train and valid are too long"),
        (["--data", "nowhere"], "no file or folder nowhere: give one that exists, or the start of"),
        (["--data", "nowhere.tsv"], "no file nowhere.tsv: give the path of an existing file"),
        (["--data", ""], "'--data': expected a path, got an empty text"),
        (["--data", "PAIRS.TSV", "--valid", " "], "'--valid': expected a path"),
        (["--source", "", "--target", ""], "'--source': expected a path"),
        (
            ["chain", "--data", "PAIRS.TSV"],
            "chain makes its own examples: give files without a task",
        ),
        (["--source", "PAIRS.TSV"], "give --source together with --target, or --data"),
        (["--data", "-"], "'--data': expected a file, as data is read more than once, got -:"),
        (["--data", "/dev/stdin"], "write what comes from a pipe to a file first"),
        (["--data", "PAIRS.TSV", *RARE], "training would stop, as no word of the training"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_one_line_and_exit_code_2(monkeypatch, capsys, arguments, message):
    assert call(monkeypatch, "data", "check", *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_line_that_is_not_json_is_named(monkeypatch, capsys):
    valid = ["--valid", "PAIRS.TSV"]
    assert call(monkeypatch, "data", "check", "--data", "broken.jsonl", *valid) == 2
    out = capsys.readouterr().out
    assert "line 41 is not JSON (Expecting ':' delimiter, column 10)" in out


def test_few_lines_in_another_encoding(monkeypatch, capsys, tmp_path):
    (tmp_path / "mixed.tsv").write_bytes(PAIRS.encode() + "é\té\n".encode("latin-1"))
    assert call(monkeypatch, "data", "check", "--data", "mixed.tsv") == 2
    out, error = capsys.readouterr()
    assert "line 41 is not UTF-8 (byte 0xe9 at position 1)\n" in out
    assert "training would stop at the lines above: correct or remove them, or leave" in error
    skip = ["--set", "data.options.bad_lines=skip"]
    assert call(monkeypatch, "data", "check", "--data", "mixed.tsv", *skip) == 0
    assert "position 1): left out\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["PAIRS.TSV", "folder"])
def test_capital_letters_of_a_suffix_do_not_matter(monkeypatch, capsys, name):
    assert call(monkeypatch, "data", "check", "--data", name) == 0
    assert "8 of 40 training examples are held out" in capsys.readouterr().out


def test_the_first_pair_is_shown_token_by_token(monkeypatch, capsys, tmp_path):
    """A header that is none of ours, or quotes, can be seen."""
    (tmp_path / "quiz.tsv").write_text("question\tanswer\n" + PAIRS)
    assert call(monkeypatch, "data", "check", "--data", "quiz.tsv", "--valid", "PAIRS.TSV") == 0
    shown = (
        "first training pair (quiz.tsv, line 1), its tokens:\n  source  question\n  target  answer"
    )
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "is_noted"), [('"a b"\t"c"\n', True), ('"a b"\t"c" d\n', False), ('"\t"\n', False)]
)
@pytest.mark.parametrize("header", ["", "question\tanswer\n"])
def test_columns_in_quotes_are_noted(monkeypatch, capsys, tmp_path, header, line, is_noted):
    (tmp_path / "quoted.tsv").write_text(header + line * 40)
    assert call(monkeypatch, "data", "check", "--data", "quoted.tsv", "--valid", "PAIRS.TSV") == 0
    note = "quoted.tsv: all columns stand in quotes, which are read as text: take them away\n"
    assert (note in capsys.readouterr().out) is is_noted
