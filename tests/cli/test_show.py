"""`voi show`: one generation in the terminal and in a file, and errors in one line."""

import json
import re
import sys

import pytest
import torch
from typer.testing import CliRunner

import voi.cli.show
from small_models import TINY, roughen
from small_runs import call
from voi import checkpoint, load
from voi.cli.app import app
from voi.config import experiment
from voi.data.example import Example
from voi.errors import CheckpointError, ConfigError, DataError, MissingExtraError, VoiError
from voi.networks import Networks
from voi.tokens import build_codec

SIZES = {**TINY, "layers": 1}
EXAMPLES = [Example("a b", "b a"), Example("c", "c c"), Example("b", "a")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A model folder with random weights."""
    return saved(tmp_path_factory.mktemp("show") / "model")


def saved(folder, region_size=0):
    table = {
        "decoder": SIZES,
        "order": SIZES,
        "training": {"steps": 1},
        "search": {"max_length": 6},
    }
    config, codec = experiment(table), build_codec({}, EXAMPLES)
    torch.manual_seed(0)
    networks = roughen(Networks.of(config, codec, region_size))
    checkpoint.save(folder, config, codec, networks)
    return folder


def show(*arguments):
    """Return what the command prints; its errors come through."""
    result = CliRunner().invoke(app, ["show", *map(str, arguments)])
    if isinstance(result.exception, VoiError):
        assert "\n" not in str(result.exception)
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def steps_in(output):
    return [found[1].strip() for found in re.finditer(r"^ +\d+  (.*)$", output, re.MULTILINE)]


@pytest.mark.parametrize(("options", "beam"), [([], None), (["--beam", "3"], 3)])
def test_every_step_is_printed(run, options, beam):
    ((best,),) = load(run).generate(["a b"], beam=beam)
    output = show(run, "a b", *options)
    assert output.startswith("a b\n")
    assert steps_in(output) == [" ".join(tokens) for tokens, _ in best.steps()]
    assert f"{best.text}    log p {best.score:.2f}" in output


def test_gaps_and_keywords_are_obeyed(run):
    final = steps_in(show(run, "a b", "--gaps", "c ___ b"))[-1].split()
    assert len(final) > 2
    assert (final[0], final[-1]) == ("c", "b")
    assert "c" in steps_in(show(run, "a b", "--keywords", "c"))[-1].split()


def test_a_source_without_a_known_word_is_told(run, monkeypatch, capsys):
    for source, is_told in (("x y", True), ("x a", False)):
        assert call(monkeypatch, "show", run, source) == 0
        said = capsys.readouterr().err
        assert (said == "voi: no word of the source is in the model's vocabulary\n") == is_told


def test_a_blank_source_is_told_as_by_generate(run, tmp_path, monkeypatch, capsys):
    (tmp_path / "blank").write_text(" \n")
    assert call(monkeypatch, "generate", run, tmp_path / "blank") == 0
    line = capsys.readouterr().err
    assert line == f"voi: no source is given in {tmp_path / 'blank'}, line 1\n"
    assert call(monkeypatch, "show", run, " ") == 0
    assert capsys.readouterr().err == "voi: no source is given\n"


def test_a_source_may_look_like_markup(run):
    assert show(run, "[bold] [/x]").startswith("[bold] [/x]\n")


def test_attention_is_drawn_with_a_row_for_each_step_and_a_column_for_each_word(
    run, tmp_path, monkeypatch
):
    drawn = {}
    monkeypatch.setattr(
        voi.cli.show.plots,
        "attention_figure",
        lambda weights, **given: drawn.update(given, w=weights),
    )
    monkeypatch.setattr(
        voi.cli.show.plots, "write_figure", lambda path, figure, *x, **given: figure(*x, **given)
    )
    output = show(run, "a b c", "--attention", tmp_path / "a.svg", "--dark")
    assert "wrote" in output
    written = steps_in(output)
    assert drawn["w"].shape == (len(written), 3)
    assert drawn["parts"] == ["a", "b", "c"]
    assert drawn["tokens"][0] == written[0]
    assert sorted(drawn["tokens"]) == sorted(written[-1].split())
    assert drawn["theme"] == "dark"


def test_attention_is_a_picture_and_needs_a_source(run, tmp_path):
    show(run, "a b", "--attention", tmp_path / "a.svg", "--out", tmp_path / "b.html")
    assert "part of the source" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "b.html").is_file()
    with pytest.raises(DataError, match=r"\.pdf, got .a\.html"):
        show(run, "a b", "--attention", tmp_path / "a.html")
    with pytest.raises(ConfigError, match=r"--attention draws steps .* 0 parts: leave it out"):
        show(run, "", "--attention", tmp_path / "c.svg")
    assert not (tmp_path / "c.svg").exists()


@pytest.mark.parametrize(
    ("name", "start"),
    [("f.svg", b"<?xml"), ("f.png", b"\x89PNG"), ("f.pdf", b"%PDF"), ("f.html", b"<!doctype")],
)
@pytest.mark.parametrize("dark", [[], ["--dark"]])
def test_the_suffix_says_the_format(run, tmp_path, name, start, dark):
    output = show(run, "a b", "--out", tmp_path / name, *dark)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert f"wrote {tmp_path / name}" in output
    is_text = name.endswith(("svg", "html"))
    mark = "color-scheme: dark" if name == "f.html" else "#16181c"
    assert not is_text or (mark in (tmp_path / name).read_text()) == bool(dark)


def test_the_page_holds_the_generation(run, tmp_path):
    show(run, "a b", "--out", tmp_path / "f.html")
    ((best,),) = load(run).generate(["a b"])
    data = re.search(r'id="data">(.*?)</script>', (tmp_path / "f.html").read_text())[1]
    record = json.loads(data)["examples"][0][0]
    assert (record["source"], tuple(record["tokens"])) == ("a b", best.tokens)
    assert tuple(record["order"]) == best.order


def test_errors_come_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr(voi.cli.show, "load", lambda path: pytest.fail("the model was loaded"))
    with pytest.raises(DataError, match=r"got 'f\.gif'"):
        show(run, "a b", "--out", tmp_path / "f.gif")
    with pytest.raises(DataError, match="no folder"):
        show(run, "a b", "--out", tmp_path / "absent" / "f.svg")
    for name in [name for name in sys.modules if name.startswith(("voi.plots.", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"voi\[plots\]"):
        show(run, "a b", "--out", tmp_path / "f.svg")


def test_what_cannot_be_shown_is_said(run, tmp_path):
    with pytest.raises(ConfigError, match="give --out with --dark: a file"):
        show(run, "a", "--dark")
    with pytest.raises(CheckpointError, match="no model"):
        show(tmp_path, "a b")
    with pytest.raises(ConfigError, match="give --gaps or --keywords, not both"):
        show(run, "a b", "--gaps", "a ___", "--keywords", "c")
    with pytest.raises(ConfigError, match="give words with --keywords: there are none"):
        show(run, "a b", "--keywords", "")
    with pytest.raises(DataError, match="describes images"):
        show(saved(tmp_path / "images", region_size=3), "a b")
