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
ICONV = "convert it, as with iconv -f WINDOWS-1252 -t UTF-8 'my pairs.tsv' > 'utf8-my pairs.tsv'"


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
        (
            ["--data", "PAIRS.TSV", "--set", "data.options.target_key="],
            "data.options.target_key must name the column or key of the targets, got none",
        ),
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


@pytest.mark.parametrize("what", ["error", "skip"])
def test_training_does_not_stop_at_long_test_examples(monkeypatch, capsys, what):
    """They count as examples of the evaluation, which takes them whole."""
    data = ["--data", "PAIRS.TSV", "--test", "long.tsv"]
    settings = [*SHORT, "--set", f"data.long_examples={what}"]
    assert call(monkeypatch, "data", "check", *data, *settings) == 0
    out, error = capsys.readouterr()
    assert error == ""
    assert "test: 40 of 40 examples are longer than data.max_source_length=5: long.tsv, " in out
    assert "test examples are scored whole, none is left out\n" in out
    assert "training leaves them out" not in out


NAMED = ["source_key=English", "target_key=Pseudo", 'columns=["English","Pseudo"]']


def test_a_header_with_names_of_its_own_is_told_how_to_be_named(monkeypatch, capsys, tmp_path):
    (tmp_path / "odd.tsv").write_text("English\tPseudo\n" + PAIRS)
    command = ["data", "check", "--data", "odd.tsv"]
    assert call(monkeypatch, *command) == 0
    hint = (
        """\n  if line 1 of odd.tsv is a header, name the columns by it: --set """
        """'data.options.columns=["...","..."]' --set data.options.source_key=... """
        """--set data.options.target_key=...\n"""
    )
    assert hint in capsys.readouterr().out
    settings = [part for name in NAMED for part in ("--set", f"data.options.{name}")]
    assert call(monkeypatch, *command, *settings) == 0
    out = capsys.readouterr().out
    assert "odd.tsv: line 1 names the columns and is no pair\n" in out
    assert "is a header" not in out


@pytest.mark.parametrize("name", ["named.tsv", "pairs.jsonl"])
def test_no_header_is_looked_for_where_the_names_are_known(monkeypatch, capsys, tmp_path, name):
    (tmp_path / "named.tsv").write_text("source\ttarget\n" + PAIRS)
    (tmp_path / "pairs.jsonl").write_text('{"source": "a", "target": "b"}\n' * 40)
    assert call(monkeypatch, "data", "check", "--data", name, "--valid", "PAIRS.TSV") == 0
    assert "is a header" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ["set w{j} {i}\tw{j} = 1 ; a b c d", "set {i} now\tput it", "say x{i}\ty{i} z"]
)
def test_what_is_said_of_copying_is_what_training_says(monkeypatch, capsys, tmp_path, line):
    """A lesser count gives copies; none does; too many target words are unknown."""
    pairs = "".join(line.format(i=i, j=i // 5) + "\n" for i in range(100))
    (tmp_path / "own.tsv").write_text(pairs)
    data, said = ["--data", "own.tsv", "--valid", "own.tsv"], []
    for command in (["train", "--dry-run"], ["data", "check"]):
        assert call(monkeypatch, *command, *data) == 0
        out = capsys.readouterr().out.splitlines()
        said.append([x for x in out if "copying is not learned" in x or "are unknown: know" in x])
    assert len(said[0]) == 1
    assert said[0] == said[1]
