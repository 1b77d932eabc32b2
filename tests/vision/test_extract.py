"""Extraction: a folder of images to a store, interrupted, with broken files, by three backbones."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import voi.cli.regions
from shared_data import shared_data
from small_pictures import FakeDetector, save_images
from voi.cli.app import app
from voi.errors import ConfigError, DataError, MissingExtraError, VoiError
from voi.vision.extract import backbone_of, extract, make_backbone, regions_of
from voi.vision.pooled import PooledPixels, grid_boxes
from voi.vision.store import open_store

NAMES = ["a.png", "b.png", "deep/c.png", "deep/d.jpg", "e.png"]


def voi(*arguments):
    """Return what a command prints on standard output and standard error; its errors come up."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, VoiError):
        assert "\n" not in str(result.exception)
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def stop_after_one(_, done, total):
    if done == 1:
        raise KeyboardInterrupt


class TestDetected:
    def test_regions_of_all_images_in_batches(self, tmp_path):
        pixels = save_images(tmp_path / "images", NAMES)
        (tmp_path / "images" / "notes.txt").write_text("no image")
        detector, told = FakeDetector(), []
        done = extract(
            tmp_path / "images",
            tmp_path / "out",
            detector,
            max_regions=3,
            batch_size=2,
            told=lambda *what: told.append(what),
        )
        assert detector.batches == [2, 2, 1]
        assert told == [("regions", done, 5) for done in (0, 2, 4, 5)]
        store = done.store
        assert store.names == tuple(sorted(NAMES))
        for image, name in enumerate(store.names):
            size = min(len(pixels[name]) - 5, 3)
            expected = [len(pixels[name]), pixels[name].mean()]
            np.testing.assert_allclose(store.features[store.rows(image)], [expected] * size, atol=2)
            assert store.labels(image) == tuple(f"thing {i}" for i in range(size))

    def test_an_interrupted_extraction_goes_on(self, tmp_path):
        save_images(tmp_path / "images", NAMES)
        with pytest.raises(KeyboardInterrupt):
            extract(tmp_path / "images", tmp_path / "out", FakeDetector(2), batch_size=2)
        assert not (tmp_path / "out").exists()
        detector = FakeDetector()
        done = extract(tmp_path / "images", tmp_path / "out", detector, batch_size=2)
        assert (done.num_resumed, detector.batches) == (4, [1])
        extract(tmp_path / "images", tmp_path / "straight", FakeDetector(), batch_size=2)
        assert (tmp_path / "out").read_bytes() == (tmp_path / "straight").read_bytes()

    @pytest.mark.parametrize("changed", ["folder", "part", "weights", "boxes"])
    def test_what_goes_on_is_the_same_extraction(self, tmp_path, changed):
        for folder in ("images", "others"):
            save_images(tmp_path / folder, NAMES)
        for name in ("weights", "boxes.jsonl"):
            (tmp_path / name).write_text('{"file": "a.png", "boxes": [[0, 0, 4, 3]]}')
        given = {
            "images": tmp_path / "images",
            "boxes": tmp_path / "boxes.jsonl" if changed == "boxes" else None,
            "part": "1/2",
        }
        given |= {"out": tmp_path / "out", "backbone": FakeDetector(), "batch_size": 1}
        given["backbone"].weights = tmp_path / "weights"
        with pytest.raises(KeyboardInterrupt):
            extract(**given, told=stop_after_one)
        if changed == "folder":
            given["images"] = tmp_path / "others"
        elif changed == "part":
            given["part"] = "2/2"
        else:  # as many bytes as before
            path = tmp_path / ("weights" if changed == "weights" else "boxes.jsonl")
            path.write_text('{"file": "b.png", "boxes": [[0, 0, 4, 3]]}')
        with pytest.raises(DataError, match="go on with the same settings, or remove the folder"):
            extract(**given)

    def test_weights_that_have_changed_describe_no_further_image(self, tmp_path, monkeypatch):
        save_images(tmp_path / "images", NAMES[:1])
        detector = FakeDetector()
        detector.weights = tmp_path / "weights"
        detector.weights.write_text("old")
        store = extract(tmp_path / "images", tmp_path / "out", detector).store
        asked = []
        monkeypatch.setattr(
            "voi.vision.extract.make_backbone", lambda *given: asked.append(given) or detector
        )
        assert backbone_of(store) is detector
        assert asked == [("fake", detector.weights.resolve())]
        detector.weights.write_text("new")
        with pytest.raises(DataError, match=r"other weights than those of .*weights: put the file"):
            backbone_of(store)

    def test_broken_files_are_named_and_left_out(self, tmp_path):
        save_images(tmp_path / "images", NAMES)
        (tmp_path / "images" / "b.png").write_bytes(b"no image at all")
        whole = (tmp_path / "images" / "e.png").read_bytes()
        (tmp_path / "images" / "e.png").write_bytes(whole[:50])
        done = extract(tmp_path / "images", tmp_path / "out", FakeDetector(), batch_size=2)
        assert set(done.broken) == {"b.png", "e.png"}
        assert set(open_store(tmp_path / "out").names) == {"a.png", "deep/c.png", "deep/d.jpg"}
        assert open_store(tmp_path / "out").broken == done.broken

    def test_nothing_but_broken_files_is_an_error(self, tmp_path):
        (tmp_path / "a.png").write_bytes(b"")
        with pytest.raises(DataError, match=r"none of 1 images can be read: a\.png"):
            extract(tmp_path, tmp_path / "out", FakeDetector())

    def test_given_boxes_are_not_searched_for(self, tmp_path):
        save_images(tmp_path / "images", ["a.png", "b.png"])
        lines = tmp_path / "boxes.jsonl"
        lines.write_text(json.dumps({"file": "a.png", "boxes": [[0, 0, 4, 3], [0, 0, 8, 6]]}))
        done = extract(tmp_path / "images", tmp_path / "out", FakeDetector(), lines, max_regions=1)
        assert done.num_without_boxes == 1
        np.testing.assert_array_equal(done.store.boxes, [[0, 0, 1, 1], [0, 0, 1, 1]])
        assert done.store.label_names == ("",)


class TestPooled:
    def test_without_boxes_there_is_a_grid(self, tmp_path):
        pixels = save_images(tmp_path / "images", ["a.png"])["a.png"]
        store = extract(tmp_path / "images", tmp_path / "out", PooledPixels(), max_regions=5).store
        np.testing.assert_array_equal(store.boxes, grid_boxes(5))
        found = regions_of(pixels, PooledPixels(), 5)
        np.testing.assert_allclose(store.features, found.features, atol=1e-3)

    def test_the_command_tells_what_it_did(self, tmp_path):
        save_images(tmp_path / "images", ["a.png", "b.png"])
        (tmp_path / "images" / "c.png").write_bytes(b"nothing")
        lines = tmp_path / "boxes.jsonl"
        lines.write_text(json.dumps({"file": "a.png", "boxes": [[0, 0, 4, 3]]}))
        said, warned = voi(
            "data", "regions", tmp_path / "images", "--out", tmp_path / "r", "--boxes", lines
        )
        assert "2 images, 2 regions of 114 numbers each (pooled)" in said
        assert "1 images have no boxes" in said
        assert "left out c.png: cannot identify image file" in warned


def test_parts_are_joined_to_what_one_process_finds(tmp_path):
    save_images(tmp_path / "images", NAMES)
    (tmp_path / "images" / "z.png").write_bytes(b"no picture")
    options = "data", "regions", tmp_path / "images", "--backbone", "pooled", "--max-regions", 5
    voi(*options, "--out", tmp_path / "whole")
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, path in enumerate(parts, start=1):
        voi(*options, "--part", f"{i}/2", "--out", path)
    assert [open_store(path).names for path in parts] == [
        ("a.png", "deep/c.png", "e.png"),
        ("b.png", "deep/d.jpg"),
    ]
    said, _ = voi("data", "join", *parts, "--out", tmp_path / "joined")
    assert "5 images, 25 regions" in said
    whole, joined = open_store(tmp_path / "whole"), open_store(tmp_path / "joined")
    assert dict(joined.broken) == dict(whole.broken)
    named = {"joined": [str(path.resolve()) for path in parts]}
    assert {**joined.settings, "part": "1/1"} == {**whole.settings, **named}
    assert sorted(joined.names) == sorted(whole.names)
    for image, name in enumerate(joined.names):
        other = whole.find(name)
        for field in ("features", "boxes", "scores"):
            ours, theirs = getattr(joined, field), getattr(whole, field)
            np.testing.assert_array_equal(ours[joined.rows(image)], theirs[whole.rows(other)])
        assert joined.labels(image) == whole.labels(other)
    save_images(tmp_path / "more", ["more/f.png"])
    voi(*options[:2], tmp_path / "more", *options[3:], "--out", tmp_path / "rest")
    voi("data", "join", tmp_path / "joined", tmp_path / "rest", "--out", tmp_path / "all")
    assert open_store(tmp_path / "all").names == (*joined.names, "more/f.png")
    assert "images" not in open_store(tmp_path / "all").settings
    with pytest.raises(DataError, match=r"a\.png is in .*part1 and in .*whole"):
        voi("data", "join", parts[0], tmp_path / "whole", "--out", tmp_path / "twice")
    voi(*options[:-1], 4, "--part", "2/2", "--out", tmp_path / "fewer")
    with pytest.raises(DataError, match="join files of the same settings"):
        voi("data", "join", parts[0], tmp_path / "fewer", "--out", tmp_path / "mixed")
    for part in ("3/2", "0/2", "1", "x/y"):
        with pytest.raises(ConfigError, match="--part must be I/N"):
            voi(*options, "--part", part, "--out", tmp_path / "none")
    with pytest.raises(ConfigError, match="divide it into fewer parts"):
        voi(*options, "--part", "9/9", "--out", tmp_path / "none")


def test_one_line_for_what_cannot_be_done(tmp_path):
    save_images(tmp_path / "images", ["a.png"])
    given = ("data", "regions", tmp_path / "images", "--out", tmp_path / "out")
    with pytest.raises(ConfigError, match='unknown backbone "pool": did you mean "pooled"'):
        voi(*given, "--backbone", "pool")
    with pytest.raises(ConfigError, match="--weights are those of faster-rcnn"):
        voi(*given, "--backbone", "pooled", "--weights", "w.pth")
    with pytest.raises(ConfigError, match="device 'gpu' cannot be used here"):
        voi(*given, "--backbone", "pooled", "--device", "gpu")
    with pytest.raises(ConfigError, match="pooled works on cpu alone, got --device meta"):
        voi(*given, "--backbone", "pooled", "--device", "meta")
    with pytest.raises(DataError, match="expected a folder of images"):
        voi("data", "regions", tmp_path / "no", "--out", tmp_path / "out", "--backbone", "pooled")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no images below"):
        extract(tmp_path / "empty", tmp_path / "out", PooledPixels())


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Random weights of Faster R-CNN; needs torchvision with its compiled operators."""
    from voi.vision.detector import _network, detection_module

    try:
        network = _network(detection_module())
    except MissingExtraError as error:
        pytest.skip(str(error))
    path = tmp_path_factory.mktemp("weights") / "weights.pth"
    torch.save(network.state_dict(), path)
    return path


@pytest.fixture(scope="module")
def network():
    """EfficientNet-lite0 with its weights."""
    pytest.importorskip("efficientnet_lite_pytorch", reason="needs voi[efficientnet]")
    return make_backbone("efficientnet-lite0")


class TestFasterRCNN:
    def test_features_and_boxes(self, weights):
        detector = make_backbone("faster-rcnn", weights)
        detector.network.roi_heads.score_thresh = 0.0
        rng = np.random.default_rng(0)
        images = [rng.integers(0, 256, (40, w, 3)).astype(np.uint8) for w in (50, 60)]
        found = detector.detect(images, 4)
        for regions in found:
            assert regions.features.shape == (4, 1024)
            assert ((regions.boxes >= 0) & (regions.boxes <= 1)).all()
            assert set(regions.labels) <= set(detector.categories)
        again = detector.describe(images, [regions.boxes for regions in found])
        for regions, features in zip(found, again, strict=True):
            np.testing.assert_allclose(features, regions.features, rtol=1e-3, atol=1e-3)

    def test_weights_that_are_none(self, weights, tmp_path):
        (tmp_path / "w.pth").write_bytes(b"no weights")
        with pytest.raises(DataError, match="does not hold weights"):
            make_backbone("faster-rcnn", tmp_path / "w.pth")
        with pytest.raises(DataError, match="no file"):
            make_backbone("faster-rcnn", tmp_path / "absent.pth")


def test_missing_weights_name_the_file_and_where_it_belongs(tmp_path, monkeypatch):
    from voi.vision.detector import _cached

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"expected .*weights-1\.pth: put https://x/weights-1\.pth"):
        _cached("https://x/weights-1.pth")
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    (tmp_path / "hub" / "checkpoints" / "weights-1.pth").touch()
    assert _cached("https://x/weights-1.pth").is_file()


class TestEfficientNet:
    def test_one_vector_per_box(self, network):
        rng = np.random.default_rng(0)
        images = [rng.integers(0, 256, (30, w, 3)).astype(np.uint8) for w in (40, 20)]
        tiny = np.array([[0.999, 0.999, 1, 1]], np.float32)  # less than a pixel
        found = network.describe(images, [grid_boxes(2), tiny])
        assert [each.shape for each in found] == [(2, 1280), (1, 1280)]
        (alone,) = network.describe(images[1:], [tiny])
        np.testing.assert_allclose(found[1], alone, atol=1e-4)

    def test_it_knows_what_a_photograph_shows(self, network):
        """COCO's labels are mostly among the five likeliest of 1000: input and weights fit."""
        folder = shared_data("coco_small")
        lines = (folder / "coco_small.jsonl").read_text().splitlines()
        classes = {"zebra": 340, "pizza": 963, "broccoli": 937}
        crops = [
            (folder / record["file"], box["bbox"], classes[box["category"]])
            for record in map(json.loads, lines)
            for box in record["boxes"] or []
            if box["category"] in classes and min(box["bbox"][2:]) > 60
        ]
        right = 0
        for path, (x, y, w, h), expected in crops[:8]:
            with Image.open(path) as image:
                crop = image.convert("RGB").crop((x, y, x + w, y + h)).resize((224, 224))
            with torch.no_grad():
                scores = network.network(network.inputs([np.array(crop)]))[0]
            right += expected in scores.topk(5).indices
        assert right > len(crops[:8]) / 2
