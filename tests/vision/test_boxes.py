"""Given boxes, in COCO's format and as JSON lines."""

import json

import numpy as np
import pytest

from voi.errors import DataError
from voi.vision.boxes import GivenBoxes

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
        ("x.jsonl", '{"file": "a.jpg", "boxes": []}\n{"boxes": []}\n', "line 2: KeyError 'file'"),
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
