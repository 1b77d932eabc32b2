"""A task of real code: one Python statement from a description of it in English."""

import ast
import os
import re
import sysconfig
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from voi.data.example import Example, TargetKind
from voi.data.splits import Splits, pick_split
from voi.errors import DataError
from voi.tables import require_least


@dataclass(frozen=True)
class PyLines:
    """Statements of the running interpreter's standard library, each with a description.

    The target is one logical line that is a statement, or the header of one (`if`, `for`, `while`,
    `with`, `def`, `class`), as its tokens. String and bytes literals are numbered, `_STR:0_`, by
    first appearance. The source is an English phrase composed by rule from the syntax tree of the
    target; where several statements have the same description, the first one read is kept.

    Files are taken at even distances from the sorted list of the library, tests left out. The
    hash of a source and the seed decide its split, in the sizes asked for; `train` is an upper
    bound, since the library has only so many statements. No order is known to be best.

    >>> describe("full = os . path . join ( path , _STR:0_ )")
    'assign the result of calling os . path . join with arguments path and _STR:0_ to full'
    """

    target_kind: ClassVar[TargetKind] = "code"

    max_tokens: int = 30  # longest target
    files: int = 80  # of the library that are read
    seed: int = 0
    train: int = 10000  # at most
    valid: int = 500
    test: int = 500

    def __post_init__(self) -> None:
        require_least(self, "data.options.", max_tokens=2, files=1, seed=0)
        require_least(self, "data.options.", train=1, valid=1, test=1)

    def split(self, name: str) -> Sequence[Example]:
        """Return the examples of a split; no source is in two of them."""
        return pick_split(self._splits, name)

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        """Return no order: none is known to be best."""
        return ()

    @cached_property
    def _splits(self) -> Splits:
        examples = _read_examples(Path(sysconfig.get_path("stdlib")), self.files, self.max_tokens)
        held_out = self.valid + self.test
        if len(examples) <= held_out:
            raise DataError(
                f"valid + test must be less than {len(examples)}, the statements found, got "
                f"{held_out}: set data.options.files or max_tokens higher, or the sizes lower"
            )
        ranked = sorted(examples, key=self._hash)
        return {
            "train": ranked[held_out : held_out + self.train],
            "valid": ranked[self.test : held_out],
            "test": ranked[: self.test],
        }

    def _hash(self, example: Example) -> bytes:
        return sha256(f"{self.seed} {example.source}".encode()).digest()


@cache
def _read_examples(library: Path, num_files: int, max_tokens: int) -> tuple[Example, ...]:
    by_source: dict[str, Example] = {}
    targets: set[str] = set()
    for path in library_files(library, num_files):
        for target in _logical_lines(path, max_tokens):
            if target in targets:
                continue
            targets.add(target)
            source = describe(target)
            if source:
                by_source.setdefault(source, Example(source, target))
    return tuple(by_source.values())


def library_files(library: Path, count: int) -> list[Path]:
    """Return at most `count` source files at even distances from the sorted list of a library."""
    found = []
    for folder, subfolders, names in os.walk(library):
        subfolders[:] = set(subfolders) - _NOT_LIBRARY  # these are not walked
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    if not found:
        raise DataError(
            f"expected Python files in the standard library at {library}, found none: "
            "use an interpreter whose library is not zipped or stripped of its sources"
        )
    found.sort()
    count = min(count, len(found))
    return [found[i * len(found) // count] for i in range(count)]


def _logical_lines(path: Path, max_tokens: int) -> Iterator[str]:
    tokens: list[tokenize.TokenInfo] = []
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.NEWLINE:
                texts = _canonical(tokens)
                if 2 <= len(texts) <= max_tokens:
                    yield " ".join(texts)
                tokens = []
            elif token.type not in _LAYOUT:
                tokens.append(token)


def _canonical(tokens: Iterable[tokenize.TokenInfo]) -> list[str]:
    """Return the token texts with numbered strings; nothing if one is no plain token."""
    texts: list[str] = []
    numbers: dict[str, int] = {}
    follows_string = False
    for token in tokens:
        is_string = token.type == tokenize.STRING
        if token.type not in _PLAIN or (is_string and _FORMATTED.match(token.string)):
            return []
        if not is_string:
            texts.append(token.string)
        elif not follows_string:  # strings side by side are one literal
            number = numbers.setdefault(token.string, len(numbers))
            texts.append(f"_STR:{number}_")
        follows_string = is_string
    return texts


_NOT_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idle_test"}
_LAYOUT = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_PLAIN = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}
_FORMATTED = re.compile(r"[rR]?[fF]")  # f-strings are code inside text
_PLACEHOLDER = re.compile(r"_STR:\d+_")


def describe(target: str) -> str:
    """Return a statement or header in English; empty if the tokens are neither.

    >>> describe("if x not in seen :")
    'check whether x is not among seen'
    >>> describe("else :")
    ''
    """
    is_header = target.endswith(" :")
    code = _PLACEHOLDER.sub(r'"\g<0>"', target) + (" pass" if is_header else "")
    try:
        [statement] = ast.parse(code).body
    except (SyntaxError, ValueError):  # part of a statement, or several
        return ""
    if is_header != hasattr(statement, "body"):
        return ""  # a header and its body on one line
    if isinstance(statement, ast.Expr) and isinstance(statement.value, _WITHOUT_EFFECT):
        return ""
    return str(_English(code).visit(statement))


_WITHOUT_EFFECT = (ast.Constant, ast.Name, ast.Attribute)

# One phrase per type of node. A field stands for its own phrase; a part in brackets is left out
# where its field is empty, and an empty field elsewhere reads "nothing".
_PHRASES = {
    # statements
    "Assign": "assign {value} to {targets}",
    "AugAssign": "replace {target} by the {op} of itself and {value}",
    "AnnAssign": "declare {target} of type {annotation}[ and assign {value} to it]",
    "Return": "give back {value}",
    "Raise": "raise exception {exc}[ because of {cause}]",
    "Assert": "make sure that {test}[ or complain with {msg}]",
    "Delete": "delete {targets}",
    "Global": "use {names} of the module",
    "Nonlocal": "use {names} of the enclosing function",
    "Import": "import module {names}",
    "ImportFrom": "from the module[ {level} levels up][ {module}] import {names}",
    "alias": "{name}[ under the name {asname}]",
    # headers
    "If": "check whether {test}",
    "While": "repeat as long as {test}",
    "For": "go over each {target} of {iter}",
    "AsyncFor": "asynchronously go over each {target} of {iter}",
    "With": "work within {items}",
    "AsyncWith": "asynchronously work within {items}",
    "withitem": "{context_expr}[ named {optional_vars}]",
    "FunctionDef": "define function {name} {args}[ that gives {returns}]",
    "AsyncFunctionDef": "define asynchronous function {name} {args}[ that gives {returns}]",
    "ClassDef": "define class {name}[ derived from {bases}][ with keywords {keywords}]",
    "arg": "{arg}[ of type {annotation}]",
    # expressions
    "Name": "{id}",
    "Tuple": "the tuple of {elts}",
    "List": "the list of {elts}",
    "Set": "the set of {elts}",
    "Starred": "all items of {value}",
    "Subscript": "element {slice} of {value}",
    "Slice": "range[ from {lower}][ up to {upper}][ in steps of {step}]",
    "Call": "the result of calling {func}[ with arguments {args}][ with keywords {keywords}]",
    "BinOp": "the {op} of {left} and {right}",
    "UnaryOp": "{op} {operand}",
    "IfExp": "{body} when {test} , otherwise {orelse}",
    "Lambda": "a function {args} that gives {body}",
    "ListComp": "the list of {elt} {generators}",
    "SetComp": "the set of {elt} {generators}",
    "DictComp": "the dictionary of {key} mapped to {value} {generators}",
    "GeneratorExp": "the series of {elt} {generators}",
    "comprehension": "over each {target} of {iter}[ where {ifs}]",
    "Yield": "the answer to handing out {value}",
    "YieldFrom": "the answer to handing out each item of {value}",
    "Await": "the awaited {value}",
    # operators
    "Add": "sum",
    "Sub": "difference",
    "Mult": "product",
    "Div": "quotient",
    "FloorDiv": "whole quotient",
    "Mod": "remainder",
    "Pow": "power",
    "MatMult": "matrix product",
    "LShift": "left shift",
    "RShift": "right shift",
    "BitOr": "bitwise union",
    "BitAnd": "bitwise intersection",
    "BitXor": "bitwise difference",
    "Not": "the negation of",
    "USub": "minus",
    "UAdd": "plus",
    "Invert": "the complement of",
    "Eq": "equals",
    "NotEq": "differs from",
    "Lt": "is less than",
    "LtE": "is at most",
    "Gt": "is greater than",
    "GtE": "is at least",
    "Is": "is the same as",
    "IsNot": "is not the same as",
    "In": "is among",
    "NotIn": "is not among",
}
_PART = re.compile(r"\[(?P<before>[^{]*)\{(?P<optional>\w+)\}(?P<after>[^]]*)\]|\{(?P<field>\w+)\}")


def _listed(phrases: Sequence[str]) -> str:
    """Return phrases as an English list: `a , b and c`."""
    return " and ".join(filter(None, [" , ".join(phrases[:-1]), *phrases[-1:]]))


class _English(ast.NodeVisitor):
    """Phrases of syntax trees: `visit` returns the phrase of any node."""

    def __init__(self, code: str) -> None:
        self.code = code

    def generic_visit(self, node: ast.AST) -> str:
        """Fill in the phrase of a type; a type without one is its name, then its parts."""
        kind = type(node).__name__
        if kind in _PHRASES:
            return _PART.sub(lambda part: self.part(node, part), _PHRASES[kind])
        children = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context)]
        return f"{re.sub('(?<=[a-z])(?=[A-Z])', ' ', kind).lower()} of {self.phrase(children)}"

    def part(self, node: ast.AST, part: re.Match[str]) -> str:
        phrase = self.phrase(getattr(node, part["field"] or part["optional"]))
        if part["field"]:
            return phrase or "nothing"
        return part["before"] + phrase + part["after"] if phrase else ""

    def phrase(self, value: object) -> str:
        """Return the phrase of a field: a node, a list, a name, a number or nothing."""
        if isinstance(value, ast.AST):
            return str(self.visit(value))
        if isinstance(value, list):
            return _listed([self.phrase(item) for item in value])
        return str(value or "").replace(".", " . ").replace("*", "everything")

    def visit_Expr(self, node: ast.Expr) -> str:
        value = self.phrase(node.value)
        if isinstance(node.value, ast.Call):
            return "call " + value.removeprefix("the result of calling ")
        return "evaluate " + value

    def visit_Attribute(self, node: ast.Attribute) -> str:
        value = self.phrase(node.value)
        is_dotted_name = value.replace(" . ", "").isidentifier()
        return f"{value} . {node.attr}" if is_dotted_name else f"attribute {node.attr} of {value}"

    def visit_Constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, str):
            return node.value
        if node.value is Ellipsis:
            return "an ellipsis"
        return ast.get_source_segment(self.code, node) or repr(node.value)  # 0x1f as it is written

    def visit_Dict(self, node: ast.Dict) -> str:
        pairs = [
            f"{self.phrase(key)} mapped to {self.phrase(value)}" if key else self.spread(value)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return f"the dictionary of {_listed(pairs) or 'nothing'}"

    def visit_keyword(self, node: ast.keyword) -> str:
        return f"{node.arg} as {self.phrase(node.value)}" if node.arg else self.spread(node.value)

    def spread(self, node: ast.expr) -> str:
        return f"all entries of {self.phrase(node)}"

    def visit_BoolOp(self, node: ast.BoolOp) -> str:
        start, link = ("both", " and ") if isinstance(node.op, ast.And) else ("either", " or ")
        return f"{start} {link.join(map(self.phrase, node.values))}"

    def visit_Compare(self, node: ast.Compare) -> str:
        pairs = zip(node.ops, node.comparators, strict=True)
        steps = [f"{self.phrase(op)} {self.phrase(value)}" for op, value in pairs]
        return f"{self.phrase(node.left)} {' which '.join(steps)}"

    def visit_arguments(self, node: ast.arguments) -> str:
        places = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(places) - len(node.defaults)) + node.defaults
        phrases = [self.parameter(*pair) for pair in zip(places, defaults, strict=True)]
        if node.posonlyargs:
            phrases[len(node.posonlyargs) - 1] += " by place only"
        if node.vararg:
            phrases.append(f"any further values {self.phrase(node.vararg)}")
        keywords = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        phrases += [f"{self.parameter(*pair)} by name only" for pair in keywords]
        if node.kwarg:
            phrases.append(f"any further keywords {self.phrase(node.kwarg)}")
        return f"with parameters {_listed(phrases)}" if phrases else "without parameters"

    def parameter(self, node: ast.arg, default: ast.expr | None) -> str:
        return self.phrase(node) + (f" by default {self.phrase(default)}" if default else "")
