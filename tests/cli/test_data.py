"""`voi data prepare` and `voi data download` as a user meets them."""

import hashlib
import io
import shlex
import zipfile

import pytest

import voi.cli.data
from local_server import serving
from small_runs import call
from talks import iwslt14, write_files
from voi import experiments
from voi.data.download import Download
from voi.data.prepare import LAYOUTS


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def archive():
    """Return gigaword's layout, three pairs each, as a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        for split in ("train", "dev", "test"):
            files.writestr(f"org_data/{split}.src.txt", "a b\nc d\ne f\n")
            files.writestr(f"org_data/{split}.tgt.txt", "a\nc\n\n")
    return packed.getvalue()


@pytest.fixture
def server(monkeypatch):
    with serving(archive()) as running:
        address = f"http://127.0.0.1:{running.server_port}/"
        items = {
            "gigaword": (Download("news.zip", address + "file"),),
            "coco": (Download("gone.zip", address + "gone"),),
        }
        monkeypatch.setattr(voi.cli.data, "DOWNLOADS", items)
        yield running


def test_from_the_network_to_splits(server, monkeypatch, capsys, tmp_path):
    digest = hashlib.sha256(server.content).hexdigest()
    assert call(monkeypatch, "data", "download", "gigaword") == 0
    out = capsys.readouterr().out
    assert f"unchecked, SHA-256 {digest}" in out
    assert "next: voi data prepare gigaword --from downloads/gigaword" in out
    assert call(monkeypatch, "data", "download", "gigaword", "--sha256", f"news.zip={digest}") == 0
    assert "already there, checksum right" in capsys.readouterr().out
    assert len(server.asked) == 1
    assert call(monkeypatch, "data", "prepare", "gigaword", "--from", "downloads/gigaword") == 0
    out = capsys.readouterr().out
    assert "train: 2 pairs, 1 with an empty side dropped" in out
    assert "made data/gigaword; next: voi train gigaword-small" in out
    assert (tmp_path / "data" / "gigaword" / "test.tgt").read_text() == "a\nc\n"


@pytest.mark.parametrize("out", [None, "my talks"])
@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "de")])
def test_a_data_set_without_a_preset_has_a_next_command(
    monkeypatch, capsys, tmp_path, source, target, out
):
    """What is printed can be pasted: it names the folder and both languages."""
    pytest.importorskip("sacremoses")
    pytest.importorskip("tokenizers")
    write_files(tmp_path, iwslt14(long_line="very " * 300))
    options = ["--out", out] if out else []
    name = f"iwslt14-{source}-{target}"
    assert call(monkeypatch, "data", "prepare", name, "--from", "de-en", *options) == 0
    closing = capsys.readouterr().out.splitlines()[-1]
    made, _, command = closing.partition("; next: voi ")
    assert made == f"made {out or f'data/{name}'}"
    assert call(monkeypatch, *shlex.split(command), "--dry-run") == 0
    plan = capsys.readouterr().out
    assert "train: 47 of 48 examples used" in plan
    assert f'source_language="{source}", target_language="{target}"' in command


def test_every_prepared_data_set_has_a_preset_or_settings():
    presets = {name for name in LAYOUTS if f"{name}-small" in experiments.presets()}
    settings = set(voi.cli.data._SETTINGS)
    assert presets | settings == set(LAYOUTS)
    assert not presets & settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["download", "gigawrod"], 'did you mean "gigaword"'),
        (["download", "coco"], "answered 404 Not Found"),
        (["download", "gigaword", "--sha256", "new.zip=00"], 'did you mean "news.zip"'),
        (["download", "gigaword", "--sha256", "news.zip=xyz"], "64 hexadecimal digits"),
        (["download", "gigaword", "--sha256", "news.zip=" + "0" * 64], "expected 0000"),
        (["prepare", "djagno", "--from", "."], 'did you mean "django"'),
        (["prepare", "django", "--from", "nowhere"], "no folder nowhere"),
        (["prepare", "django", "--from", "empty", "--out", "new"], "expected all.anno"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    server, monkeypatch, capsys, tmp_path, arguments, message
):
    (tmp_path / "empty").mkdir()
    assert call(monkeypatch, "data", *arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    assert message in lines[0]
    assert not (tmp_path / "data").exists()
    assert not list(tmp_path.rglob("*.zip*"))


def test_an_interrupted_download_says_how_to_go_on(server, monkeypatch, capsys):
    server.cut = 100
    assert call(monkeypatch, "data", "download", "gigaword") == 2
    assert "run the same command again" in capsys.readouterr().err
    server.cut = 0
    assert call(monkeypatch, "data", "download", "gigaword") == 0
    assert server.asked == [None, "bytes=100-"]
