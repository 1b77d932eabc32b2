"""The command line: one file per command; each parses, calls one function below, and prints."""

import sys
from pathlib import Path

from voi.cli.app import app
from voi.errors import VoiError

_INTERRUPTED = 130


def main() -> None:
    """Run a command; what a user can mend is one line on stderr and exit code 2."""
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
    import voi.cli.train  # noqa: F401

    sys.path.insert(0, str(Path.cwd()))  # a user's module:function is found where voi is called
    debug = "--debug" in sys.argv
    try:
        app([arg for arg in sys.argv[1:] if arg != "--debug"])
    except VoiError as error:
        if debug:
            raise
        print(f"voi: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("voi: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        sys.exit(0)
