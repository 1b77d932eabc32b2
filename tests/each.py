"""Run `voi` for every list of arguments that is given as JSON, in the same processes."""

import json
import sys

from voi.cli import main
from voi.world import World


def main_of_each(lists: list[list[str]]) -> None:
    """Call the command line in turn; the first error ends it."""
    leave, World.leave = World.leave, lambda self: None  # processes that part do not meet again
    for arguments in lists:
        sys.argv[1:] = arguments
        try:
            main()
        except SystemExit as done:
            if done.code:
                raise
    leave(World.join())


if __name__ == "__main__":
    main_of_each(json.loads(sys.argv[1]))
