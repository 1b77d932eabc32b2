"""Image files: which there are in a folder, and their pixels."""

from pathlib import Path

import numpy as np

from voi.errors import DataError
from voi.extras import load_extra
from voi.vision.backbone import Pixels

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def image_names(folder: Path) -> list[str]:
    """Return the image files below a folder, sorted, as paths relative to it."""
    if not folder.is_dir():
        raise DataError(f"expected a folder of images, got {folder}: give an existing folder")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    names = sorted(path.relative_to(folder).as_posix() for path in found if path.is_file())
    if not names:
        raise DataError(f"no images below {folder}: expected files that end in {SUFFIXES}")
    return names


def read_image(path: Path) -> Pixels:
    """Return the pixels of a file in red, green and blue; a broken file is a DataError."""
    image = load_extra("PIL.Image", "vision", "reading images")
    try:
        with image.open(path) as opened:
            return np.array(opened.convert("RGB"))
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        raise DataError(f"{path} cannot be read as an image ({error}): replace it") from error


def resized(pixels: Pixels, width: int, height: int) -> Pixels:
    """Return the image in another size, smoothed where it shrinks."""
    image = load_extra("PIL.Image", "vision", "resizing images")
    scaled = image.fromarray(pixels).resize((width, height), image.Resampling.BILINEAR)
    return np.array(scaled)
