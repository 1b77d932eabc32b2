"""A console for long work, which goes on when the reader of its output has gone."""

import contextlib
import os
import sys
from typing import Any

from rich.console import Console

from voi.cli.console import plain_console


def lasting_console() -> Console:
    """Return a console on standard output that a closed pipe, as of `| head -1`, only silences."""
    return plain_console(_Lasting(sys.stdout))


class _Lasting:
    """A stream that drops what nobody reads, and says so once on standard error."""

    def __init__(self, stream: Any):  # a text stream
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """Let the stream lead nowhere: what it still holds must not fail when the program ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        try:
            print(
                "voi: nobody reads the output any more; training goes on, its log is metrics.jsonl "
                "in the run folder",
                file=sys.stderr,
                flush=True,
            )
        except BrokenPipeError:
            with contextlib.suppress(OSError):
                os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)
