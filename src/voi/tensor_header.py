"""The header of a safetensors file, for tensors that are written behind it one by one."""

import json
import math
from collections.abc import Mapping, Sequence

_BYTES = {"I64": 8, "F64": 8, "F32": 4, "I32": 4, "BF16": 2, "F16": 2, "U8": 1, "BOOL": 1}


def tensor_header(
    tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return the header for tensors in their order, each given by its type and its shape.

    It is filled up so that the data is aligned.

    >>> tensor_header({"x": ("F32", [2, 3])})[8:]
    b'{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}       '
    """
    table: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    end = 0
    for name, (kind, shape) in tensors.items():
        start, end = end, end + math.prod(shape) * _BYTES[kind]
        table[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
