"""What a file is that is no UTF-8 text, told by how it starts."""

from collections.abc import Mapping

START = 1024  # bytes that tell
_MARKS: Mapping[bytes, str] = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_PACKED: Mapping[bytes, str] = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh91AY&SY": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_OFTEN = 0.1  # letters beyond Latin have no zero byte in UTF-16, the spaces between words do
_NEARLY_ALL = 0.9
_LEAST = 4  # zeros: a text may hold one


def encoding_of(start: bytes) -> str | None:
    """Return the encoding of a text in wide letters, by its mark or by where its zeros are.

    >>> encoding_of("ein Wort".encode("utf-16-le"))
    'UTF-16LE'
    """
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return name
    if start.count(0, 0, START) < _LEAST:
        return None
    zeros = [_share_of_zeros(start[place:START:4]) for place in range(4)]
    if min(zeros[2:]) > _NEARLY_ALL or min(zeros[:2]) > _NEARLY_ALL:
        return "UTF-32LE" if zeros[3] > zeros[0] else "UTF-32BE"
    first, second = (_share_of_zeros(start[place:START:2]) for place in range(2))
    if max(first, second) > _OFTEN >= min(first, second):
        return "UTF-16LE" if second > first else "UTF-16BE"
    return None


def _share_of_zeros(part: bytes) -> float:
    return part.count(0) / max(len(part), 1)


def packing_of(start: bytes) -> str | None:
    """Return how a file is packed.

    >>> packing_of(b"PK\\x03\\x04 and so on")
    'zip'
    """
    return next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
