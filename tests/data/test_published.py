"""Files as published are found and read, packed or not."""

import gzip

import pytest

from voi.data.published import find_file, text_lines


@pytest.mark.parametrize("ending", ["", ".gz", ".GZ"])
def test_a_file_is_found_and_read_packed_or_not(tmp_path, ending):
    path = tmp_path / "below" / f"train.txt{ending}"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(b"a\nb\n") if ending else b"a\nb\n")
    assert find_file(tmp_path, "train.txt") == path
    assert list(text_lines(path)) == ["a", "b"]
