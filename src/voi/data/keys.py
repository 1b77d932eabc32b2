"""Keys of examples: 8 bytes by which equal texts are found among millions without holding them."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import UInt64

from voi.data.example import Example, Source

_SIZE = 8


def text_key(text: str) -> bytes:
    """Return a key that is the same for the same words, and else differs almost surely."""
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=_SIZE).digest()


def source_key(example: Example) -> bytes:
    """Return a key of the source; of the target where there is no source."""
    if example.source is None:
        return text_key(example.target)
    return hashlib.blake2b(_content(example.source), digest_size=_SIZE).digest()


def pair_key(example: Example) -> bytes:
    """Return a key of source and target together."""
    digest = hashlib.blake2b(" ".join(example.target.split()).encode(), digest_size=_SIZE)
    digest.update(b"\0")
    digest.update(_content(example.source))
    return digest.digest()


def keys_of(
    examples: Sequence[Example], key: Callable[[Example], bytes]
) -> UInt64[np.ndarray, " examples"]:
    """Return the keys of all examples; nothing else of them is kept."""
    found = bytearray()
    for index in range(len(examples)):
        found += key(examples[index])
    return np.frombuffer(bytes(found), np.uint64)


def _content(source: Source) -> bytes:
    if source is None:
        return b""
    if isinstance(source, str):
        return " ".join(source.split()).encode()
    return np.ascontiguousarray(source.features).tobytes()
