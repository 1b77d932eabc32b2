"""Safetensors files written one tensor at a time, as `safetensors` itself would write them.

A tensor that processes hold in parts is gathered when its turn comes, so no process ever holds more
than one of them whole.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from voi.tensor_header import tensor_header
from voi.world import whole

_NAMES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}  # in the order that tensors have in a file


def save_file(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors by name; the other processes, if they hold parts, call `gather_all`."""
    names = _in_order(tensors)
    shapes = {name: (_NAMES[tensors[name].dtype], tensors[name].shape) for name in names}
    with path.open("wb") as file:
        file.write(tensor_header(shapes))
        for name in names:
            x = whole(tensors[name]).detach().cpu().contiguous()
            file.write(x.flatten().view(torch.uint8).numpy().data)


def gather_all(tensors: Mapping[str, Tensor]) -> None:
    """Give the process that writes the tensors the parts that this one holds."""
    for name in _in_order(tensors):
        whole(tensors[name])


def _in_order(tensors: Mapping[str, Tensor]) -> list[str]:
    kinds = list(_NAMES)
    return sorted(tensors, key=lambda name: (kinds.index(tensors[name].dtype), name.encode()))
