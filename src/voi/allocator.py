"""Memory that is used again: large tensors of one step are those of the next.

The C library returns large blocks to the system when they are freed. The next step gets them anew,
page by page and zeroed, which takes up to a sixth of a step with large tensors.
"""

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # malloc.h


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees; return whether the C library does (glibc).

    What a user says by environment variables of malloc is left alone.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_TRIM_THRESHOLD, -1)) and bool(mallopt(_MMAP_MAX, 0))
