"""Our writer and that of safetensors make the same files."""

import safetensors.torch
import torch

from voi.tensor_file import save_file


def test_the_same_bytes_as_safetensors(tmp_path):
    kinds = [torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.uint8, torch.float16]
    shapes = {"weight": (3, 2), "a ä \"": (5,), "step": (), "none": (0, 4)}  # fmt: skip
    tensors = {
        f"{name}.{number}": (torch.randn(shape) * 9).to(kind)
        for number, kind in enumerate([*kinds, torch.float64, torch.int32])
        for name, shape in shapes.items()
    }
    save_file(tensors, tmp_path / "ours")
    safetensors.torch.save_file(tensors, tmp_path / "theirs")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_what_lies_scattered_in_memory_is_written_in_order(tmp_path):
    x = torch.arange(6.0).view(2, 3).t()
    save_file({"x": x}, tmp_path / "file")
    assert safetensors.torch.load_file(tmp_path / "file")["x"].equal(x)
