"""Means over boxes, against sums over single pixels and hand computation."""

import numpy as np
import pytest

from voi.vision.pooled import PooledPixels, box_means, grid_boxes


def test_means_of_cells_that_are_whole_pixels():
    values = np.arange(24.0).reshape(4, 6, 1)
    found = box_means(values, np.array([[0, 0, 1, 1], [1 / 3, 0.5, 1, 1]], np.float64), 2)
    whole = [[values[r : r + 2, c : c + 3].mean() for c in (0, 3)] for r in (0, 2)]
    part = [[values[r, c : c + 2].mean() for c in (2, 4)] for r in (2, 3)]
    np.testing.assert_allclose(found[..., 0], [whole, part], atol=1e-9)


def test_parts_of_pixels_count_by_their_area():
    values = np.array([[[0.0], [10.0]]])  # one row, two columns
    boxes = np.array([[0.25, 0, 1, 1], [0.4, 0.2, 0.6, 0.9], [0.6, 0, 0.7, 0.1]])
    expected = [10 * 0.5 / 0.75, 5, 10]
    np.testing.assert_allclose(box_means(values, boxes, 1)[:, 0, 0, 0], expected, atol=1e-9)


def test_a_vector_is_cells_then_mean_then_deviation():
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[:2, :, 0] = 255  # the upper half is red
    (found,) = PooledPixels(grid=2).describe([pixels], [np.array([[0, 0, 1, 1]], np.float32)])
    red, black = [1, -1, -1], [-1, -1, -1]
    expected = [*red, *red, *black, *black, 0, -1, -1, 1, 0, 0]
    np.testing.assert_allclose(found, [expected], atol=1e-6)
    assert found.shape == (1, PooledPixels(grid=2).width)


def test_images_do_not_see_each_other():
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (h, 9, 3)).astype(np.uint8) for h in (5, 7)]
    boxes = [grid_boxes(5), grid_boxes(2)]
    together = PooledPixels().describe(images, boxes)
    alone = [PooledPixels().describe([i], [b])[0] for i, b in zip(images, boxes, strict=True)]
    assert all(np.array_equal(a, b) for a, b in zip(together, alone, strict=True))


@pytest.mark.parametrize("number", [1, 7, 36])
def test_the_grid_covers_the_image(number):
    boxes = grid_boxes(number)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    assert len(boxes) == min(number, 1 + 4 + 9 + 16)
    assert areas[0] == 1
    assert (np.diff(areas) <= 1e-6).all()
