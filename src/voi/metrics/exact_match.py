"""The share of hypotheses that are a reference, word for word."""

from collections.abc import Sequence

from voi.metrics.score import Label, Score, check_inputs, labelled


def exact_match(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    label: Label | None = None,
    has_lines: bool = False,
) -> Score:
    """Return the percentage of hypotheses that equal one of their references.

    Words are compared as split by white space, so repeated spaces do not count. The paper calls
    this accuracy. With `has_lines`, for code, words must stand on the same lines, indented alike;
    for a single line this is the same. `label` names the way unknown words were counted (see
    `Label`) and changes nothing else: which way it is lies in the references handed in.

    >>> exact_match(["if x :", "return <unk>"], [["if  x :"], ["return foo"]]).value
    50.0
    """
    check_inputs(hypotheses, references)
    read = _lines if has_lines else str.split
    per_example = tuple(
        100.0 * any(read(hypothesis) == read(reference) for reference in own_references)
        for hypothesis, own_references in zip(hypotheses, references, strict=True)
    )
    return Score(
        name=labelled("exact_match", label),
        value=sum(per_example) / len(per_example),
        signature="exact_match|voi|words split by white space"
        + (", lines and indentation kept" if has_lines else "")
        + (f"|unknown words:{label}" if label else ""),
        num_examples=len(per_example),
        per_example=per_example,
    )


def _lines(text: str) -> list[tuple[int, list[str]]]:
    r"""Return the words of each line that has some, with its indentation beyond the first's.

    >>> _lines("if x :\n    a  ( )\n\nb")
    [(0, ['if', 'x', ':']), (4, ['a', '(', ')']), (0, ['b'])]
    """
    lines = [line for line in text.split("\n") if line.strip()]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    pairs = zip(indents, lines, strict=True)
    return [(indent - indents[0], line.split()) for indent, line in pairs]
