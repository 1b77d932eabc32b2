import bz2
import gzip
import lzma
import os
import re
import zipfile

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from voi import lines
from voi.errors import DataError
from voi.foreign import encoding_of
from voi.lines import Lines, to_utf8


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))


def read(path):
    found = Lines(path)
    return [found[i] for i in range(len(found))]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"))),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_come_back(tmp_path, monkeypatch, texts, end, mark):
    monkeypatch.setattr(lines, "_BLOCK", 3)  # lines cross the blocks
    path = tmp_path / "lines.txt"
    texts = [text.removeprefix("\ufeff") for text in texts]
    while texts and not texts[-1].encode().strip():
        texts.pop()
    content = (mark + "".join(text + end for text in texts)).encode()
    assume(encoding_of(content) is None)  # as may be with many zero bytes
    path.write_bytes(content)
    assert read(path) == texts


@pytest.mark.parametrize(
    "content", [b"a\n\nb", b"a\n\nb\n", b"a\r\n\r\nb\r\n\r\n", b"\xef\xbb\xbfa\n\nb\n \n\t"]
)
def test_blank_lines_stay_in_the_middle_and_go_at_the_end(tmp_path, content):
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    assert read(path) == ["a", "", "b"]


def test_empty_files(tmp_path):
    path = tmp_path / "lines.txt"
    for content in (b"", b"\n", b"\xef\xbb\xbf"):
        path.write_bytes(content)
        assert read(path) == []


def test_other_line_separators_are_text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\u2028b\x0bc\x85d\n", encoding="utf-8")
    assert read(path) == ["a\u2028b\x0bc\x85d"]


def test_packed_files_are_unpacked_once_and_again_when_they_change(tmp_path):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    assert read(path) == ["a", "b"]
    (unpacked,) = (tmp_path / "cache" / "unpacked").iterdir()
    unpacked.write_bytes(b"c\n")
    assert read(path) == ["c"]  # read from the cache
    path.write_bytes(gzip.compress(b"d\n"))
    os.utime(path, ns=(1, 1))
    assert read(path) == ["d"]


@pytest.mark.parametrize(
    "content", [b"plain", gzip.compress(b"a line\n" * 99)[:-12]], ids=["not packed", "cut off"]
)
def test_broken_packed_files(tmp_path, content):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"lines.txt.gz cannot be unpacked"):
        Lines(path)
    assert list((tmp_path / "cache" / "unpacked").iterdir()) == []


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"no file .*nowhere"):
        Lines(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32-le", "UTF-32LE"),
        ("utf-32-be", "UTF-32BE"),
    ],
)
@pytest.mark.parametrize("text", ["two cups\tcups : two\n", "帽 子 一 二 三\t五 六 七 八 九\n"])
def test_another_encoding_is_named(tmp_path, codec, name, text):
    path = tmp_path / "lines.txt"
    path.write_bytes(text.encode(codec))
    with pytest.raises(DataError) as error:
        Lines(path)
    command = f"iconv -f {name} -t UTF-8 {path} > {tmp_path}/utf8-lines.txt"
    assert str(error.value) == f"{path} is {name}: convert it, as with {command}"
    assert path.read_bytes().decode(name) == text  # the name is one that converters know


@pytest.mark.parametrize("text", ["帽子\t帽\nno\0 more\tno", "a\0b", "\0\t\0"])
def test_letters_beyond_latin_and_a_few_zero_bytes_are_text(tmp_path, text):
    path = tmp_path / "lines.txt"
    path.write_bytes(f"{text}\n".encode())
    assert list(Lines(path)) == text.split("\n")


@pytest.mark.parametrize(
    ("pack", "told"),
    [
        (gzip.compress, "is packed by gzip: unpack it, or end its name in .gz"),
        (bz2.compress, "is packed by bzip2: unpack it"),
        (lzma.compress, "is packed by xz: unpack it"),
    ],
)
def test_a_packed_file_by_another_name_is_told(tmp_path, pack, told):
    path = tmp_path / "lines.tsv"
    path.write_bytes(pack(b"a\tb\n"))
    with pytest.raises(DataError, match=f"{re.escape(told)}$"):
        Lines(path)


def test_a_zip_file_is_told(tmp_path):
    path = tmp_path / "lines.tsv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("lines.tsv", "a\tb\n")
    with pytest.raises(DataError, match=r"is packed by zip: unpack it$"):
        Lines(path)


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("../sources", "iconv -f WINDOWS-1252 -t UTF-8 ../sources > ../utf8-sources"),
        ("data.v2/train", "iconv -f WINDOWS-1252 -t UTF-8 data.v2/train > data.v2/utf8-train"),
        ("x.gz", "gunzip -c x.gz | iconv -f WINDOWS-1252 -t UTF-8 | gzip > utf8-x.gz"),
        ("", "iconv -f WINDOWS-1252 -t UTF-8 in front of voi"),
    ],
)
def test_how_a_file_becomes_utf8(path, command):
    assert to_utf8(path) == f"convert it, as with {command}"


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"a\n"))
    monkeypatch.setenv("VOI_CACHE", str(path / "below a file"))
    with pytest.raises(DataError, match="name another folder by VOI_CACHE"):
        Lines(path)
