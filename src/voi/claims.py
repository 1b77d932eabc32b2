"""Work that several processes share: whoever is at a file has it for itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def alone(path: Path, is_waiting: bool = True) -> Iterator[bool]:
    """Yield whether no other process is at a path; wait until it is so, if told to.

    The lock falls with its process. Its file stays where the path was not made, as others may be
    waiting for it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=-1 if is_waiting else 0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    except NotImplementedError:  # a file system without locks
        yield True
        return
    try:
        yield True
    finally:
        if path.exists():
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
