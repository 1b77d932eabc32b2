"""Files as data sets are published: parallel texts, talks, SGML or XML test sets, TMX."""

import gzip
import html
import io
import re
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from voi.errors import DataError
from voi.lines import is_packed

_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_ABOUT_A_TALK = re.compile(r"\s*</?(?:url|keywords|talkid|speaker|reviewer|translator|doc)\b[^>]*>")
_HEADING = re.compile(r"</?(?:title|description)>")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file of that name, or packed as name.gz, anywhere below a folder."""
    for ending in ("", ".[gG][zZ]"):
        found = sorted(path for path in folder.rglob(name + ending) if path.is_file())
        if len(found) > 1:
            shown = " and ".join(str(path.relative_to(folder)) for path in found[:2])
            raise DataError(f"{folder} holds {shown}: keep one, or give a folder with one of them")
        if found:
            return found[0]
    return None


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, packed or not, without their ends."""
    with _opened(path) as file:
        try:
            for number, raw in enumerate(file, 1):
                yield _decoded(raw, f"{path}: line {number}")
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} cannot be read ({error}): fetch it again") from error


def _opened(path: Path) -> io.BufferedIOBase:
    return gzip.open(path) if is_packed(path) else path.open("rb")


def _decoded(raw: bytes, place: str) -> str:
    try:
        return raw.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place} is not UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1})"
        ) from error


def segments(path: Path) -> Iterator[str]:
    """Yield the sentences of a test set in SGML or XML, or the lines of a file that is none."""
    if not _has_segments(path):
        yield from text_lines(path)
        return
    found = _SEGMENT.findall("\n".join(text_lines(path)))
    if not found:
        raise DataError(f"{path} holds no <seg>...</seg>: fetch it again")
    for segment in found:
        yield html.unescape(segment)


def _has_segments(path: Path) -> bool:
    return not {".sgm", ".xml"}.isdisjoint(path.suffixes)


def talk_lines(path: Path) -> Iterator[str]:
    """Yield what was said in the talks of IWSLT, their titles and descriptions included.

    Lines about a talk, such as <url>...</url>, are left out.
    """
    for line in text_lines(path):
        if not _ABOUT_A_TALK.match(line):
            yield _HEADING.sub("", line)


def parallel(
    source: Path, target: Path, read: Callable[[Path], Iterator[str]] = segments
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two files whose sentences go together."""
    try:
        yield from zip(read(source), read(target), strict=True)
    except ValueError as error:
        counts = [sum(1 for _ in read(path)) for path in (source, target)]
        raise DataError(
            f"{source} and {target.name} have {counts[0]} and {counts[1]} {_unit(source, read)}: "
            f"line N of one must belong to line N of the other"
        ) from error


def _unit(path: Path, read: Callable[[Path], Iterator[str]]) -> str:
    """Return what was counted in a file, which need not be all of its lines."""
    if read is talk_lines:
        return "lines without those of markup"
    return "<seg> elements" if read is segments and _has_segments(path) else "lines"


def translation_memory(path: Path, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a TMX file in two languages, such as "ro" and "en"."""
    with _opened(path) as file:
        try:
            steps = ElementTree.iterparse(file, events=("start", "end"))
            _, parent = next(steps)
            for event, element in steps:
                if event == "start" and element.tag == "body":
                    parent = element
                elif event == "end" and element.tag == "tu":
                    texts = _texts(element)
                    if source in texts and target in texts:
                        yield texts[source], texts[target]
                    parent.clear()  # what has been read need not stay in memory
        except (ElementTree.ParseError, OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} cannot be read ({error}): fetch it again") from error


def _texts(unit: ElementTree.Element) -> dict[str, str]:
    """Return the texts of a translation unit by language."""
    texts = {}
    for version in unit.iter("tuv"):
        language = version.get(_LANGUAGE) or version.get("lang") or ""
        segment = version.find("seg")
        if segment is not None:
            texts[language.lower()[:2]] = "".join(segment.itertext())
    return texts
