"""Downloads from a server of the test's own, which can break off, lie and refuse."""

import hashlib
import io
import tarfile
import zipfile

import pytest

from local_server import serving
from voi.data.addresses import DOWNLOADS
from voi.data.download import Download, fetch, unpack
from voi.errors import DataError

CONTENT = bytes(range(256)) * 4000  # about a megabyte
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server():
    with serving(CONTENT) as running:
        yield running


def item(server, sha256=SHA256, path="/file"):
    return Download("data.bin", f"http://127.0.0.1:{server.server_port}{path}", sha256)


def test_a_file_arrives_whole_and_is_not_fetched_twice(server, tmp_path):
    seen = []
    fetched = fetch(item(server), tmp_path / "new", lambda *state: seen.append(state))
    assert fetched.path.read_bytes() == CONTENT
    assert (fetched.num_bytes, fetched.sha256) == (len(CONTENT), SHA256)
    assert fetched.is_checked
    assert not fetched.was_there
    assert seen[-1] == ("data.bin", len(CONTENT), len(CONTENT))
    assert fetch(item(server), tmp_path / "new").was_there
    assert server.asked == [None]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["data.bin"]


def test_an_interrupted_download_goes_on_where_it_was(server, tmp_path):
    server.cut = 600_000
    with pytest.raises(DataError, match=r"interrupted after 600,000 of 1,024,000 bytes.*again"):
        fetch(item(server), tmp_path)
    assert not (tmp_path / "data.bin").exists()
    assert fetch(item(server), tmp_path).path.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=600000-"]


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.cut, server.knows_ranges = 600_000, False
    with pytest.raises(DataError, match="interrupted"):
        fetch(item(server), tmp_path)
    server.cut = 0
    assert fetch(item(server), tmp_path).path.read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_not_mixed(server, tmp_path):
    server.cut = 600_000
    with pytest.raises(DataError, match="interrupted"):
        fetch(item(server, sha256=None), tmp_path)
    server.content, server.tag, server.cut = CONTENT[::-1], '"two"', 0
    fetched = fetch(item(server, sha256=None), tmp_path)
    assert fetched.path.read_bytes() == CONTENT[::-1]
    assert not fetched.is_checked


def test_a_part_that_is_the_whole_file_needs_no_more(server, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(CONTENT)
    assert fetch(item(server), tmp_path).path.read_bytes() == CONTENT
    (tmp_path / "data.bin").unlink()
    (tmp_path / "data.bin.part").write_bytes(CONTENT + b"more than there is")
    assert fetch(item(server), tmp_path).path.read_bytes() == CONTENT


def test_a_wrong_checksum_removes_what_came(server, tmp_path):
    with pytest.raises(DataError, match=f"{SHA256}, expected {'0' * 64}"):
        fetch(item(server, sha256="0" * 64), tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "data.bin").write_bytes(b"fetched by hand")
    with pytest.raises(DataError, match=r"remove .*data.bin"):
        fetch(item(server), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == b"fetched by hand"


def test_a_missing_file_and_a_missing_server(server, tmp_path):
    with pytest.raises(
        DataError, match=r"/gone answered 404 Not Found: .*fetch data.bin by hand"
    ) as raised:
        fetch(item(server, path="/gone"), tmp_path)
    assert raised.value.__cause__.closed  # no socket is left open
    with pytest.raises(DataError, match=r"nothing came from .*look at the network"):
        fetch(Download("data.bin", "http://127.0.0.1:9/file"), tmp_path, timeout=5.0)
    assert not list(tmp_path.iterdir())


def test_archives_are_unpacked_once(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("inner/x.txt", "x")
    with tarfile.open(tmp_path / "b.tgz", "w:gz") as archive:
        entry = tarfile.TarInfo("inner/y.txt")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"y"))
    assert (unpack(tmp_path / "a.zip") / "inner" / "x.txt").read_text() == "x"
    assert (unpack(tmp_path / "b.tgz") / "inner" / "y.txt").read_text() == "y"
    (tmp_path / "a" / "inner" / "x.txt").write_text("kept")
    assert (unpack(tmp_path / "a.zip") / "inner" / "x.txt").read_text() == "kept"
    assert unpack(tmp_path / "plain.txt") is None


@pytest.mark.parametrize("name", ["c.zip", "c.tgz"])
def test_a_damaged_archive_leaves_nothing(tmp_path, name):
    (tmp_path / name).write_bytes(b"neither one nor the other")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_no_archive_writes_outside_its_folder(tmp_path):
    with tarfile.open(tmp_path / "evil.tgz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../escaped.txt"))
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(tmp_path / "evil.tgz")
    assert not (tmp_path / "escaped.txt").exists()


@pytest.mark.parametrize("task", DOWNLOADS)
def test_addresses_are_well_formed(task):
    names = [download.name for download in DOWNLOADS[task]]
    assert len(set(names)) == len(names)
    for download in DOWNLOADS[task]:
        assert download.address.startswith(("http://", "https://"))
        assert download.sha256 is None or len(bytes.fromhex(download.sha256)) == 32
