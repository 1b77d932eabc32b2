"""The two Java programs that pycocoevalcap ships: the Penn Treebank tokeniser and METEOR 1.5.

We start them ourselves, from the jars of that package, because its own wrappers wait for ever on a
silent process, write into the installed package and depend on the user's locale.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from voi.errors import VoiError
from voi.metrics.library import load

# Numbers are read and written with a decimal point, whatever the user's locale.
_OPTIONS = ("-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8")


class JavaError(VoiError):
    """Java, or a program run by it, is missing, broken or silent; the message is the reason."""


def ptb_tokenize(texts: Sequence[str], timeout: float) -> list[str]:
    """Return each text as caption metrics see it: Penn Treebank words, lower case, no punctuation.

    The words are joined by single spaces. Raise JavaError when there is no answer in `timeout`
    seconds.
    """
    library = load("pycocoevalcap.tokenizer.ptbtokenizer")
    jar = _jar(library.__file__, library.STANFORD_CORENLP_3_4_1_JAR)
    program = ("-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer")
    lines = [" ".join(text.splitlines()) for text in texts]  # a line break would shift the rest
    with _java((*program, "-preserveLines", "-lowerCase"), jar.parent) as (process, complaints):
        try:
            output, _ = process.communicate("".join(line + "\n" for line in lines), timeout)
        except subprocess.TimeoutExpired:
            raise JavaError(f"the tokeniser gave no answer in {timeout:g} seconds") from None
        tokenized = output.split("\n")[:-1]
        if process.returncode != 0 or len(tokenized) != len(lines):
            raise JavaError(
                f"the tokeniser ended with code {process.returncode} and {len(tokenized)} lines "
                f"for {len(lines)}{_last_line(complaints)}"
            )
    return [
        " ".join(word for word in line.rstrip().split(" ") if word not in library.PUNCTUATIONS)
        for line in tokenized
    ]


def meteor_values(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], timeout: float
) -> tuple[float, list[float]]:
    """Return METEOR (0-1) of the corpus and of each example, for tokenised texts.

    Raise JavaError when the whole takes longer than `timeout` seconds; loading the paraphrase
    table alone takes about ten.
    """
    library = load("pycocoevalcap.meteor.meteor")
    jar = _jar(library.__file__, library.METEOR_JAR)
    arguments = ("-Xmx2G", "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm")
    with _java(arguments, jar.parent) as (process, complaints), _watchdog(process, timeout):
        try:
            statistics = [
                _ask(process, ["SCORE", *own_references, hypothesis], 1)[0]
                for hypothesis, own_references in zip(hypotheses, references, strict=True)
            ]
            answers = _ask(process, ["EVAL", *statistics], len(statistics) + 1)
            *per_example, corpus = (float(answer) for answer in answers)
        except (OSError, ValueError) as error:
            raise JavaError(f"METEOR broke off: {error}{_last_line(complaints)}") from error
    return corpus, per_example


def _ask(process: subprocess.Popen[str], fields: Sequence[str], num_lines: int) -> list[str]:
    """Send one command of METEOR's dialogue and return the lines it answers with."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(" ||| ".join(field.replace("|||", " ") for field in fields) + "\n")
    process.stdin.flush()
    answers = [process.stdout.readline() for _ in range(num_lines)]
    if not all(answers):  # an empty string is the end of the stream
        raise ValueError("the process ended early")
    return [answer.strip() for answer in answers]


def _jar(module_file: str | None, name: str) -> Path:
    assert module_file is not None
    jar = Path(module_file).resolve().parent / name
    if not jar.is_file():
        raise JavaError(f"{jar} is missing: reinstall pycocoevalcap")
    return jar


@contextmanager
def _java(
    arguments: Sequence[str], folder: Path
) -> Iterator[tuple[subprocess.Popen[str], IO[bytes]]]:
    """Run Java and yield its process and the file of its complaints; it is gone afterwards."""
    java = shutil.which("java")
    if java is None:
        raise JavaError("java is not on the path: install a Java runtime, version 8 or later")
    with tempfile.TemporaryFile() as complaints:  # a pipe nobody reads would fill and block
        process = _start([java, *_OPTIONS, *arguments], folder, complaints)
        try:
            yield process, complaints
        finally:
            _kill(process)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # closing flushes what the dead process did not read
                    assert stream is not None
                    stream.close()


def _start(command: list[str], folder: Path, complaints: IO[bytes]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # a process group of its own, for _kill
        )
    except OSError as error:
        raise JavaError(f"{command[0]} does not start: {error}") from error


@contextmanager
def _watchdog(process: subprocess.Popen[str], timeout: float) -> Iterator[None]:
    """Kill the process after `timeout` seconds, which ends every wait for its answers."""
    deadline = time.monotonic() + timeout
    timer = threading.Timer(timeout, _kill, [process])
    timer.start()
    try:
        yield
    except JavaError as error:
        if time.monotonic() < deadline:
            raise
        raise JavaError(f"METEOR gave no answer in {timeout:g} seconds") from error
    finally:
        timer.cancel()
        timer.join()


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill the process with its children: `java` may be a script that starts the real one."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _last_line(complaints: IO[bytes]) -> str:
    """Return the last complaint in brackets, without the stack trace below it."""
    complaints.seek(0)
    lines = complaints.read().decode("utf-8", errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip() and not line.startswith("\tat ")]
    return f" ({said[-1]})" if said else ""
