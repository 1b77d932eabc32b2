"""The files a run logs to: what is in them, and that a resumed run goes on where it stands."""

import contextlib
import csv
import json

import pytest

from small_runs import Quiet, tiny_trainer
from voi import runs
from voi.errors import CheckpointError
from voi.training.log import MetricsLog
from voi.training.update import Update

SPEED = {"seconds": 1.5, "milliseconds_per_step": 250.0, "tokens_per_second": 64.0}
HEADER = b"step,seconds,milliseconds_per_step,tokens_per_second\n"


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def process_time(self):
        return 2 * self.now  # two threads

    def after(self, function, seconds):
        """Return the function; a call of it takes some seconds."""

        def timed(*arguments):
            found = function(*arguments)
            self.now += seconds
            return found

        return timed


def test_speed_is_that_of_updates_alone(tmp_path, monkeypatch):
    """Updates take half a second; validation and log lines take time that is not theirs."""
    clock = Clock()
    monkeypatch.setattr("voi.training.loop.time", clock)
    monkeypatch.setattr(Update, "__call__", clock.after(Update.__call__, 0.5))
    settings = ["training.log_every=5", "training.validate_every=4", "training.checkpoint_every=4"]

    def stop(progress):
        if progress.step == 10:
            raise InterruptedError

    def timed(trainer):
        trainer.validate = clock.after(trainer.validate, 100.0)
        trainer.distance = clock.after(trainer.distance, 7.0)
        return trainer

    run = tmp_path / "run"
    with pytest.raises(InterruptedError):
        timed(tiny_trainer(run, *settings, watcher=Quiet(stop))).run()
    clock.now += 5000.0  # a stop after step 10 goes back to step 8
    assert timed(runs.resume(run, Quiet())).run()
    header, *rows = csv.reader((run / "speed.csv").read_text().splitlines())
    assert header == ["step", *SPEED]
    tokens = 8 * (3 + 1)  # 8 targets of 3 symbols and END
    assert [[float(x) for x in row] for row in rows] == [
        [step, seconds, 500.0, tokens / 0.5] for step, seconds in ((5, 2.5), (10, 5.0), (12, 6.0))
    ]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    logged = [[line["step"], *map(line.get, SPEED)] for line in lines if line["kind"] == "train"]
    assert logged == [[float(x) for x in row] for row in rows]
    spent = [[line["step"], line["cpu_seconds"]] for line in lines if line["kind"] == "valid"]
    assert spent == [[4, 4.0], [8, 8.0], [12, 12.0]]


def speeds_after(folder, found, from_step):
    """Return speed.csv after a line of step 9 was added to what is found there."""
    (folder / "speed.csv").write_bytes(found)
    with contextlib.closing(MetricsLog(folder, from_step)) as log:
        log.write("train", 9, SPEED)
        log.write("valid", 9, {"score": 1.0})  # no speed of training
    return (folder / "speed.csv").read_bytes()


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (b"", b""),
        (HEADER[:12], b""),  # cut by a kill
        (HEADER, b""),
        (HEADER + b"2,1.0,2.0,3.0\n4,2.0,2.0,3.0\n6,3.0", b"2,1.0,2.0,3.0\n4,2.0,2.0,3.0\n"),
        (HEADER + b"2,1.0,2.0,3.0\n6,3.0,2.0,3.0\n", b"2,1.0,2.0,3.0\n"),
        (HEADER + b"2,1.0,2.0,3.0\n4,2.0,2.0,3.0", b"2,1.0,2.0,3.0\n"),
    ],
    ids=["empty", "cut header", "header", "cut later", "later", "cut"],
)
def test_whole_lines_up_to_the_checkpoint_stay(tmp_path, found, kept):
    assert speeds_after(tmp_path, found, 4) == HEADER + kept + b"9,1.500,250.000,64.000\n"


@pytest.mark.parametrize("line", [b"x", b"3", b"[]", b'{"kind": "train"}', b"\xff", b""])
@pytest.mark.parametrize("number", [1, 2])
def test_a_damaged_line_of_the_log_is_named(tmp_path, line, number):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n' * (number - 1) + line + b"\n")
    message = rf"metrics.jsonl, line {number}: expected .* remove the lin"
    with pytest.raises(CheckpointError, match=message):
        MetricsLog(tmp_path)


@pytest.mark.parametrize(
    "line", [b"x,1,2,3", b"3", b"3,1,2", b"3,1,2,x", b"3,1,2,\xff", b"", HEADER]
)
def test_a_damaged_line_of_speeds_is_named(tmp_path, line):
    (tmp_path / "speed.csv").write_bytes(HEADER + line.strip() + b"\n")
    with pytest.raises(CheckpointError, match=r"speed.csv, line 2: expected .* remove the lin"):
        MetricsLog(tmp_path)


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85"])
def test_a_log_with_other_line_ends_inside_is_gone_on_with(tmp_path, inside):
    with contextlib.closing(MetricsLog(tmp_path, 0)) as log:
        log.write("valid", 1, {"text": f"a{inside}b"})
    with contextlib.closing(MetricsLog(tmp_path, 1)) as log:
        log.write("valid", 2, {"text": "c"})
    lines = (tmp_path / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
    assert [json.loads(line)["text"] for line in lines] == [f"a{inside}b", "c"]


def test_a_full_disk_is_told_by_the_file(tmp_path):
    (tmp_path / "speed.csv").mkdir()  # as good as full
    with (
        contextlib.closing(MetricsLog(tmp_path)) as log,
        pytest.raises(CheckpointError, match=r"cannot write .*speed.csv: .*, then start anew with"),
    ):
        log.write("train", 1, SPEED)
