"""Whether copying can be learned from some training pairs, and how rare its words have to be."""

from collections.abc import Sequence
from dataclasses import dataclass

from voi.config import DataConfig
from voi.data.example import Example
from voi.tokens.codec import Codec, build_codec, shared_counts
from voi.tokens.config import MANY_UNKNOWN
from voi.tokens.vocabulary import UNK

MOST_COUNT = 10  # pairs of a word that is still rare enough to be copied


def copying_advice(examples: Sequence[Example], codec: Codec, config: DataConfig) -> str:
    """Return what to set where no training target has a word that is copied."""
    least = count_with_copies(examples, codec, config)
    other = f"--set data.tokens.min_count={least}, or " if least else ""
    return (
        f"no training target has a word to be copied, so copying is not learned: give "
        f"{other}--set data.tokens.copy=false"
    )


def count_with_copies(examples: Sequence[Example], codec: Codec, config: DataConfig) -> int:
    """Return the least data.tokens.min_count under which copying is learned.

    It is 0 if there is none up to MOST_COUNT, or too many target tokens would be unknown.
    """
    counts, known = shared_counts(codec.tokenizer, examples), codec.config.min_count
    for least in sorted(count + 1 for count in counts if known <= count < MOST_COUNT):
        other = build_codec({**config.tokens, "min_count": least}, examples)
        found = _target_tokens(examples, other, config)
        if found.num_unknown and not other.vocabulary.num_target_words:
            return 0
        if found.num_unknown > MANY_UNKNOWN * found.num:
            return 0
        if found.num_copied:
            return least
    return 0


@dataclass
class _TargetTokens:
    """The tokens of training targets, counted."""

    num: int = 0
    num_unknown: int = 0
    num_copied: int = 0


def _target_tokens(examples: Sequence[Example], codec: Codec, config: DataConfig) -> _TargetTokens:
    """Return the counts in what training reads: without long examples, if they are left out."""
    found, copies = _TargetTokens(), codec.vocabulary.copies
    leaves_out = config.long_examples == "skip"
    for index in range(len(examples)):
        encoded = codec.encode(examples[index])
        is_long = (
            len(encoded.source or ()) > config.max_source_length
            or len(encoded.target) > config.max_target_length
        )
        if is_long and leaves_out:
            continue
        found.num += len(encoded.target)
        found.num_unknown += encoded.target.count(UNK)
        found.num_copied += sum(number in copies for number in encoded.target)
    return found
