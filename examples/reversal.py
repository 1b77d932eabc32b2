"""A new task: letters in, the same letters backwards out.

    cd examples && voi train reversal.toml

A task is a dataclass with split() and known_orders(); its fields are set by data.options.
"""

import random
from dataclasses import dataclass
from typing import ClassVar

from voi.data import Example


@dataclass(frozen=True)
class Reversal:
    target_kind: ClassVar = "symbols"  # scored by exact match, without parts of speech

    letters: int = 5
    train: int = 2000

    def split(self, name: str) -> list[Example]:
        rng = random.Random(name)
        count = self.train if name == "train" else 200
        words = [[rng.choice("abcdef") for _ in range(self.letters)] for _ in range(count)]
        return [Example(" ".join(word), " ".join(reversed(word))) for word in words]

    def known_orders(self, example: Example) -> tuple[tuple[int, ...], ...]:
        return ()  # every order is as good as any other
