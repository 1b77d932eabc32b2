"""Files as published are found and read as a stream, packed or not."""

import gzip
import tracemalloc

import pytest

from voi.data.published import find_file, talk_lines, text_lines, translation_memory

UNIT = """
<tu><tuv xml:lang="en"><seg>{0}</seg></tuv><tuv xml:lang="ro"><seg>mare</seg></tuv></tu>"""


def peak(path, num_units, form):
    """Return the most memory that reading takes while no pair is kept, in bytes."""
    units = "".join(UNIT.format(i) for i in range(num_units))
    path.write_text(form.format(units))
    tracemalloc.start()
    try:
        num_read = sum(1 for _ in translation_memory(path, "ro", "en"))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        assert num_read == num_units


@pytest.mark.parametrize("form", ["<tmx><header/><body>{}</body></tmx>", "<tmx>{}</tmx>"])
def test_units_do_not_stay_in_memory(tmp_path, form):
    """The parser reads ahead by some thousand bytes, and no more."""
    few, many = (peak(tmp_path / "a.tmx", size, form) for size in (1000, 8000))
    assert many < 1.5 * few


@pytest.mark.parametrize("ending", ["", ".gz", ".GZ"])
def test_a_file_is_found_and_read_packed_or_not(tmp_path, ending):
    path = tmp_path / "below" / f"train.txt{ending}"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(b"a\nb\n") if ending else b"a\nb\n")
    assert find_file(tmp_path, "train.txt") == path
    assert list(text_lines(path)) == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("<url>http://talks.example</url>", []),
        ("<talkid>17</talkid>", []),
        ("<keywords>sea, sand</keywords>", []),
        ("  <speaker>Ada</speaker>", []),
        ('<doc docid="1" genre="lectures">', []),
        ("</doc>", []),
        ('<translator href="x">Ben</translator>', []),
        ("<title>On Sand</title>", ["On Sand"]),
        ("<description>Why it sings.</description>", ["Why it sings."]),
        ("a sentence where 1 < 2 and <doctors> agree", 1),
        ("<doctors> agree", 1),
        ("", 1),
    ],
)
def test_what_was_said_in_a_talk(tmp_path, line, kept):
    """1: the line itself."""
    path = tmp_path / "train.tags.de-en.en"
    path.write_text(f"before\n{line}\nafter\n")
    between = [line] if kept == 1 else kept
    assert list(talk_lines(path)) == ["before", *between, "after"]
