"""The processes that train one run together, as `torchrun` starts them; alone there is one."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from voi.errors import VoiError

_BUCKET = 2**24  # gradient entries that are sent together


class LostProcessError(VoiError):
    """Another process of the run has gone."""


@dataclass(frozen=True)
class World:
    """Which of the processes this one is, and what they tell each other."""

    rank: int = 0
    size: int = 1

    @staticmethod
    def join(device: str = "cpu") -> "World":
        """Return the world that `torchrun` made, or a world of one."""
        if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
            return World()
        if not dist.is_initialized():
            is_cuda = device.startswith("cuda")
            dist.init_process_group("cpu:gloo,cuda:nccl" if is_cuda else "gloo")
        return World(dist.get_rank(), dist.get_world_size())

    def leave(self) -> None:
        """Part from the other processes, if there are any."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()

    @property
    def is_main(self) -> bool:
        """Does this process write the files and speak?"""
        return self.rank == 0

    def own_device(self, device: str) -> str:
        """Return the device of this process: the n-th process of a machine has the n-th GPU."""
        if self.size > 1 and device == "cuda":
            return f"cuda:{os.environ.get('LOCAL_RANK', self.rank)}"
        return device

    def wait(self) -> None:
        """Return when all processes have come here."""
        if self.size > 1:
            self.total([0.0])

    def total(
        self, values: Sequence[float | int], device: torch.device | str = "cpu"
    ) -> list[float]:
        """Return the sums of some numbers over all processes."""
        if self.size == 1:
            return [float(value) for value in values]
        sums = torch.tensor(values, dtype=torch.float64, device=device)
        self._reduce(sums)
        return sums.tolist()

    def add_gradients(self, parameters: Iterable[Tensor], share: float) -> None:
        """Replace gradients by their sum over all processes, times `share`.

        Gradients that processes hold in parts were added up in the backward pass.
        """
        if self.size == 1:
            return
        bucket: list[Tensor] = []
        own = [p for p in parameters if not is_divided(p)]
        for grad in [p.grad for p in own if p.grad is not None]:
            bucket.append(grad)
            if sum(g.numel() for g in bucket) >= _BUCKET:
                self._add(bucket, share)
                bucket = []
        if bucket:
            self._add(bucket, share)

    def _add(self, grads: list[Tensor], share: float) -> None:
        flat = torch.cat([grad.flatten() for grad in grads])
        self._reduce(flat)
        parts = (flat * share).split([grad.numel() for grad in grads])
        for grad, part in zip(grads, parts, strict=True):
            grad.copy_(part.view_as(grad))

    def gather(self, x: Tensor) -> Tensor:
        """Return the tensors of all processes, one after the other along the first dimension."""
        if self.size == 1:
            return x
        found = [torch.empty_like(x) for _ in range(self.size)]
        with _others():
            dist.all_gather(found, x.contiguous())
        return torch.cat(found)

    def _reduce(self, x: Tensor) -> None:
        with _others():
            dist.all_reduce(x)


def is_divided(x: Tensor) -> bool:
    """Does each process hold a part of the tensor only?"""
    return hasattr(x, "full_tensor")  # a DTensor, whose import costs half a second


def whole(x: Tensor) -> Tensor:
    """Return a tensor with the parts that all processes hold; all of them must call this."""
    if not is_divided(x):
        return x
    with _others():
        return x.full_tensor()  # type: ignore[attr-defined]


def part(x: Tensor, like: Tensor) -> Tensor:
    """Return this process's part of a whole tensor, divided as another of its shape is."""
    if not is_divided(like) or x.shape != like.shape:
        return x
    from torch.distributed.tensor import distribute_tensor

    mesh, placements = like.device_mesh, like.placements  # type: ignore[attr-defined]
    return distribute_tensor(x.to(like.device), mesh, placements, src_data_rank=None)


@contextmanager
def _others() -> Iterator[None]:
    """Turn a failed collective into LostProcessError."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise LostProcessError(
            f"another process of this run has gone ({reason}): start the same command again with "
            f"--resume RUN in place of the task"
        ) from error
