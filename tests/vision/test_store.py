"""Stores: read by us and by safetensors alike; an interrupted one goes on; damage is found."""

import json
import os

import numpy as np
import pytest
from safetensors import safe_open

from voi.errors import DataError
from voi.vision.backbone import Found
from voi.vision.store import open_store
from voi.vision.writing import StoreWriter

SETTINGS = {"backbone": "fake", "max_regions": 3, "boxes": None}
SIZES = (2, 0, 3, 1)
NAMES = ("a.jpg", "b/c.jpg", "b/ü.jpg", "000000000139.jpg")


def found(size, seed):
    rng = np.random.default_rng(seed)
    return Found(
        rng.normal(size=(size, 5)).astype(np.float32),
        rng.random((size, 4)).astype(np.float32),
        tuple(rng.choice(["dog", "cat", ""], size).tolist()),
        rng.random(size).astype(np.float32),
    )


IMAGES = [found(size, seed) for seed, size in enumerate(SIZES)]


def written(path, broken=()):
    writer = StoreWriter(path, SETTINGS)
    writer.add(NAMES[:2], IMAGES[:2])
    writer.add(NAMES[2:], IMAGES[2:])
    return writer.finish(dict(broken))


def check(store):
    assert store.names == NAMES
    for image, regions in enumerate(IMAGES):
        rows = store.rows(image)
        np.testing.assert_array_equal(store.features[rows], regions.features.astype(np.float16))
        np.testing.assert_array_equal(store.boxes[rows], regions.boxes)
        np.testing.assert_array_equal(store.scores[rows], regions.scores)
        assert store.labels(image) == regions.labels


def test_what_is_written_is_read(tmp_path):
    store = written(tmp_path / "regions", [("z.jpg", "cut short")])
    check(store)
    assert (store.settings, store.broken) == (SETTINGS, {"z.jpg": "cut short"})
    assert isinstance(store.features, np.memmap)
    assert os.listdir(tmp_path) == ["regions"]


def test_images_are_found_by_path_its_end_and_number(tmp_path):
    store = written(tmp_path / "regions")
    assert [store.find(name) for name in ("b/c.jpg", "c.jpg", "x/b/c.jpg")] == [1, 1, 1]
    assert [store.find(name) for name in ("elsewhere/c.jpg", "d.jpg")] == [None, None]
    assert store.find("COCO_val2014_000000000139.jpg") == store.find("139") == 3


def test_safetensors_reads_the_file(tmp_path):
    written(tmp_path / "regions")
    with safe_open(tmp_path / "regions", "np") as file:
        features = np.concatenate([regions.features for regions in IMAGES])
        np.testing.assert_array_equal(file.get_tensor("features"), features.astype(np.float16))
        assert file.get_tensor("offsets").tolist() == [0, 2, 2, 5, 6]
        assert json.loads(file.metadata()["images"]) == list(NAMES)


@pytest.mark.parametrize("torn", ["features", "done"])
def test_an_interrupted_store_goes_on(tmp_path, torn):
    writer = StoreWriter(tmp_path / "regions", SETTINGS)
    writer.add(NAMES[:2], IMAGES[:2])
    file = writer.folder / ("done.jsonl" if torn == "done" else "features.bin")
    with file.open("ab") as end:  # killed in the middle of a batch
        end.write(b'{"image": "b/')
    again = StoreWriter(tmp_path / "regions", SETTINGS)
    assert again.images == {"a.jpg", "b/c.jpg"}
    again.add(NAMES[2:], IMAGES[2:])
    check(again.finish({}))
    straight = written(tmp_path / "straight")
    assert (tmp_path / "regions").read_bytes() == straight.path.read_bytes()


def test_other_settings_do_not_mix(tmp_path):
    StoreWriter(tmp_path / "regions", SETTINGS).add(NAMES[:1], IMAGES[:1])
    with pytest.raises(DataError, match=r"was begun with .*same settings, or remove"):
        StoreWriter(tmp_path / "regions", {**SETTINGS, "max_regions": 9})


def test_a_finished_store_is_not_overwritten(tmp_path):
    written(tmp_path / "regions")
    with pytest.raises(DataError, match="is there already"):
        StoreWriter(tmp_path / "regions", SETTINGS)


def test_a_lost_part_is_found(tmp_path):
    writer = StoreWriter(tmp_path / "regions", SETTINGS)
    writer.add(NAMES[:1], IMAGES[:1])
    (writer.folder / "boxes.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"boxes\.bin is cut short: remove"):
        StoreWriter(tmp_path / "regions", SETTINGS)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-1], "ends early"),
        (lambda content: b"PK" + content, "no store of regions"),
        (lambda content: b"", "no store of regions"),
        (lambda content: content.replace(b"voi-regions-1", b"voi-regions-9"), "voi-regions-9"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, damage, message):
    path = written(tmp_path / "regions").path
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=message) as raised:
        open_store(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(DataError, match="voi data regions"):
        open_store(tmp_path / "absent")


def test_a_name_that_fits_two_images_is_an_error(tmp_path):
    writer = StoreWriter(tmp_path / "regions", SETTINGS)
    writer.add(["x/a.jpg", "y/a.jpg"], IMAGES[:2])
    store = writer.finish({})
    assert store.find("y/a.jpg") == 1
    with pytest.raises(DataError, match=r"a\.jpg could be x/a\.jpg or y/a\.jpg"):
        store.find("a.jpg")
