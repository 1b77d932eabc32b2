"""A file has one process at a time, and a process that is gone has none."""

import subprocess
import sys

from voi.claims import alone


def test_what_a_killed_process_was_at_is_free(tmp_path):
    program = """
import sys
from pathlib import Path
from voi.claims import alone
with alone(Path(sys.argv[1])) as is_mine:
    print(is_mine, flush=True)
    sys.stdin.read()
"""
    path = tmp_path / "a.json"
    command = [sys.executable, "-c", program, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as other:
        assert other.stdout.readline() == "True\n"
        with alone(path, is_waiting=False) as is_mine:
            assert not is_mine
        other.kill()
    with alone(path, is_waiting=False) as is_mine:
        assert is_mine
        with alone(path, is_waiting=False) as is_mine_too:
            assert not is_mine_too
