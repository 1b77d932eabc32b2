"""The one result every metric returns, and the checks every metric makes first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Label = Literal["strict", "as published"]
"""How unknown words of the reference are counted.

strict: references are the true strings, so a word outside the vocabulary is always wrong.
as published: the caller hands in references whose out-of-vocabulary words are already the unknown
word, so unknown equals unknown; the paper's Django numbers are of this kind.
"""


@dataclass(frozen=True)
class Score:
    """One metric of one set of hypotheses, on the scale papers print (a perfect match is 100).

    Two metrics leave 0-100: TER, where 0 is perfect and more than 100 is possible, and CIDEr,
    where papers print 100 for the library's 1.0 and 1000 is the maximum.
    """

    name: str
    value: float | None  # None only when skipped
    signature: str  # metric, library and version, tokenisation, options
    num_examples: int
    per_example: tuple[float, ...] | None = None  # [num_examples], same scale as value
    skipped: str | None = None  # why there is no value
    higher_is_better: bool = True
    remark: str | None = None  # what a reader of the value should know

    def __post_init__(self) -> None:
        if (self.value is None) != (self.skipped is not None):
            raise ValueError(
                f"{self.name}: a score has a value or a reason for having none, "
                f"got value={self.value} and skipped={self.skipped!r}"
            )
        if self.per_example is not None and len(self.per_example) != self.num_examples:
            raise ValueError(
                f"{self.name}: {self.num_examples} examples but {len(self.per_example)} "
                "per-example values"
            )

    def __str__(self) -> str:
        """
        >>> print(Score("bleu", 31.04, "bleu|13a", num_examples=5))
        bleu 31.0 (bleu|13a)
        """
        if self.value is None:
            return f"{self.name} skipped: {self.skipped}"
        return f"{self.name} {self.value:.1f} ({self.signature})"


def labelled(name: str, label: Label | None) -> str:
    """Return the metric's name with the way unknown words were counted."""
    return name if label is None else f"{name} ({label})"


def check_inputs(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise ValueError unless there is a list of at least one reference for every hypothesis.

    An empty hypothesis or reference string is fine and is scored.
    """
    if isinstance(hypotheses, str):
        raise ValueError(f"hypotheses must be a list of strings, got the string {hypotheses!r}")
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            "expected one list of references per hypothesis and at least one of each, got "
            f"{len(hypotheses)} hypotheses and {len(references)} lists of references"
        )
    for i, own_references in enumerate(references):
        if isinstance(own_references, str):
            raise ValueError(
                f"references[{i}] must be a list of strings, got the string {own_references!r}: "
                "a single reference is a list of one"
            )
        if not own_references:
            raise ValueError(f"references[{i}] is empty: every hypothesis needs a reference")
