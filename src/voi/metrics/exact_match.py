"""The share of hypotheses that are a reference, word for word."""

from collections.abc import Sequence

from voi.metrics.score import Label, Score, check_inputs, labelled


def exact_match(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, label: Label | None = None
) -> Score:
    """Return the percentage of hypotheses that equal one of their references.

    Words are compared as split by white space, so repeated spaces do not count. The paper calls
    this accuracy. `label` names the way unknown words were counted (see `Label`) and changes
    nothing else: which way it is lies in the references handed in.

    >>> exact_match(["if x :", "return <unk>"], [["if  x :"], ["return foo"]]).value
    50.0
    """
    check_inputs(hypotheses, references)
    per_example = tuple(
        100.0 * any(hypothesis.split() == reference.split() for reference in own_references)
        for hypothesis, own_references in zip(hypotheses, references, strict=True)
    )
    return Score(
        name=labelled("exact_match", label),
        value=sum(per_example) / len(per_example),
        signature="exact_match|voi|words split by white space"
        + (f"|unknown words:{label}" if label else ""),
        num_examples=len(per_example),
        per_example=per_example,
    )
