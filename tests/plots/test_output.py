"""Where pictures go: by suffix, whole or not at all, and never without saying what is missing."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

import voi.plots
from drawn import trace_of
from voi.errors import DataError, MissingExtraError
from voi.plots import draw_generation, generation_page

TRACE = trace_of(["a", "b"])


@pytest.mark.parametrize("name", ["f.gif", "f", "png", "f.html"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"\.png or \.svg or \.pdf, got '" + name):
        draw_generation(TRACE, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_page_is_html(tmp_path):
    with pytest.raises(DataError, match=r"\.html or \.htm, got 'f.svg'"):
        generation_page([TRACE], tmp_path / "f.svg")


def test_a_folder_must_be_there(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        draw_generation(TRACE, tmp_path / "absent" / "f.svg")
    (tmp_path / "f.svg").mkdir()
    with pytest.raises(DataError, match="it is a folder"):
        draw_generation(TRACE, tmp_path / "f.svg")


def test_a_figure_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    def savefig(self, path, **options):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    (tmp_path / "f.svg").write_text("old")
    monkeypatch.setattr(Figure, "savefig", savefig)
    with pytest.raises(DataError, match="No space left on device"):
        draw_generation(TRACE, tmp_path / "f.svg")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_without_matplotlib_the_extra_is_named_and_the_page_still_works(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("voi.plots.", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'voi\[plots\]'"):
        voi.plots.draw_generation  # noqa: B018
    generation_page([TRACE], tmp_path / "f.html")
    assert (tmp_path / "f.html").exists()


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'draw_nothing'"):
        voi.plots.draw_nothing  # noqa: B018


def test_pyplot_is_never_loaded(tmp_path):
    code = (
        "import sys; from voi.plots import curves_figure, write_figure; "
        "curves = {'a': ([1, 2], [1, 2], None, None)}; "
        "write_figure(sys.argv[1], curves_figure, curves, xlabel='x', ylabel='y'); "
        "print('matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path / "f.svg")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
