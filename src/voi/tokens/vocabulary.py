"""Words and their numbers, the same ones for source and target."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

PAD, UNK, START, END = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<start>", "<end>")


def copy_text(index: int) -> str:
    """Return the name of the reserved token that stands for a source word outside the vocabulary.

    >>> copy_text(0)
    '<copy:0>'
    """
    return f"<copy:{index}>"


NO_TARGET_WORDS = (
    "no word of the training targets is in the vocabulary: give --set data.tokens.min_count=1, or "
    "a higher --set data.tokens.max_size=..."
)


@dataclass(frozen=True)
class Vocabulary:
    """All tokens by id: four specials, tokens reserved for copying, then the words of the data.

    A special is reached by its id only and never by its text: a word "<unk>" in the data is an
    ordinary word with an id of its own.
    """

    words: tuple[str, ...]
    counts: tuple[int, ...]  # per id, occurrences in the targets of the training split
    num_copies: int = 0  # reserved tokens <copy:i>, directly behind the specials

    def __post_init__(self) -> None:
        reserved = (*SPECIALS, *map(copy_text, range(self.num_copies)))
        if self.words[: len(reserved)] != reserved:
            raise ValueError(f"a vocabulary starts with {reserved}, got {self.words[:4]}")
        if len(self.counts) != len(self.words):
            raise ValueError(f"{len(self.words)} words but {len(self.counts)} counts")
        if len(self.index) != len(self.words) - len(reserved):
            raise ValueError("a word stands twice in the vocabulary")

    @classmethod
    def build(
        cls,
        source_counts: Mapping[str, int],
        target_counts: Mapping[str, int],
        left_out: Container[str] = frozenset(),
        max_size: int = 0,
        num_copies: int = 0,
    ) -> "Vocabulary":
        """Return the vocabulary of both sides together, without the words left out.

        Frequent words come first, equally frequent ones alphabetically. `max_size` bounds their
        number (0: no bound); specials and reserved tokens do not count. Occurrences of left-out
        target words count as UNK, even where the word is copied.

        >>> Vocabulary.build({"a": 1, "b": 2}, {"c": 2, "a": 3}, left_out={"c"}).words[4:]
        ('a', 'b')
        """
        joint = Counter(source_counts)
        joint.update(target_counts)
        kept = (word for word in joint if word not in left_out)
        words = sorted(kept, key=lambda word: (-joint[word], word))[: max_size or None]
        counts = [target_counts.get(word, 0) for word in words]
        reserved = [0] * (len(SPECIALS) + num_copies)
        reserved[UNK] = sum(target_counts.values()) - sum(counts)
        copies = map(copy_text, range(num_copies))
        return cls((*SPECIALS, *copies, *words), (*reserved, *counts), num_copies)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of each word of the data; specials and reserved tokens are not words."""
        first = len(SPECIALS) + self.num_copies
        return {word: number for number, word in enumerate(self.words) if number >= first}

    @property
    def copies(self) -> range:
        """The ids of the tokens reserved for copying."""
        return range(len(SPECIALS), len(SPECIALS) + self.num_copies)

    @property
    def num_target_words(self) -> int:
        """How many words of the data occur in the targets of the training split."""
        return sum(count > 0 for count in self.counts[self.copies.stop :])

    def with_counts(self, counts: Sequence[int]) -> "Vocabulary":
        """Return the same words with other target counts."""
        return type(self)(self.words, tuple(counts), self.num_copies)

    def to_table(self) -> dict[str, Any]:
        """Return plain values for JSON, as `from_table` takes them."""
        return {
            "words": list(self.words),
            "counts": list(self.counts),
            "num_copies": self.num_copies,
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Vocabulary":
        """Return the vocabulary that `to_table` described."""
        return cls(tuple(table["words"]), tuple(table["counts"]), int(table["num_copies"]))
