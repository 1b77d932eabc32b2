"""Given boxes, in COCO's format and as JSON lines."""

import gzip
import json

import numpy as np
import pytest

from small_pictures import save_images
from voi.errors import DataError
from voi.vision.boxes import GivenBoxes
from voi.vision.extract import extract
from voi.vision.pooled import PooledPixels

COCO = {
    "images": [
        {"id": 7, "file_name": "a.jpg", "width": 100, "height": 50},
        {"id": 8, "file_name": "b.jpg", "width": 100, "height": 50},
    ],
    "annotations": [
        {"image_id": 7, "bbox": [10, 10, 20, 10], "category_id": 3, "iscrowd": 0},
        {"image_id": 7, "bbox": [50, 0, 80, 50], "category_id": 1, "iscrowd": 0},
        {"image_id": 7, "bbox": [0, 0, 90, 50], "category_id": 1, "iscrowd": 1},
        {"image_id": 7, "bbox": [0, 0, 0, 50], "category_id": 1, "iscrowd": 0},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 3, "name": "car"}],
}
LINES = [
    {
        "file": "images/a.jpg",
        "width": 100,
        "height": 50,
        "boxes": [
            {"bbox": [10, 10, 20, 10], "category": "car"},
            {"bbox": [50, 0, 80, 50], "category": "person"},
            {"bbox": [0, 0, 90, 50], "category": "person", "iscrowd": 1},
        ],
    },
    {"file": "images/b.jpg", "boxes": None},
    {"file": "images/c.jpg", "boxes": [[1, 1, 2, 2]]},
]


def of_lines(folder, lines=LINES):
    path = folder / "boxes.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return GivenBoxes(path)


def of_coco(folder):
    path = folder / "boxes.json"
    path.write_text(json.dumps(COCO))
    return GivenBoxes(path)


@pytest.mark.parametrize("given", [of_coco, of_lines])
def test_shares_largest_first_without_crowds(tmp_path, given):
    found = given(tmp_path).of("a.jpg", 200, 100)  # the image at hand is twice as large
    assert found.labels == ("person", "car")
    np.testing.assert_allclose(found.boxes, [[0.5, 0, 1, 1], [0.1, 0.2, 0.3, 0.4]], atol=1e-6)
    assert found.first(1).labels == ("person",)


@pytest.mark.parametrize("given", [of_coco, of_lines])
def test_images_without_boxes(tmp_path, given):
    boxes = given(tmp_path)
    assert boxes.of("b.jpg", 100, 50) is None
    assert boxes.of("unheard-of.jpg", 100, 50) is None


def test_a_file_may_be_packed_and_start_with_a_mark(tmp_path, monkeypatch):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))
    record = {"file": "a.jpg", "boxes": [[0, 0, 1, 2]]}
    texts = {"lines.jsonl": json.dumps(record), "coco.json": json.dumps(COCO)}
    for name, text in texts.items():
        marked = b"\xef\xbb\xbf" + text.encode()
        (tmp_path / name).write_bytes(marked)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(marked))
        (tmp_path / f"plain-{name}").write_text(text)
        plain = GivenBoxes(tmp_path / f"plain-{name}").of("a.jpg", 100, 50)
        for given in (name, f"{name}.gz"):
            found = GivenBoxes(tmp_path / given).of("a.jpg", 100, 50)
            np.testing.assert_array_equal(found.boxes, plain.boxes)
            assert found.labels == plain.labels


def test_a_category_that_is_unknown_has_no_name(tmp_path):
    boxes = [{"bbox": [1, 1, 5, 5], "category": None}, {"bbox": [1, 1, 6, 5], "category": "x"}]
    lines = tmp_path / "boxes.jsonl"
    lines.write_text(json.dumps({"file": "a.png", "boxes": boxes}))
    save_images(tmp_path / "images", ["a.png"])
    store = extract(tmp_path / "images", tmp_path / "out", PooledPixels(), lines).store
    assert store.labels(0) == ("x", "")


def test_boxes_have_an_area_as_they_are_stored(tmp_path):
    """Some have one in double precision alone: none of their features would be a number."""
    boxes = [[19.9999999, 1, 5, 5], [3, 3, 1e-9, 1], [0, 0, 1e-30, 1e-30], [2, 2, 4, 4]]
    found = of_lines(tmp_path, [{"file": "a.jpg", "boxes": boxes}]).of("a.jpg", 20, 20)
    np.testing.assert_allclose(found.boxes, [[0.1, 0.1, 0.3, 0.3]])
    assert found.boxes.dtype == np.float32


def test_boxes_of_another_folder_are_those_of_another_image(tmp_path):
    boxes = of_lines(tmp_path, [{"file": "a/1.jpg", "boxes": [[0, 0, 2, 2]]}])
    assert boxes.of("b/1.jpg", 4, 4) is None
    assert boxes.of("1.jpg", 4, 4) is not None


def test_without_a_size_boxes_are_those_of_the_image_at_hand(tmp_path):
    found = of_lines(tmp_path).of("c.jpg", 4, 8)
    np.testing.assert_allclose(found.boxes, [[0.25, 0.125, 0.75, 0.375]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "{", "not what --boxes takes"),
        ("x.json", "{}", "annotations"),
        ("x.jsonl", '{"file": "a.jpg", "boxes": []}\n{"boxes": []}\n', "line 2: no key 'file'"),
        ("x.jsonl", '{"file": 3, "boxes": []}\n', "line 1: .*named by a text, got 3"),
        ("x.jsonl", '{"file": "a", "boxes": [{"bbox": [1, 1, 1, 1], "category": 5}]}', "got 5"),
        ("x.jsonl", '{"file": "a", "width": 0, "height": 3, "boxes": []}', "above 0, got 0 and 3"),
        ("x.jsonl", f'{{"file": "a", "boxes": [[0, 0, 1, 1{"0" * 400}]]}}', "line 1: .*too large"),
        ("x.jsonl", "[" * 10**5, "line 1: .*nested too deeply"),
        ("x.json", "[]", "not what --boxes takes"),
        ("x.json", '{"categories": [{"id": 1, "name": 2}]}', "named by a text, got 2"),
        ("x.jsonl", '{"file": "a.jpg", "boxes": [[1, 2, 3]]}\n', "line 1: .*left, top, width"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message) as raised:
        GivenBoxes(tmp_path / name)
    assert "\n" not in str(raised.value)
    with pytest.raises(DataError, match="no file"):
        GivenBoxes(tmp_path / "absent.json")
