"""Regions found by torchvision's Faster R-CNN with a ResNet-50 FPN backbone, trained on COCO."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from voi.errors import DataError, MissingExtraError
from voi.extras import load_extra
from voi.vision.backbone import Boxes, Features, Found, Pixels

NUM_CLASSES = 91  # of COCO's numbering, background and unused numbers included


class FasterRCNN:
    """Boxes above a score of 0.05, each described by the 1024 outputs of the box head.

    The box head sees a detection once more after its box was refined, so that the vector belongs
    to the box that is stored. Relative to the paper's code: there the vector is that of the
    proposal the detection came from.
    """

    name = "faster-rcnn"
    width = 1024

    def __init__(self, weights: Path | None = None, device: str = "cpu") -> None:
        detection = detection_module()
        published = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1
        self.categories: Sequence[str] = published.meta["categories"]
        self.device = device
        self.weights: Path | None = weights or _cached(published.url)
        self.network = _network(detection)
        _load(self.network, self.weights)
        self.network.to(device).eval()

    def detect(self, images: Sequence[Pixels], max_regions: int) -> list[Found]:
        """Return the likeliest regions of each image."""
        with torch.no_grad():
            self.network.roi_heads.detections_per_img = max_regions
            scaled, maps = self._maps(images)
            proposals, _ = self.network.rpn(scaled, maps)
            detections, _ = self.network.roi_heads(maps, proposals, scaled.image_sizes)
            features = self._head(maps, [d["boxes"] for d in detections], scaled.image_sizes)
        return [
            self._found(*one) for one in zip(features, detections, scaled.image_sizes, strict=True)
        ]

    def describe(self, images: Sequence[Pixels], boxes: Sequence[Boxes]) -> list[Features]:
        """Return the box head's outputs for boxes that are given."""
        with torch.no_grad():
            scaled, maps = self._maps(images)
            placed = [
                torch.from_numpy(shares).float().to(self.device) * self._scale(size)
                for shares, size in zip(boxes, scaled.image_sizes, strict=True)
            ]
            return [x.cpu().numpy() for x in self._head(maps, placed, scaled.image_sizes)]

    def _maps(self, images: Sequence[Pixels]) -> tuple[Any, dict[str, Tensor]]:
        """Return the images in the network's own size, and their feature maps."""
        tensors = [torch.from_numpy(x).to(self.device).permute(2, 0, 1) / 255 for x in images]
        scaled, _ = self.network.transform(tensors)
        return scaled, self.network.backbone(scaled.tensors)

    def _head(
        self, maps: dict[str, Tensor], boxes: list[Tensor], sizes: list[tuple[int, int]]
    ) -> Sequence[Tensor]:
        heads = self.network.roi_heads
        features = heads.box_head(heads.box_roi_pool(maps, boxes, sizes))  # [all boxes, 1024]
        return features.split([len(each) for each in boxes])

    def _scale(self, size: tuple[int, int]) -> Tensor:
        height, width = size
        return torch.tensor([width, height, width, height], device=self.device)

    def _found(self, features: Tensor, detected: dict[str, Tensor], size: tuple[int, int]) -> Found:
        shares = (detected["boxes"] / self._scale(size)).clamp(0, 1)
        return Found(
            features=features.cpu().numpy(),
            boxes=shares.cpu().numpy().astype(np.float32),
            labels=tuple(self.categories[i] for i in detected["labels"].tolist()),
            scores=detected["scores"].cpu().numpy(),
        )


def detection_module() -> Any:
    """Return torchvision's detection models, if its compiled operators can be loaded."""
    purpose = "the backbone faster-rcnn"
    try:
        load_extra("torchvision", "detector", purpose)
        has_operators = hasattr(torch.ops.torchvision, "nms")
    except (RuntimeError, OSError):  # newer versions cannot even be imported without them
        has_operators = False
    if not has_operators:
        raise MissingExtraError(
            f"{purpose} needs torchvision's compiled operators, which do not load beside torch "
            f"{torch.__version__}: install the torchvision built for it, or give --boxes and "
            f"--backbone pooled"
        )
    return load_extra("torchvision.models.detection", "detector", purpose)


def _cached(url: str) -> Path:
    """Return the weights in torchvision's cache; nothing is downloaded."""
    path = Path(torch.hub.get_dir()) / "checkpoints" / url.rpartition("/")[2]
    if not path.is_file():
        raise DataError(
            f"no weights of Faster R-CNN: expected {path}: put {url} there, or give the file with "
            f"--weights"
        )
    return path


def _network(detection: Any) -> Any:
    backbone = detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet50", weights=None, trainable_layers=0
    )
    return detection.FasterRCNN(backbone, num_classes=NUM_CLASSES)


def _load(network: Any, path: Path) -> None:
    if not path.is_file():
        raise DataError(f"no file {path}: give --weights the path of Faster R-CNN's weights")
    try:
        is_plain = path.suffix == ".safetensors"
        weights = load_file(path) if is_plain else torch.load(path, "cpu", weights_only=True)
        network.load_state_dict(weights)
    except Exception as error:
        reason = " ".join(str(error).split())[:120]
        raise DataError(
            f"{path} does not hold weights of fasterrcnn_resnet50_fpn ({reason}): give the file "
            f"that torchvision publishes"
        ) from error
    for module in network.modules():
        if type(module).__name__ == "FrozenBatchNorm2d":
            module.eps = 0.0  # as when the published weights were trained
