"""Scenes: what is drawn, what is said of it, and the contract of embedded tasks."""

import re
from itertools import permutations

import numpy as np
import pytest

from voi.data import Example, ImageTask, Regions, grouped
from voi.data.drawing import COLOURS, SHAPES, Shape, draw
from voi.data.scenes import Scenes
from voi.data.tasks import make_task
from voi.errors import ConfigError, DataError

SPLITS = ("train", "valid", "test")
SIZES = {"train": 25, "valid": 4, "test": 3}


@pytest.fixture(scope="module")
def task():
    return make_task("scenes", SIZES)


def test_sizes_images_and_captions(task):
    for split in SPLITS:
        examples = task.split(split)
        assert len(examples) == 3 * SIZES[split]
        assert [str(e.source) for e in examples] == [
            f"{split}-{i}" for i in range(SIZES[split]) for _ in range(3)
        ]
    assert task.split("valid") is task.split("valid")
    assert isinstance(task, ImageTask)


def test_every_image_is_evaluated_once_with_all_captions(task):
    entries = grouped(task.split("train"))
    assert [str(source) for source, _ in entries] == [f"train-{i}" for i in range(25)]
    for number, (_, references) in enumerate(entries):
        captions = [e.target for e in task.split("train")[3 * number : 3 * number + 3]]
        assert list(references) == captions
        assert len(set(captions)) == 3


@pytest.mark.parametrize("kind", SHAPES)
def test_boxes_are_tight(kind):
    """The pixels that differ from the ground reach the sides of the box, and none lies outside."""
    shape = Shape("black", kind, "large", 0.5, 0.375, 0.25)  # whole pixels: 16..48 of 64, 8..40
    rng = np.random.default_rng(0)
    dark = draw([shape], 64, rng).mean(-1) < 120
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    assert np.abs([rows[0] - 8, rows[-1] - 39, columns[0] - 16, columns[-1] - 47]).max() <= 1
    assert shape.box == (0.25, 0.125, 0.75, 0.625)


def test_shapes_have_their_areas():
    """Share of the box that is covered, by geometry."""
    areas = {"circle": np.pi / 4, "square": 1, "diamond": 0.5, "triangle": 0.5, "cross": 5 / 9}
    for kind, area in areas.items():
        pixels = draw([Shape("black", kind, "", 0.5, 0.5, 0.4)], 200, np.random.default_rng(0))
        assert (pixels.mean(-1) < 120).mean() / 0.8**2 == pytest.approx(area, abs=0.02)


def test_regions_show_the_colours_of_the_shapes(task):
    for i in range(25):
        regions, shapes = task.source(f"train-{i}"), task.shapes_of(f"train-{i}")
        middle = regions.features[:, :108].reshape(-1, 6, 6, 3)[:, 2:4, 2:4].mean((1, 2))
        expected = np.array([COLOURS[shape.colour] for shape in shapes]) / 127.5 - 1
        np.testing.assert_allclose(middle, expected, atol=0.1)
        assert regions.labels == tuple(f"{s.colour} {s.kind}" for s in shapes)


def test_regions_are_those_of_the_pixels(task):
    """The box of a shape, read off the picture by its colour, is the box of the region."""
    for i in range(25):
        pixels = task.picture(f"train-{i}").astype(int)
        for shape, box in zip(
            task.shapes_of(f"train-{i}"), task.source(f"train-{i}").boxes, strict=True
        ):
            near = np.abs(pixels - COLOURS[shape.colour]).max(-1) < 30
            left, top, right, bottom = np.round(box * 64).astype(int)
            inside = near[top : bottom + 1, left : right + 1]
            assert inside.mean() > 0.3
            assert inside[len(inside) // 2].any()


def test_captions_are_true(task):
    for example in (e for split in SPLITS for e in task.split(split)):
        shapes = task.shapes_of(example.source.image)
        named = {f"{s.colour} {s.kind}": s for s in shapes}
        assert len(named) == len(shapes)
        words = re.sub(r"\b(an?|small|large)\b ", "", example.target)
        if " and " in words:
            listed = [named[name] for name in re.split(" , | and ", words)]
            assert listed == sorted(shapes, key=lambda s: s.x)
            continue
        first, how, second = re.fullmatch(
            r"(\w+ \w+) (left of|right of|above|below) (\w+ \w+)", words
        ).groups()
        a, b = named[first], named[second]
        across, down = b.x - a.x, b.y - a.y
        side = {"left of": across, "right of": -across, "above": down, "below": -down}[how]
        assert side == max(abs(across), abs(down)) > 0
        sizes = re.findall("small|large", example.target)
        assert sizes in ([], [a.size, b.size])


def test_articles(task):
    texts = " ".join(e.target for split in SPLITS for e in task.split(split))
    assert re.search(r"\ban orange\b", texts)
    assert not re.search(r"\ba orange|\ban [^o]", texts)


def test_shapes_do_not_touch(task):
    for i in range(25):
        for a, b in permutations(task.shapes_of(f"train-{i}"), 2):
            assert max(abs(a.x - b.x), abs(a.y - b.y)) > a.r + b.r


def test_same_seed_same_images_whatever_the_sizes(task):
    other = make_task("scenes", {**SIZES, "train": 30})
    assert other.split("test") == task.split("test")
    assert other.split("train")[:75] == task.split("train")
    assert make_task("scenes", {**SIZES, "seed": 1}).split("test") != task.split("test")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shapes": 1}, r"data\.options\.shapes must be from 2 to 4, got 1"),
        ({"captions": 4}, r"data\.options\.captions must be from 1 to 3, got 4"),
        ({"side": 8}, r"data\.options\.side must be at least 32, got 8"),
        ({"valid": 0}, r"data\.options\.valid must be at least 1, got 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigError, match=message):
        Scenes(**options)


@pytest.mark.parametrize("name", ["tset-1", "test", "test-3", "test--1", "test-x"])
def test_wrong_names(task, name):
    with pytest.raises(DataError, match=r"test-12|test has 3 images"):
        task.source(name)
    with pytest.raises(DataError, match='unknown split "tests": did you mean "test"'):
        task.split("tests")


class TestRegions:
    def test_equality_is_that_of_the_content(self):
        features, boxes = np.ones((2, 3), np.float32), np.zeros((2, 4), np.float32)
        first, second = Regions(features, boxes, "a"), Regions(features.copy(), boxes.copy(), "a")
        assert first == second
        assert hash(first) == hash(second) == hash(Regions(features, boxes.astype(float), "a"))
        for other in (
            Regions(features, boxes, "b"),
            Regions(features * 2, boxes, "a"),
            Regions(features, boxes + 1, "a"),
            Regions(features, boxes, "a", ("x", "y")),
        ):
            assert first != other
        assert str(Regions(features, boxes)) == "image with 2 regions"

    def test_captions_of_an_image_are_put_together_wherever_they_stand(self):
        a, b = (Regions(np.full((1, 2), i, float), np.zeros((1, 4)), str(i)) for i in range(2))
        examples = [Example(a, "x"), Example(b, "y"), Example(a, "z"), Example(a, "x")]
        assert grouped(examples) == [(a, ("x", "z")), (b, ("y",))]
        assert grouped([Example(None, "x"), Example(None, "x")]) == [(None, ("x",))] * 2
