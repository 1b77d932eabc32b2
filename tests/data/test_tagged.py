import gzip

import pytest

from tagged_sentences import made_sentences, pairs_of, write_lines
from voi.data.tagged import read_tagged
from voi.errors import DataError

SENTENCES = made_sentences()
CONLLU = """# sent_id = 1
# text = We'll go / sing
1-2\tWe'll\t_\t_\t_\t_\t_\t_\t_\t_
1\tWe\twe\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t'll\twill\tAUX\tMD\t_\t3\taux\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tleft\tout\tVERB\tVB\t_\t0\troot\t_\t_

# sent_id = 2
1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_
"""


def columns(sentences):
    return "\n".join(
        "".join(f"{word}\t{tag}\n" for word, tag in pairs_of(sentence)) for sentence in sentences
    )


def test_both_layouts_hold_the_same(tmp_path):
    expected = [pairs_of(sentence) for sentence in SENTENCES]
    (tmp_path / "tabs").write_text("\n# by hand\n\n" + columns(SENTENCES))
    assert read_tagged(write_lines(tmp_path / "slashes", SENTENCES)) == expected
    assert read_tagged(tmp_path / "tabs") == expected


@pytest.mark.parametrize("content", ["\n".join(SENTENCES), columns(SENTENCES)])
def test_packed_files(tmp_path, monkeypatch, content):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))
    with gzip.open(tmp_path / "tagged.txt.gz", "wt") as file:
        file.write(content)
    assert read_tagged(tmp_path / "tagged.txt.gz") == [pairs_of(each) for each in SENTENCES]


def test_the_last_slash_divides(tmp_path):
    path = tmp_path / "tagged"
    path.write_text("\tand/or/CCONJ  //PUNCT 1\\/2/CD\r\n \n10\u00a0km/h/NNS\n")
    first = [("and/or", "CONJ"), ("/", "."), ("1\\/2", "NUM")]
    assert read_tagged(path) == [first, [("10\u00a0km/h", "NOUN")]]


def test_the_columns_of_universal_dependencies(tmp_path):
    (tmp_path / "a.conllu").write_text(CONLLU)
    words = [("We", "PRON"), ("'ll", "VERB"), ("go", "VERB")]
    assert read_tagged(tmp_path / "a.conllu") == [words, [("#", "X")]]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no tagged sentences"),
        (b"\n\t\n \n", "holds no tagged sentences"),
        (b"a/DET boat/NOUN\n\na/DET boat\n", "line 3: expected word/TAG, got 'boat'"),
        (b"a/DET boat/NOUN\n/NOUN\n", "line 2: expected a word before the tag 'NOUN'"),
        (b"a/DET boat/nn\n", "line 1: 'boat' has the unknown tag 'nn': expected the universal"),
        (b"a/DET boat/\n", "line 1: 'boat' has the unknown tag ''"),
        (b"a\tDET\nboat\tNOUN\n\na\tAT\n", "line 4: 'a' has the unknown tag 'AT'"),
        (b"a\tDET\nboat\n", "line 2: expected word<tab>TAG or CoNLL-U, got 1 column"),
        (b"a\tDET\nboat\tNOUN\tx\n", "line 2: expected word<tab>TAG or CoNLL-U, got 3 column"),
        (b"a\tDET\n\tNOUN\n", "line 2: expected a word before the tag"),
        (b"a/DET\ncaf\xe9/NOUN\n", "line 2: is not UTF-8 (byte 0xe9 at position 4): convert it"),
    ],
)
def test_errors_name_the_line(tmp_path, content, problem):
    (tmp_path / "tagged").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_tagged(tmp_path / "tagged")
    assert problem in str(caught.value)
    assert str(tmp_path / "tagged") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_tagged(tmp_path / "none")
