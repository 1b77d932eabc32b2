"""Captions: files of several layouts, a store of regions, pairs, splits, and real files."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shared_data import shared_data
from small_pictures import save_images
from voi import config
from voi.batch import collate
from voi.data import ImageTask, grouped
from voi.data.caption_files import Captioned, read_captions
from voi.data.captions import Captions
from voi.data.splits import SPLITS
from voi.data.tasks import make_task, split_names
from voi.errors import ConfigError, DataError
from voi.tokens import build_codec, build_corpus
from voi.vision.backbone import Found
from voi.vision.extract import extract
from voi.vision.pooled import PooledPixels
from voi.vision.writing import StoreWriter

CAPTIONS = {f"{i:012}.jpg": [f"image {i} says {j}" for j in range(1 + i % 3)] for i in range(12)}


@pytest.fixture
def store(tmp_path):
    """Regions of all images but the last; image i has i + 1 of them."""
    writer = StoreWriter(tmp_path / "regions", {"backbone": "pooled", "max_regions": 36})
    for i, name in enumerate(list(CAPTIONS)[:-1]):
        found = Found(
            np.full((i + 1, 3), i, np.float32),
            np.full((i + 1, 4), i / 20, np.float32),
            ("thing",) * (i + 1),
            np.ones(i + 1, np.float32),
        )
        writer.add([name], [found])
    writer.finish({"000000000011.jpg": "cut short"})
    return str(tmp_path / "regions")


def save(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def lines(folder, splits):
    records = [
        {"file": f"images/{name}", "captions": captions, "split": splits[i % len(splits)]}
        for i, (name, captions) in enumerate(CAPTIONS.items())
    ]
    return save(folder / "c.jsonl", "\n".join(map(json.dumps, records)))


class TestFiles:
    def test_coco(self, tmp_path):
        table = {
            "images": [{"id": 5, "file_name": "5.jpg"}, {"id": 6, "file_name": "6.jpg"}],
            "annotations": [
                {"image_id": 6, "caption": "six "},
                {"image_id": 5, "caption": "five\n five"},
                {"image_id": 6, "caption": "half a dozen"},
            ],
        }
        expected = [Captioned("5.jpg", ("five five",)), Captioned("6.jpg", ("six", "half a dozen"))]
        assert read_captions(tmp_path / save(tmp_path / "c.json", table)) == expected

    def test_flickr30k(self, tmp_path):
        lines = ["7.jpg#0\tA dog  runs .", "7.jpg#1\tIt is a dog #1 .", "8.jpg#0\tTwo men"]
        expected = [
            Captioned("7.jpg", ("A dog runs .", "It is a dog #1 .")),
            Captioned("8.jpg", ("Two men",)),
        ]
        path = tmp_path / "results_20130124.token"
        assert read_captions(tmp_path / save(path, "\n".join(lines))) == expected
        for line in ("7.jpg\tno number", "#0\tno image", "7.jpg#0", "7.jpg#0 no tab"):
            with pytest.raises(DataError, match="line 2 does not begin with"):
                read_captions(tmp_path / save(path, f"{lines[0]}\n{line}"))

    def test_karpathy(self, tmp_path):
        images = [
            {"filepath": "val2014", "filename": f"{i}.jpg", "split": split, "sentences": [s]}
            for i, (split, s) in enumerate(
                (split, {"raw": split}) for split in ("train", "restval", "val", "test")
            )
        ]
        found = read_captions(tmp_path / save(tmp_path / "dataset_coco.json", {"images": images}))
        assert [image.split for image in found] == ["train", "train", "valid", "test"]
        assert found[1] == Captioned("val2014/1.jpg", ("restval",), "train")

    def test_tab_separated(self, tmp_path):
        text = "0139\ttrain2017\ta b\n0140\tval2017\tc\n0139\ttrain2017\td\n"
        found = read_captions(tmp_path / save(tmp_path / "c.tsv", text))
        assert found == [
            Captioned("0139", ("a b", "d"), "train"),
            Captioned("0140", ("c",), "valid"),
        ]

    def test_a_split_may_be_called_as_in_folders_of_pairs(self, tmp_path):
        for name, names in SPLITS.items():
            found = read_captions(tmp_path / lines(tmp_path, names))
            assert {image.split for image in found} == {name}

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("c.json", "{", "not a file of captions"),
            ("c.json", "{}", "no key 'images'"),
            ("c.json", "[]", "not a file of captions"),
            ("c.jsonl", "[]", "line 1: list indices"),
            ("c.jsonl", '{"file": "a", "captions": []}', "a has no caption"),
            ("c.jsonl", '{"file": "a", "captions": ["x", " "]}', "a has no caption, or an empty"),
            ("c.jsonl", '{"file": "a"}', "line 1: no key 'captions'"),
            ("c.jsonl", '{"file": "a", "captions": "bus"}', "line 1: .* list of texts, got 'bus'"),
            ("c.jsonl", '{"file": "a", "captions": [3]}', "line 1: a caption is a text, got 3"),
            ("c.jsonl", '{"file": 7, "captions": ["x"]}', "line 1: the file .* a text, got 7"),
            ("c.jsonl", "[" * 10**5, "line 1: not JSON that can be read .nested too deeply"),
            ("c.json", "[" * 10**5, "nested too deeply"),
            ("c.json", '{"images": [],\n"annotations": [}', "not JSON .*line 2, column 17"),
            (
                "c.json",
                '{"images": [{"id": 2, "file_name": "a"}], "annotations": ['
                '{"image_id": 2, "caption": "x"}, {"image_id": "2", "caption": "y"}]}',
                "1 annotations belong to no image: image_id '2'",
            ),
            ("c.jsonl", '{"file": "a", "captions": ["x"], "split": "dve"}', "unknown split 'dve'"),
            ("c.tsv", "a\tb\n", "line 1 has 2 columns, expected 3"),
            ("c.tsv", "", "holds no captions"),
            ("c.txt", "", "expected one of .json, .jsonl"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, name, text, message):
        with pytest.raises(DataError, match=message) as raised:
            read_captions(tmp_path / save(tmp_path / name, text))
        assert "\n" not in str(raised.value)


class TestTask:
    def test_pairs_and_groups(self, tmp_path, store):
        task = make_task(
            "captions",
            {"captions": lines(tmp_path, ("train", "val", "test")), "regions": store,
             "missing": "skip"},
        )  # fmt: skip
        assert isinstance(task, ImageTask)
        assert split_names(task) == ("train", "valid", "test")
        expected = [(i, t) for i, name in enumerate(CAPTIONS) if i % 3 == 1 for t in CAPTIONS[name]]
        pairs = task.split("valid")
        assert [(len(e.source.boxes) - 1, e.target) for e in pairs] == expected
        assert pairs[-1].target == expected[-1][1]
        assert [e.target for e in pairs[1:3]] == [text for _, text in expected[1:3]]
        with pytest.raises(IndexError):
            pairs[len(pairs)]
        for source, references in grouped(pairs):
            assert list(references) == CAPTIONS[source.image]
            assert source.labels == ("thing",) * len(source.boxes)
        assert len(grouped(task.split("test"))) == 3  # one of four has no regions
        assert task.notes == ("1 of 12 images have no regions",)

    def test_features_are_kept_once_per_image(self, tmp_path, store):
        options = {"captions": lines(tmp_path, ["train"]), "regions": store}
        task = make_task("captions", {**options, "missing": "skip", "holdout": 0.1})
        train = task.split("train")
        codec = build_codec({}, train)
        corpus, report = build_corpus(train, codec, config.DataConfig())
        assert report.num_examples == len(train) > len(train.images) == len(corpus.features)
        rows = np.arange(len(corpus))
        batch = collate(corpus, rows)
        for row, example in zip(rows, train, strict=True):
            size = len(example.source.boxes)
            assert int(batch.source_lengths[row]) == size
            np.testing.assert_array_equal(batch.features[row, :size], example.source.features)
            np.testing.assert_array_equal(batch.boxes[row, :size], example.source.boxes)

    def test_images_are_held_out_whole(self, tmp_path, store):
        first = {name: CAPTIONS[name] for name in list(CAPTIONS)[:11]}
        table = {
            "images": [{"id": name, "file_name": name} for name in first],
            "annotations": [{"image_id": n, "caption": t} for n, x in first.items() for t in x],
        }
        task = Captions(train=save(tmp_path / "c.json", table), regions=store, holdout=0.2)
        held, left = (
            {source.image for source, _ in grouped(task.split(name))} for name in ("valid", "train")
        )
        assert (len(held), len(left), held & left) == (2, 9, set())
        assert task.split_names == ("train", "valid")
        assert "valid: 2 of the training images" in task.notes[0]
        with pytest.raises(DataError, match=r"no test split: data\.options\.test gives none"):
            task.split("test")

    def test_images_without_regions_are_an_error(self, tmp_path, store):
        task = Captions(captions=lines(tmp_path, ("train", "val", "test")), regions=store)
        with pytest.raises(
            DataError, match=r"1 of 4 images .*11\.jpg \(its file .*cut short.*skip"
        ):
            task.split("test")

    def test_sources_and_pictures_by_name(self, tmp_path, store):
        save_images(tmp_path / "images", ["000000000003.jpg", "new.png"])
        captions = lines(tmp_path, ("train", "val", "test"))
        task = Captions(captions=captions, regions=store, images=str(tmp_path / "images"))
        assert task.source("3").image == "000000000003.jpg"
        assert task.picture("000000000003.jpg") == tmp_path / "images" / "000000000003.jpg"
        assert task.picture("000000000004.jpg") is None
        new = task.source(str(tmp_path / "images" / "new.png"))  # described as the store's were
        assert new.features.shape == (30, 114)
        assert task.picture(new.image) == tmp_path / "images" / "new.png"
        with pytest.raises(DataError, match=r"an image of .*regions or an image file, got nothing"):
            task.source("nothing.jpg")

    def test_a_file_of_the_same_name_is_another_image(self, tmp_path):
        white, stored = np.full((20, 20, 3), 255, np.uint8), tmp_path / "stored"
        pixels = save_images(stored, ["0.png", "1.png"])["1.png"]
        (tmp_path / "mine").mkdir()
        mine = str(tmp_path / "mine" / "1.png")
        Image.fromarray(white).save(mine)
        regions = extract(stored, tmp_path / "regions", PooledPixels(), max_regions=1).store.path
        captions = save(tmp_path / "c.jsonl", '{"file": "0.png", "captions": ["x"]}')
        for images in (str(stored), ""):
            task = Captions(train=captions, regions=str(regions), images=images)
            found = task.source(mine)
            np.testing.assert_allclose(found.features[0, :3], 1)  # colours run from -1 to 1
            assert (found.image, task.picture(found.image)) == (mine, Path(mine))
        task = Captions(train=captions, regions=str(regions), images=str(stored))
        for name in ("1.png", str(stored / "1.png"), "elsewhere/1.png"):
            found = task.source(name)
            assert found.image == "1.png"
            np.testing.assert_allclose(found.features[0, :3], pixels[0, 0] / 127.5 - 1, atol=1e-3)

    def test_captions_of_another_folder_have_no_regions(self, tmp_path):
        save_images(tmp_path / "images", [f"train/{i}.png" for i in range(3)])
        regions = extract(tmp_path / "images", tmp_path / "regions", PooledPixels()).store.path
        records = [json.dumps({"file": f"val/{i}.png", "captions": ["x"]}) for i in range(3)]
        path = save(tmp_path / "c.jsonl", "\n".join(records))
        with pytest.raises(DataError, match=r"3 of 3 images .*val/0\.png"):
            Captions(train=path, regions=str(regions)).split("train")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"regions": "r"}, r"give data\.options\.captions, .* or data\.options\.train"),
            ({"regions": "r", "captions": "c", "train": "t"}, r"give data\.options\.captions"),
            ({"regions": "r", "captions": "c", "test": "t"}, r"go with data\.options\.train"),
            ({"captions": "c"}, r"data\.options\.regions names the file"),
            ({"captions": "c", "regions": "r", "holdout": 0.0}, r"holdout must be in \(0, 1\)"),
        ],
    )
    def test_wrong_options(self, options, message):
        with pytest.raises(ConfigError, match=message):
            Captions(**options)

    def test_a_file_without_splits_is_no_file_of_splits(self, tmp_path, store):
        path = save(tmp_path / "c.jsonl", '{"file": "000000000001.jpg", "captions": ["x"]}')
        with pytest.raises(DataError, match=r"give it as data\.options\.train"):
            Captions(captions=path, regions=store).split("train")


class TestRealFiles:
    """Counts as the documentation of the shared data gives them."""

    def test_official_captions(self, tmp_path, monkeypatch):
        monkeypatch.setenv("VOI_CACHE", str(tmp_path))
        found = read_captions(shared_data("coco_captions", "captions_val2017.json.gz"))
        assert (len(found), sum(len(image.captions) for image in found)) == (5000, 25014)

    def test_thirty_thousand(self, tmp_path, monkeypatch):
        monkeypatch.setenv("VOI_CACHE", str(tmp_path))
        found = read_captions(shared_data("coco_captions", "captions_30k.tsv.gz"))
        splits = [image.split for image in found]
        assert (splits.count("train"), splits.count("valid")) == (26309, 3691)

    def test_small(self):
        found = read_captions(shared_data("coco_small", "coco_small.jsonl"))
        splits = [image.split for image in found]
        assert (splits.count("train"), splits.count("test")) == (302, 76)
        assert sorted({len(image.captions) for image in found}) == [5, 6]
