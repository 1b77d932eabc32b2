"""What a process that trains is set to, for speed."""

import ctypes
import os
import sys

import torch

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # malloc.h


def tune_for_training() -> None:
    """Keep freed memory, and take numbers too small for float32's full precision (1.2e-38) as 0.

    Gradients of what is learned already are that small, and processors that compute with them
    beside the fast path take up to 1.5 times as long for a step. To be called before torch starts
    its threads: they take the setting over.
    """
    keep_freed_memory()
    torch.set_flush_denormal(True)


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees; return whether the C library does (glibc).

    Otherwise large blocks are returned to the system when they are freed. The next step gets them
    anew, page by page and zeroed, which takes up to a sixth of a step with large tensors. What a
    user says by environment variables of malloc is left alone.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_TRIM_THRESHOLD, -1)) and bool(mallopt(_MMAP_MAX, 0))
