"""Django: descriptions and lines of code as published, in the form that models are trained on.

String literals are numbered, descriptions are split into words, code into Python's tokens, and a
line that cannot stand alone (`else:`, a decorator) is completed to a whole statement.
"""

import io
import re
import tokenize
from collections.abc import Mapping
from functools import cache
from typing import Any

from voi.extras import load_extra

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_LITERAL = re.compile(r"([a-zA-Z]*)(['\"])(.*)\2", re.DOTALL)
_PLACEHOLDERS = ("'%s'", '"%s"')  # descriptions speak about them; they are no strings of the code
_SENTENCE_END = re.compile(r"(?<!\s\w)\.(?=\s)")  # "e." in the middle is a name, not an end
_BEFORE = {  # what a line needs before it, by its first token
    "elif": "if True: pass _newline_ ",
    "else": "if True: pass _newline_ ",
    "except": "try: pass _newline_ ",
    "finally": "try: pass _newline_ ",
}
_AFTER = {"try": " _newline_ except: pass", "@": " _newline_ def dummy(): pass"}


def canonical_pair(description: str, code: str) -> tuple[str, str]:
    """Return a description and its line of code, both as tokens with one space between.

    >>> canonical_pair("call os.chdir with string 'tmp'.", "os.chdir('tmp')")
    ('call os.chdir [ os . chdir ] with string _STR:0_ .', "os . chdir ( '_STR:0_' )")
    """
    strings = numbered_strings(description)
    return canonical_description(description, strings), canonical_code(code, strings)


def numbered_strings(description: str) -> dict[str, str]:
    """Return the quoted strings of a description, quotes included, with the names they get.

    >>> numbered_strings("join 'a' and \\"b\\", then 'a' again, for each '%s'")
    {"'a'": '_STR:0_', '"b"': '_STR:1_'}
    """
    found = dict.fromkeys(_QUOTED.findall(description))
    quoted = [text for text in found if text not in _PLACEHOLDERS]
    return {text: f"_STR:{number}_" for number, text in enumerate(quoted)}


def canonical_description(description: str, strings: Mapping[str, str]) -> str:
    """Return the words of a description; after a dotted name, its parts follow in brackets."""
    text = _QUOTED.sub(lambda match: strings.get(match[0], match[0]), description)
    words = _word_tokenizer().tokenize(_SENTENCE_END.sub(" .", text.strip()))
    return " ".join(part for word in words for part in (word, *_dotted_parts(word)))


def _dotted_parts(word: str) -> list[str]:
    if not 0 < word.find(".") < len(word) - 1:
        return []
    return ["[", *word.replace(".", " . ").split(), "]"]


@cache
def _word_tokenizer() -> Any:
    library: Any = load_extra("nltk.tokenize", "text", "preparing Django's descriptions")
    return library.NLTKWordTokenizer()


def canonical_code(code: str, strings: Mapping[str, str]) -> str:
    """Return the tokens of a line of code, as a whole statement, its strings numbered.

    >>> canonical_code("except KeyError:", {})
    'try: pass _newline_ except KeyError :pass'
    """
    by_text = {text[1:-1]: name for text, name in reversed(list(strings.items()))}
    tokens = [_with_number(token, by_text) for token in _tokens(code.strip())]
    first, text = tokens[0] if tokens else "", " ".join(tokens)
    body = "pass" if text.endswith(":") else ""
    return f"{_BEFORE.get(first, '')}{text}{body}{_AFTER.get(first, '')}"


def _tokens(code: str) -> list[str]:
    """Return the tokens of a line; one that Python cannot split is split at white space."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code + "\n").readline))
    except (tokenize.TokenError, SyntaxError):
        return code.split()
    if any(token.type == tokenize.ERRORTOKEN for token in tokens):
        return code.split()
    return [token.string for token in tokens if token.string.strip()]


def _with_number(token: str, by_text: Mapping[str, str]) -> str:
    match = _LITERAL.fullmatch(token)
    if match is None or match[3] not in by_text:
        return token
    return f"{match[1]}'{by_text[match[3]]}'"
