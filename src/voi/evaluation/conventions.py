"""Which metrics a task gets, and what is done to texts before they are compared."""

from dataclasses import dataclass
from typing import Literal

from voi.data import Regions, Source
from voi.data.example import TargetKind
from voi.data.tasks import target_kind
from voi.tokens import Codec, TokensConfig
from voi.tokens.python_code import PythonCode

Kind = TargetKind | Literal["captions", "nothing given"]

METRICS_OF: dict[Kind, tuple[str, ...]] = {
    "symbols": ("exact_match",),
    "code": ("bleu_tokenized", "exact_match"),
    "captions": ("caption",),
    "summaries": ("rouge",),
    "translation": ("bleu", "meteor", "ter", "chrf"),
    "text": ("bleu", "chrf", "ter", "exact_match"),
    "nothing given": (),  # no source: no text is right or wrong
}
"""The metrics of each kind of task: those the paper reports, not always by its programs."""


def kind_of(task: str, tokens: TokensConfig, source: Source) -> Kind:
    """Return the kind of a task from its name, its tokens and one of its sources."""
    if source is None:
        return "nothing given"
    if isinstance(source, Regions):
        return "captions"
    if tokens.pretokenizer == "code":
        return "code"
    return target_kind(task)


@dataclass(frozen=True)
class Conventions:
    """How references are rewritten so that they can be compared with what a codec writes."""

    codec: Codec
    kind: Kind

    @property
    def text(self) -> str:
        """What was done to the texts, as signatures say it."""
        tokens = self.codec.config
        parts = ["pieces joined"] if tokens.kind == "bpe" else []
        if tokens.pretokenizer == "moses":
            parts.append(f"moses detokenised ({tokens.target_language})")
        elif self.kind == "code":
            parts.append("tokens joined by spaces")
        else:
            parts.append("words joined by spaces")
        if tokens.lowercase:
            parts.append("references lower-cased")
        return ", ".join(parts)

    def reference(self, text: str) -> str:
        """Return a true target, written as the codec writes: case and, for code, spaces."""
        if self.codec.config.pretokenizer == "code":
            code = PythonCode()
            text = code.text(code.target_tokens(text))
        return text.lower() if self.codec.config.lowercase else text

    def published(self, text: str, source: Source) -> str:
        """Return a target as the codec knows it: words it can neither write nor copy are <unk>."""
        return self.codec.text(self.codec.decode(self.codec.encode_target(text, source), source))
