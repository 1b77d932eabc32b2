"""Python code as targets: tokens as Python itself sees them."""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LINE_END, INDENT, DEDENT = "⏎", "⇥", "⇤"  # tokens that stand for layout

_LAYOUT = {tokenize.NEWLINE: LINE_END, tokenize.INDENT: INDENT, tokenize.DEDENT: DEDENT}
_OPERATORS = tokenize.EXACT_TOKEN_TYPES.keys() - {"!"}
_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class PythonCode:
    """Targets in the tokens of Python's own lexer, sources in words and punctuation marks.

    Written back, tokens stand apart by one space; lines and indentation are kept, blank lines
    and the width of indentation are not. The text means the same to Python and has the same
    tokens again. Brackets may stay open, and a last line that is to go on may end. A target that
    Python cannot split is taken as words between white space.

    >>> PythonCode().target_tokens("f(x)[1:] += 'a b'")
    ['f', '(', 'x', ')', '[', '1', ':', ']', '+=', "'a b'"]
    >>> PythonCode().source_tokens("call os.path's join")
    ['call', 'os', '.', 'path', "'", 's', 'join']
    """

    def source_tokens(self, text: str) -> list[str]:
        return _WORD_OR_MARK.findall(text)

    def target_tokens(self, text: str) -> list[str]:
        tokens: list[str] = []
        try:
            for token in _lexed(text):
                tokens.append(token)  # those before an error are kept
        except (tokenize.TokenError, SyntaxError) as error:
            if not _ends_within_brackets(error):
                return text.split()
        while tokens and tokens[-1] in (LINE_END, DEDENT):
            tokens.pop()
        return tokens

    def text(self, tokens: Sequence[str]) -> str:
        lines: list[str] = []
        words: list[str] = []
        level = 0
        for token in (*tokens, LINE_END):
            if token == LINE_END:
                lines.append("    " * level + " ".join(words) if words else "")
                words = []
            elif token in (INDENT, DEDENT):
                level = max(0, level + (1 if token == INDENT else -1))
            else:
                words.append(token)
        return "\n".join(lines)


def _ends_within_brackets(error: Exception) -> bool:
    """Return whether all that Python misses is the rest of the text: it gave every token."""
    is_early = isinstance(error, tokenize.TokenError)
    return is_early and "multi-line statement" in str(error.args[0])


def _lexed(text: str) -> Iterator[str]:
    """Yield the tokens of a text; a SyntaxError or TokenError says that it is no Python."""
    lines = io.StringIO(text).readlines()
    after_comment = False
    for token in _whole_strings(tokenize.generate_tokens(iter([*lines, ""]).__next__), lines):
        if token.type == tokenize.ERRORTOKEN or _is_no_operator(token):
            raise SyntaxError(token.string)
        if token.type in _LAYOUT:
            yield _LAYOUT[token.type]
        elif token.type == tokenize.NL:
            if after_comment:  # elsewhere it means nothing
                yield LINE_END
        elif token.type != tokenize.ENDMARKER:
            yield token.string
        after_comment = token.type == tokenize.COMMENT


def _is_no_operator(token: tokenize.TokenInfo) -> bool:
    """Return whether the token is a sign such as $, which only some versions of Python reject."""
    return token.type == tokenize.OP and token.string not in _OPERATORS


def _whole_strings(
    tokens: Iterator[tokenize.TokenInfo], lines: list[str]
) -> Iterator[tokenize.TokenInfo]:
    """Yield tokens with formatted strings in one piece, which Python 3.12 and later split."""
    depth = 0
    first = None
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            first = first if depth else token
            depth += 1
        elif name in ("FSTRING_END", "TSTRING_END"):
            depth -= 1
            if not depth and first is not None:
                piece = _between(lines, first.start, token.end)
                yield token._replace(type=tokenize.STRING, string=piece, start=first.start)
        elif not depth:
            yield token


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    text = "".join(lines[start[0] - 1 : end[0]])
    return text[start[1] : len(text) - len(lines[end[0] - 1]) + end[1]]
