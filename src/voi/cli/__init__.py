"""The command line: one file per command; each parses, calls one function below, and prints."""

import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import Any, TextIO

from voi.errors import ConfigError, DataWarning, VoiError

_INTERRUPTED = 130


def main() -> None:
    """Run a command; what a user can mend is one line on stderr and exit code 2."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    is_debug = len(arguments) < len(sys.argv) - 1
    _set_encodings()
    _say_warnings()
    sys.path.append(str(Path.cwd()))  # a user's module:function is found where voi is called
    try:
        code = _call(arguments)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        line = _in_one_line(error, arguments)
        if is_debug or line is None:
            raise
        if line:
            print(f"voi: {line}", file=sys.stderr)
        sys.exit(2)
    if code == _INTERRUPTED:
        print("voi: interrupted", file=sys.stderr)
    sys.exit(code)


def _set_encodings() -> None:
    """Write files and pipes as UTF-8, like what is read; escape what a terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _say_warnings() -> None:
    """Print each warning about data as one line on stderr; others as Python does."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, DataWarning):
            print(f"voi: {message}", file=sys.stderr)
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.simplefilter("always", DataWarning)
    warnings.showwarning = show


def _call(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; libraries are loaded here, where Ctrl-C is heard."""
    import typer

    import voi.cli.bench
    import voi.cli.bench_django
    import voi.cli.bench_orders
    import voi.cli.bench_recovery
    import voi.cli.data
    import voi.cli.distill
    import voi.cli.evaluate
    import voi.cli.generate
    import voi.cli.orders
    import voi.cli.regions
    import voi.cli.serve
    import voi.cli.show
    import voi.cli.tagger
    import voi.cli.train  # noqa: F401
    from voi.cli.app import app

    _check_repeated(arguments)
    try:
        return int(app(arguments, prog_name="voi", standalone_mode=False) or 0)
    except typer.Abort:
        return _INTERRUPTED
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer makes an exit code 1 of it
            raise error.__context__ from None
        raise


def _in_one_line(error: Exception, arguments: Sequence[str]) -> str | None:
    """Return what to tell a user about an error; None if it is a fault of the program."""
    if isinstance(error, VoiError):
        return " ".join(str(error).splitlines())
    if hasattr(error, "format_message"):  # an option or argument that typer does not take
        text = str(error.format_message()).strip().rstrip(".")
        help_of = f"{_command(arguments)} --help"
        return f"{text}: see {help_of}" if text else ""  # the help itself was shown
    if isinstance(error, OSError):
        name = f" {error.filename}" if error.filename else ""
        reason = error.strerror or str(error)
        return f"cannot read or write{name}: {reason}; check the path, its rights and free space"
    if isinstance(error, MemoryError) or "allocate memory" in str(error):
        return "memory is used up: lower the beam or, in training, batch_size or max_tokens"
    return None


def _check_repeated(arguments: Sequence[str]) -> None:
    """Raise for an option of one value that is given several times: all but the last would go."""
    own = [argument.partition("=")[0] for argument in takewhile("--".__ne__, arguments)]
    for option in _found(arguments)[0].params:
        is_single = option.param_type_name == "option" and not (option.multiple or option.is_flag)
        count = sum(name in option.opts for name in own)
        if is_single and count > 1:
            raise ConfigError(f"give {option.opts[0]} once, got it {count} times")


def _command(arguments: Sequence[str]) -> str:
    """Return the command that the arguments start with, as a user calls it."""
    return _found(arguments)[1]


def _found(arguments: Sequence[str]) -> tuple[Any, str]:
    """Return the command that the arguments start with, and how a user calls it."""
    import typer

    from voi.cli.app import app

    found: Any = typer.main.get_command(app)
    path = ["voi"]
    for name in arguments:
        if name not in getattr(found, "commands", {}):
            break
        found = found.commands[name]
        path.append(name)
    return found, " ".join(path)
