"""`voi data tagger`: tagged sentences -> a tagger of parts of speech, in one file."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from voi.cli.console import plain_console
from voi.cli.data import data_app
from voi.cli.drawing import say
from voi.data.tagged import read_tagged
from voi.errors import ConfigError, DataError
from voi.pos.named import is_file
from voi.pos.perceptron import Share, TaggedSentence, accuracy, train_tagger, words_of


@data_app.command()
def tagger(
    tagged: Annotated[
        Path, typer.Argument(help="Sentences: word/TAG word/TAG, or word<tab>TAG lines; .gz too.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write; it ends in .json.")],
    test: Annotated[
        Path | None, typer.Option(help="Other tagged sentences, to measure the accuracy on.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Passes over the sentences.")] = 5,
) -> None:
    """Train a tagger of parts of speech on tagged sentences of your own.

    Tags are those of the universal tagset, of Universal Dependencies or of the Penn Treebank.

    Example: voi data tagger train.txt --test test.txt --out my-tagger.json

    Then: voi orders RUN --tagger my-tagger.json
    """
    _check_out(out)
    sentences = read_tagged(tagged)
    tests = read_tagged(test) if test is not None else []
    console = plain_console()
    say(f"{tagged}: {_counted(sentences)}", console)
    made = train_tagger(sentences, iterations)
    if tests:
        measured = accuracy(made, tests, words_of(sentences))
        trained_on = {tuple(sentence) for sentence in sentences}
        shared = sum(tuple(sentence) in trained_on for sentence in tests)
        say(f"{test}: {_counted(tests)}; {shared:,} of its sentences are trained on", console)
        console.print(
            f"tagged right: {_percent(measured.total)}; known words: {_percent(measured.known)}; "
            f"unknown words: {_percent(measured.unknown)}"
        )
    made.save(out)
    say(f"wrote {out}; next: voi orders RUN --tagger {shlex.quote(str(out))}", console)


def _check_out(out: Path) -> None:
    """Find out before training what would fail after it."""
    if not is_file(out.name):
        raise ConfigError(f"--out must end in .json, by which taggers are told, got {out}")
    if not out.absolute().parent.is_dir():
        raise DataError(f"no folder {out.parent} to write {out.name} into: make it first")


def _counted(sentences: Sequence[TaggedSentence]) -> str:
    tags = Counter(tag for sentence in sentences for _, tag in sentence)
    by_tag = ", ".join(f"{tag} {count:,}" for tag, count in tags.most_common())
    return (
        f"{len(sentences):,} sentences, {tags.total():,} tokens, {len(words_of(sentences)):,} "
        f"different words ({by_tag})"
    )


def _percent(share: Share) -> str:
    if not share.num_tokens:
        return "none"
    value = share.num_right / share.num_tokens
    return f"{value:.1%} of {share.num_tokens:,}"
