"""Files from the network: resumed after an interruption, checked, and there whole or not at all."""

import hashlib
import http.client
import os
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from voi.errors import DataError
from voi.progress import Told, untold

_BLOCK = 1 << 18  # bytes
_ARCHIVES = (".tgz", ".tar.gz", ".zip")


@dataclass(frozen=True)
class Download:
    """A file and where it is published."""

    name: str  # of the file here
    address: str
    sha256: str | None = None  # None: no checksum is known, and none is checked


@dataclass(frozen=True)
class Fetched:
    """A file that is here now."""

    path: Path
    num_bytes: int
    sha256: str
    is_checked: bool  # False: no checksum was known
    was_there: bool  # nothing was transferred


def fetch(item: Download, folder: Path, told: Told = untold, timeout: float = 60.0) -> Fetched:
    """Return the file, transferred if it is not there yet; `told` hears its name and its bytes.

    What an interrupted transfer left behind (NAME.part) is continued, unless the server says that
    the file has changed since. A file with a wrong checksum is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, part = folder / item.name, folder / f"{item.name}.part"
    was_there = path.is_file()
    if not was_there:
        _receive(item, part, told, timeout)
    received = path if was_there else part
    found = _sha256(received)
    if item.sha256 not in (None, found):
        if not was_there:
            part.unlink()
            _tag_file(part).unlink(missing_ok=True)
        what = f"remove {path}" if was_there else "it was removed: look at the address"
        raise DataError(
            f"{item.name} from {item.address} has the SHA-256 checksum {found}, expected "
            f"{item.sha256}: {what} and try again, or fetch it by hand into {folder}"
        )
    if not was_there:
        os.replace(part, path)
        _tag_file(part).unlink(missing_ok=True)
    return Fetched(path, path.stat().st_size, found, item.sha256 is not None, was_there)


def _tag_file(part: Path) -> Path:
    return part.with_name(part.name + ".tag")  # the server's name for this version of the file


def _receive(item: Download, part: Path, told: Told, timeout: float) -> None:
    """Transfer what is missing of a file."""
    start = part.stat().st_size if part.is_file() else 0
    done, total = start, None
    try:
        with urllib.request.urlopen(_request(item, part, start), timeout=timeout) as response:
            if start and not _continues(response, start):
                done = 0
            if not done:
                _tag_file(part).write_text(_tag(response), encoding="utf-8")
            length = response.headers.get("Content-Length")
            total = done + int(length) if length else None
            with part.open("ab" if done else "wb") as file:
                while block := response.read(_BLOCK):
                    file.write(block)
                    done += len(block)
                    told(item.name, done, total)
                file.flush()
                os.fsync(file.fileno())
    except urllib.error.HTTPError as error:
        error.close()  # an answer too: its socket is open until then
        if error.code == 416 and start:
            if _size(error) != start:  # the file has changed: once more, from its start
                part.unlink()
                _receive(item, part, told, timeout)
            return
        raise DataError(
            f"{item.address} answered {error.code} {error.reason}: the address may have changed; "
            f"fetch {item.name} by hand into {part.parent}"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise _interrupted(item, done, total, str(error)) from error
    if total is not None and done < total:
        raise _interrupted(item, done, total, "the connection was closed")


def _request(item: Download, part: Path, start: int) -> urllib.request.Request:
    headers = {"User-Agent": "voi"}
    if start:
        headers["Range"] = f"bytes={start}-"
        tag = _tag_file(part)
        if tag.is_file() and (text := tag.read_text(encoding="utf-8")):
            headers["If-Range"] = text
    return urllib.request.Request(item.address, headers=headers)


def _continues(response: http.client.HTTPResponse, start: int) -> bool:
    """Return whether the answer goes on where the part ends, instead of starting anew."""
    sent = response.headers.get("Content-Range") or ""
    return response.status == 206 and sent.startswith(f"bytes {start}-")


def _tag(response: http.client.HTTPResponse) -> str:
    """Return what the server calls this version of the file; weak tags cannot be continued."""
    tag = response.headers.get("ETag") or ""
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified") or ""


def _size(error: urllib.error.HTTPError) -> int | None:
    """Return the size of the whole file that a server names when a range is beyond its end."""
    text = (error.headers.get("Content-Range") or "").rpartition("/")[2]
    return int(text) if text.isdigit() else None


def _interrupted(item: Download, done: int, total: int | None, reason: str) -> DataError:
    if not done:
        return DataError(
            f"{item.name}: nothing came from {item.address} ({reason}): look at the network, then "
            f"run the same command again"
        )
    size = f"{done:,} of {total:,} bytes" if total is not None else f"{done:,} bytes"
    return DataError(
        f"{item.name} from {item.address} was interrupted after {size} ({reason}): run the same "
        f"command again to go on from there"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(path: Path) -> Path | None:
    """Return the folder beside an archive that holds its files; None if it is no archive."""
    ending = next((ending for ending in _ARCHIVES if path.name.endswith(ending)), "")
    if not ending:
        return None
    folder = path.with_name(path.name.removesuffix(ending))
    if folder.is_dir():
        return folder
    draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{folder.name}."))
    try:
        if ending == ".zip":
            with zipfile.ZipFile(path) as zipped:
                zipped.extractall(draft)
        else:
            with tarfile.open(path) as packed:
                packed.extractall(draft, filter="data")
        draft.chmod(0o755)
        os.replace(draft, folder)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{path} cannot be unpacked ({error}): remove it and fetch it again"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder
