"""The whole path of captioning: pixels, regions, training, a caption, a picture with boxes."""

import base64
import io
import json
import re

import matplotlib.image
import numpy as np
import pytest
from typer.testing import CliRunner

import voi.cli.regions
import voi.cli.show
from shared_data import shared_data
from small_runs import TINY, Quiet
from voi import config, experiments, load, runs
from voi.cli.app import app
from voi.data import Regions
from voi.errors import ConfigError, DataError, VoiError
from voi.prepared import prepare

SCENES = "data.options={train=30, valid=4, test=4}"
STEPS = ("training.steps=6", "training.validate_every=6", "training.checkpoint_every=6")


def command(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, VoiError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def trained(run, task, *settings):
    """Train a tiny model for a few steps and return its losses."""
    small = [setting for setting in TINY if setting.startswith(("decoder", "order", "training"))]
    table = experiments.load_table(task)
    table["training"].pop("phases", None)
    table = experiments.override(table, [*small, *STEPS, *settings])
    watcher = Quiet()
    assert runs.start(prepare(config.experiment(table)), run, watcher).run()
    return [values["loss"] for values in watcher.logged if "loss" in values]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """A run on drawn images, and its losses."""
    run = tmp_path_factory.mktemp("scenes") / "run"
    steps = [f"training.{name}=30" for name in ("steps", "validate_every", "checkpoint_every")]
    return run, trained(run, "scenes", SCENES, "training.decoder_rate=1e-2", *steps)


def test_the_loss_falls_on_scenes(scenes):
    losses = scenes[1]
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.5


def test_scenes_from_pixels_to_a_picture(scenes, tmp_path):
    model = load(scenes[0])
    said = command("show", scenes[0], "test-1", "--out", tmp_path / "steps.png", "--beam", 2)
    task = voi.cli.show._image_task(model)
    ((best, *_),) = model.generate([task.source("test-1")], beam=2)
    assert said.startswith("test-1\n")
    assert best.text in said
    drawn = matplotlib.image.imread(tmp_path / "steps.png")[..., :3]
    colours = _numbers(task.picture("test-1"))
    shown = _numbers(np.round(drawn * 255))
    assert np.isin(colours, shown).mean() > 0.5  # the image is in the picture


def test_a_page_has_the_image_and_its_regions(scenes, tmp_path):
    model, path = load(scenes[0]), tmp_path / "steps.html"
    command("show", scenes[0], "test-1", "--out", path)
    task = voi.cli.show._image_task(model)
    source = task.source("test-1")
    ((best, *_),) = model.generate([source])
    data = re.search(r'id="data">(.*?)</script>', path.read_text())[1]
    ((record,),) = json.loads(data)["examples"]
    np.testing.assert_allclose(record["regions"]["boxes"], source.boxes, atol=1e-4)
    assert np.shape(record["regions"]["opacities"]) == (len(best.tokens), len(source.boxes))
    kind, _, data = record["regions"]["image"].partition(",")
    assert kind == "data:image/png;base64"
    image = matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))[..., :3]
    np.testing.assert_array_equal(np.round(image * 255), task.picture("test-1"))


def _numbers(image):
    """Return the different colours of an image, one number each."""
    return np.unique(image.reshape(-1, 3).astype(int) @ [1, 256, 65536])


def test_an_image_has_to_be_named(scenes):
    with pytest.raises(
        ConfigError, match="describes images: give the name of one, such as valid-0"
    ):
        command("show", scenes[0])
    with pytest.raises(DataError, match="test has 4 images"):
        command("show", scenes[0], "test-4")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Some photographs of COCO, their captions and human boxes, and the regions made of them."""
    folder = tmp_path_factory.mktemp("photographs")
    found = shared_data("coco_small", "coco_small.jsonl")
    lines = found.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    chosen = [r for r in records if r["split"] == "train"][:30]
    chosen += [r for r in records if r["split"] == "test"][:6]
    (folder / "images").mkdir()
    for record in chosen:
        (folder / record["file"]).symlink_to(found.parent / record["file"])
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, chosen)))
    command(
        "data", "regions", folder / "images", "--boxes", folder / "captions.jsonl",
        "--out", folder / "regions", "--max-regions", 10,
    )  # fmt: skip
    return folder


def test_photographs_from_pixels_to_a_picture(photographs, tmp_path):
    run = tmp_path / "run"
    losses = trained(
        run,
        "coco-small",
        f'data.options.captions="{photographs}/captions.jsonl"',
        f'data.options.regions="{photographs}/regions"',
        f'data.options.images="{photographs}/images"',
        "training.valid_examples=8",
    )
    assert np.isfinite(losses).all()
    task = voi.cli.show._image_task(load(run))
    name = task.split("test")[0].source.image
    assert len(task.split("test")) == sum(len(c) for _, c in task.split("test").images)
    source = task.source(name)
    assert isinstance(source, Regions)
    assert ((source.boxes >= 0) & (source.boxes <= 1)).all()
    command("show", run, name, "--out", tmp_path / "steps.png")
    assert matplotlib.image.imread(tmp_path / "steps.png").size > 10**5
    foreign = photographs / "images" / name
    command("show", run, foreign, "--out", tmp_path / "new.png")  # any image file, by a grid
    assert (tmp_path / "new.png").is_file()


@pytest.mark.parametrize("name", ["coco", "coco-small", "scenes"])
def test_presets_can_be_read(name):
    experiment = config.experiment(experiments.load_table(name))
    assert experiment.data.task == ("scenes" if name == "scenes" else "captions")


@pytest.mark.parametrize("name", ["coco", "coco-baseline", "coco-small"])
def test_no_preset_chooses_checkpoints_on_what_it_reports(name):
    options = config.experiment(experiments.load_table(name)).data.options
    assert not options.get("valid") or options["valid"] != options.get("test")


def test_the_documents_say_what_the_preset_has():
    """The authors' program: beam 2, up to 100 regions."""
    from test_docs import ROOT

    experiment = config.experiment(experiments.load_table("coco"))
    assert (experiment.search.beam, experiment.data.max_source_length) == (2, 100)
    pages = {name: (ROOT / "docs" / "tasks" / name).read_text() for name in ("coco.md", "index.md")}
    commands = [x for x in pages["coco.md"].splitlines() if "data/coco/images --" in x]
    assert len(commands) == 2
    assert all("--max-regions 100" in line for line in commands)
    assert "the preset's beam of 2" in pages["coco.md"]
    assert "COCO 2" in pages["index.md"]


def test_the_settings_of_the_paper():
    """Appendix C: batch, K, betas, rates, epochs and entropy of MS-COCO."""
    training = config.experiment(experiments.load_table("coco")).training
    assert training.decoder_betas == training.order_betas == (0.99, 0.999)
    phases = training.phases
    assert {(p.batch_size, p.num_orders) for p in phases} == {(32, 4)}
    assert [p.epochs for p in phases] == [4, 10, 5]
    assert [(p.decoder_rate, p.order_rate) for p in phases] == [
        (5e-5, 5e-6), (5e-5, 5e-6), (2e-5, 2e-6)
    ]  # fmt: skip
    assert [(p.entropy_weight, p.entropy_final) for p in phases] == [
        (0.5, -1), (0.5, 0.1), (0.1, 0.03)
    ]  # fmt: skip
    assert [(p.share, p.align) for p in phases] == [(True, 0), (False, 100), (False, 100)]


def test_options_are_documented():
    from test_docs import ROOT, _check_table, _table
    from voi.data.tasks import TASKS

    _check_table(_table(ROOT / "docs" / "captions.md", "captions"), TASKS["captions"])
