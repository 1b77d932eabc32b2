"""Image files and a detector for tests."""

from pathlib import Path

import numpy as np
from PIL import Image

from voi.vision.backbone import Found


def save_images(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Write an image of one colour per name and return their pixels."""
    made = {}
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        made[name] = np.full((6 + number, 8, 3), 20 * number, np.uint8)
        Image.fromarray(made[name]).save(path)
    return made


class FakeDetector:
    """Finds as many regions as the image has rows above 5, described by its size and colour."""

    name = "fake"
    weights = None

    def __init__(self, stop_after: int = 10**9):
        self.stop_after = stop_after  # batches before it is interrupted
        self.batches: list[int] = []

    def detect(self, images, max_regions):
        if len(self.batches) == self.stop_after:
            raise KeyboardInterrupt
        self.batches.append(len(images))
        return [self._found(pixels, min(len(pixels) - 5, max_regions)) for pixels in images]

    def describe(self, images, boxes):
        pairs = zip(images, boxes, strict=True)
        return [self._features(pixels, len(each)) for pixels, each in pairs]

    def _features(self, pixels, size):
        return np.tile(np.array([len(pixels), pixels.mean()], np.float32), (size, 1))

    def _found(self, pixels, size):
        boxes = np.tile(np.array([0, 0, 0.5, 1], np.float32), (size, 1))
        labels = tuple(f"thing {i}" for i in range(size))
        return Found(self._features(pixels, size), boxes, labels, np.ones(size, np.float32))
