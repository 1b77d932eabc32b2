"""Names of images: what counts as the same image, and what never does."""

import pytest

from voi.errors import DataError
from voi.vision.names import NameIndex


@pytest.mark.parametrize(
    ("name", "other", "is_same"),
    [
        ("a/1.jpg", "a/1.jpg", True),
        ("1.jpg", "a/1.jpg", True),
        ("images/a/1.jpg", "a/1.jpg", True),
        ("./a/1.jpg", "a/1.jpg", True),
        ("b/1.jpg", "a/1.jpg", False),
        ("a/11.jpg", "1.jpg", False),
        ("xa/1.jpg", "a/1.jpg", False),
        ("a/1.png", "a/1.jpg", False),
        ("b/0001.jpg", "a/1.jpg", False),  # numbers of COCO have twelve digits
        ("b/1.png", "a/000000000001.jpg", False),
        ("train2017/000000000139.jpg", "val2014/COCO_val2014_000000000139.jpg", True),
        ("139", "val2014/COCO_val2014_000000000139.jpg", True),
        ("000000000139", "000000000139.jpg", True),
        ("139", "000000001390.jpg", False),
    ],
)
def test_which_names_are_those_of_one_image(name, other, is_same):
    assert NameIndex([other])[name] == NameIndex([name])[other] == (0 if is_same else None)


def test_the_very_path_goes_before_its_end():
    index = NameIndex(["1.jpg", "a/1.jpg"])
    assert (index["1.jpg"], index["a/1.jpg"]) == (0, 1)
    with pytest.raises(DataError, match=r"x/a/1\.jpg could be 1\.jpg or a/1\.jpg"):
        index["x/a/1.jpg"]
