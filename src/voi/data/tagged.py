"""Tagged sentences from a text file, for the training of a tagger.

    the/DET old/ADJ door/NOUN creaks/VERB      one sentence per line; the last slash divides

or one token per line, word<tab>TAG, with a blank line after each sentence; the ten columns of
CoNLL-U, in which Universal Dependencies are published, are read in the same way.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from voi.errors import DataError
from voi.lines import Lines, NotUtf8Error, to_utf8
from voi.pos import accepted_tag
from voi.pos.perceptron import TaggedSentence

_CONLLU = 10  # columns; the second is the word, the fourth its tag
_LAYOUT = "word/TAG separated by spaces, or word<tab>TAG lines with blank lines between sentences"


def read_tagged(path: Path) -> list[TaggedSentence]:
    """Return the sentences of a file as words with universal tags; the layout is recognised.

    Relative to the file: tags of UD and of the Penn Treebank become universal ones.
    """
    lines = Lines(path)
    split = _column_sentences if _has_columns(lines) else _slash_sentences
    sentences = list(split(lines))
    if not sentences:
        raise DataError(f"{path} holds no tagged sentences: expected {_LAYOUT}")
    return sentences


def _has_columns(lines: Lines) -> bool:
    """Return whether tabs divide words and tags, seen at the first line that has a token."""
    for row in range(len(lines)):
        line = _line(lines, row).strip()
        if "\t" in line:
            return True
        if line and not line.startswith("#"):
            return False
    return False


def _slash_sentences(lines: Lines) -> Iterator[TaggedSentence]:
    for row in range(len(lines)):
        tokens = [token for token in re.split("[ \t]", _line(lines, row)) if token]
        if tokens:
            yield [_token(lines, row, *_divided(lines, row, token)) for token in tokens]


def _divided(lines: Lines, row: int, token: str) -> tuple[str, str]:
    word, slash, tag = token.rpartition("/")
    if not slash:
        raise _error(lines, row, f"expected word/TAG, got {token!r}")
    return word, tag


def _column_sentences(lines: Lines) -> Iterator[TaggedSentence]:
    sentence: TaggedSentence = []
    for row in range(len(lines)):
        line = _line(lines, row)
        if not line.strip():
            if sentence:
                yield sentence
            sentence = []
        elif "\t" in line or not line.startswith("#"):  # what is left are comments
            sentence += _column_tokens(lines, row, line.split("\t"))
    if sentence:
        yield sentence


def _column_tokens(lines: Lines, row: int, columns: list[str]) -> TaggedSentence:
    """Return the token of a line; none where CoNLL-U has a line that is no word of its own."""
    if len(columns) == _CONLLU:
        if re.fullmatch(r"\d+[-.]\d+", columns[0]):  # 3-4: written as one; 3.1: not in the text
            return []
        return [_token(lines, row, columns[1], columns[3])]
    if len(columns) != 2:
        raise _error(lines, row, f"expected word<tab>TAG or CoNLL-U, got {len(columns)} column(s)")
    return [_token(lines, row, *columns)]


def _token(lines: Lines, row: int, word: str, tag: str) -> tuple[str, str]:
    if not word.strip():
        raise _error(lines, row, f"expected a word before the tag {tag!r}, got none")
    try:
        return word.strip(), accepted_tag(tag.strip())
    except DataError as error:
        raise _error(lines, row, f"{word!r} has the {error}") from error


def _line(lines: Lines, row: int) -> str:
    try:
        return lines[row]
    except NotUtf8Error as error:
        raise _error(lines, row, f"{error}: {to_utf8(str(error.lines.path))}") from error


def _error(lines: Lines, row: int, problem: str) -> DataError:
    return DataError(f"{lines.path}, line {row + 1}: {problem}")
