"""How rules are kept during a search, for all hypotheses of a batch at once.

Choices that break a rule, or would make it impossible to keep, are left out, so all outputs obey.
Given tokens are written first, left to right; what follows may only go into open slots. A required
word of several tokens is written at one go, left to right, and nothing comes between. Where tokens
are pieces of words, none that would lengthen a given or required word comes right of it. END is
possible once nothing is owed: every gap has a token with a letter, every required word stands.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from voi.search.rules import Rules, check_lengths
from voi.tokens.vocabulary import END


@dataclass(frozen=True)
class RuleState:
    """The rules of a batch, and what each hypothesis has yet to do to keep them."""

    given: Int[Tensor, "batch g"]
    num_given: Int[Tensor, " batch"]
    given_open: Bool[Tensor, "batch around"]
    given_gaps: Bool[Tensor, "batch around"]
    required: Int[Tensor, "batch r p"]  # tokens of each word, -1 after them
    max_length: int
    open: Bool[Tensor, "batch beam slots"]
    gaps: Bool[Tensor, "batch beam slots"]
    missing: Bool[Tensor, "batch beam r"]
    begun: Int[Tensor, "batch beam p"]  # the tokens that a word in the making still lacks, then -1
    place: Int[Tensor, "batch beam"]  # the slot for the first of them
    joins: Int[Tensor, " j"]  # pieces that lengthen the word on their left
    marks: Int[Tensor, " m"]  # pieces without a letter, which fill no gap
    given_sealed: Bool[Tensor, "batch around"]
    sealed: Bool[Tensor, "batch beam slots"]  # right of a whole word that must stay what it is
    joined: Bool[Tensor, "batch beam slots"]  # left of a piece that would lengthen it
    is_free: bool  # no example has rules: only the maximal length holds
    step: int = field(default=0)

    @staticmethod
    def start(
        rules: Sequence[Rules], beam: int, max_length: int, device: torch.device
    ) -> "RuleState":
        """Return the state of a batch before the first step."""
        check_lengths(rules, max_length)
        joins, marks = _pieces(rules)
        given = _padded([r.given for r in rules], 0, device)
        required = _padded_words([r.required for r in rules], device)
        num_given = torch.tensor([len(r.given) for r in rules], device=device)
        given_open = _padded([r.open_slots for r in rules], 0, device).bool()
        given_gaps = _padded([r.gaps for r in rules], 0, device).bool()
        is_free = (num_given == 0)[:, None, None].expand(-1, beam, -1)
        given_sealed = _padded(
            [r.sealed or (False,) * (len(r.given) + 1) for r in rules], 0, device
        )
        return RuleState(
            given,
            num_given,
            given_open,
            given_gaps,
            required,
            max_length,
            open=is_free & given_open[:, None, :1],
            gaps=is_free & given_gaps[:, None, :1],
            missing=(required[..., 0] >= 0).unsqueeze(1).repeat(1, beam, 1),
            begun=torch.full((len(rules), beam, required.shape[-1]), -1, device=device),
            place=torch.zeros(len(rules), beam, dtype=torch.long, device=device),
            joins=torch.tensor(joins, dtype=torch.long, device=device),
            marks=torch.tensor(marks, dtype=torch.long, device=device),
            given_sealed=given_sealed.bool(),
            sealed=torch.zeros(len(rules), beam, 1, dtype=torch.bool, device=device),
            joined=torch.zeros(len(rules), beam, 1, dtype=torch.bool, device=device),
            is_free=all(rule == Rules() for rule in rules),
        )

    def select(self, rows: Int[Tensor, " rows"]) -> "RuleState":
        """Return the state of some examples of the batch."""
        names = ["given", "num_given", "given_open", "given_gaps", "required"]
        names += ["open", "gaps", "missing", "begun", "place", "sealed", "given_sealed", "joined"]
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    @property
    def owed(self) -> Int[Tensor, "batch beam"]:
        """How many tokens suffice to keep all rules from here on."""
        unwritten = (self.num_given - self.step).clamp(min=0)
        gaps_to_come = self.given_gaps.sum(-1).where(unwritten > 0, 0)
        sizes = (self.required >= 0).sum(-1).unsqueeze(1)
        of_words = (self.missing * sizes).sum(-1) + (self.begun >= 0).sum(-1)
        return of_words + self.gaps.sum(-1) + (unwritten + gaps_to_come).unsqueeze(1)

    @property
    def is_tight(self) -> Bool[Tensor, "batch beam"]:
        """Is there room only for what is owed?"""
        return self.owed >= self.max_length - self.step

    @property
    def is_inside(self) -> Bool[Tensor, "batch beam"]:
        """Does a word lack tokens that must come next?"""
        return self.begun[..., 0] >= 0

    def allow_tokens(self, log_probs: Tensor) -> Tensor:
        """Return log-probabilities [batch, beam, v] with impossible tokens at -inf."""
        if self.is_free and self.step < self.max_length:
            return log_probs
        allowed = log_probs.clone()
        ends = self.owed == 0
        allowed[..., END] = allowed[..., END].where(ends, -math.inf)
        is_given = (self.step < self.num_given)[:, None, None]
        has_room = self.open.any(-1, keepdim=True) & (self.step < self.max_length)
        end = torch.full_like(ends, END, dtype=torch.long).unsqueeze(-1)
        allowed = torch.where(has_room, allowed, _only(allowed, end))
        usable = torch.where(self.is_tight.unsqueeze(-1), self.gaps, self.open) & ~self.sealed
        stuck = ~usable.any(-1, keepdim=True)  # no slot for a piece that lengthens a word
        allowed[..., self.joins] = allowed[..., self.joins].masked_fill(stuck, -math.inf)
        cramped = (self.is_tight & self.gaps.any(-1)).unsqueeze(-1)
        if len(self.marks) and bool(cramped.any()):  # a mark fills no gap and takes its room
            in_vain = cramped & ~self._wanted(allowed.shape[-1])[..., self.marks]
            allowed[..., self.marks] = allowed[..., self.marks].masked_fill(in_vain, -math.inf)
        if bool(is_given.any()):
            token = self.given[:, min(self.step, self.given.shape[1] - 1)]
            forced = _only(log_probs, token[:, None, None].expand(*ends.shape, 1))
            allowed = torch.where(is_given, forced, allowed)
        must = (self.is_tight & (self.gaps.sum(-1) == 0) & (self.missing.sum(-1) > 0)).unsqueeze(-1)
        if bool((must & ~is_given).any()):  # nothing but required words fits any more
            wanted = self._wanted(allowed.shape[-1])
            allowed = torch.where(must & ~is_given & ~wanted, -math.inf, allowed)
        if bool(self.is_inside.any()):
            forced = _only(log_probs, self.begun[..., :1].clamp(min=0))
            allowed = torch.where(self.is_inside.unsqueeze(-1), forced, allowed)
        return allowed

    def _wanted(self, size: int) -> Bool[Tensor, "batch beam v"]:
        """Return which tokens begin a word that is required and still missing."""
        shape = (*self.missing.shape[:2], size + 1)
        first = self.required[..., 0]
        index = first.unsqueeze(1).expand_as(self.missing) % (size + 1)  # none -> last
        counts = torch.zeros(shape, dtype=torch.long, device=self.missing.device)
        return counts.scatter_add(-1, index, self.missing.long())[..., :size] > 0

    def allow_slots(self, log_probs: Tensor, tokens: Int[Tensor, "batch beam choices"]) -> Tensor:
        """Return log-probabilities [batch, beam, choices, slots] with closed slots at -inf."""
        if self.is_free:
            return log_probs
        is_given = (self.step < self.num_given)[:, None, None]
        last = torch.zeros_like(self.open)
        last[..., -1] = True
        allowed = torch.where(is_given, last, self.open).unsqueeze(2)
        if bool(self.is_tight.any()):  # a token that is not owed may only fill a gap
            pays = tokens.unsqueeze(-1) == self.required[:, None, None, :, 0]
            is_owed = (pays & self.missing.unsqueeze(2)).any(-1) | is_given
            tight = self.is_tight[..., None] & ~is_owed
            allowed = allowed & (~tight.unsqueeze(-1) | self.gaps.unsqueeze(2))
        lengthens = torch.isin(tokens, self.joins).unsqueeze(-1) & ~is_given.unsqueeze(-1)
        allowed = allowed & ~(lengthens & self.sealed.unsqueeze(2))
        begins = tokens.unsqueeze(-1) == self.required[:, None, None, :, 0]
        begins = (begins & self.missing.unsqueeze(2)).any(-1, keepdim=True)
        allowed = allowed & ~(begins & self.joined.unsqueeze(2))
        is_place = torch.arange(last.shape[-1], device=last.device) == self.place.unsqueeze(-1)
        allowed = torch.where(self.is_inside[..., None, None], is_place.unsqueeze(2), allowed)
        return log_probs.masked_fill(~allowed, -math.inf)

    def advance(
        self,
        parents: Int[Tensor, "batch beam"],
        tokens: Int[Tensor, "batch beam"],
        slots: Int[Tensor, "batch beam"],
    ) -> "RuleState":
        """Return the state after each hypothesis took a step from one of the old ones."""
        if self.is_free:
            return replace(self, step=self.step + 1)
        before = self._of_parents(parents)
        after = before._with_words(tokens)
        begins = (before.missing & ~after.missing).any(-1)
        ends_word = (before.is_inside | begins) & ~after.is_inside
        return after._with_slots(tokens, slots, before.is_inside, ends_word)._with_given_slots()

    def _of_parents(self, parents: Int[Tensor, "batch beam"]) -> "RuleState":
        """Return the state with each hypothesis replaced by the one it goes on from."""
        names = ("open", "gaps", "missing", "begun", "sealed", "joined")
        states = ((name, getattr(self, name)) for name in names)
        rows = parents.unsqueeze(-1)
        return replace(
            self, **{name: x.gather(1, rows.expand(-1, -1, x.shape[-1])) for name, x in states}
        )

    def _with_words(self, tokens: Int[Tensor, "batch beam"]) -> "RuleState":
        """Return the state with what a token does to required words: `missing` and `begun`."""
        is_inside = self.is_inside.unsqueeze(-1)
        hit = (tokens.unsqueeze(-1) == self.required[:, None, :, 0]) & self.missing & ~is_inside
        is_given = (self.step < self.num_given)[:, None, None]
        is_long = (self.required[:, None, :, 1:] >= 0).any(-1)
        hit = hit & ~(is_given & is_long)  # the next token is a given one, not the word's
        hit = hit & (hit.cumsum(-1) == 1)  # a word required twice must be written twice
        begins = (hit.unsqueeze(-1) * (self.required.unsqueeze(1) + 1)).sum(2) - 1  # -1: none
        left = torch.where(is_inside, self.begun, begins)[..., 1:]
        begun = nn.functional.pad(left, (0, 1), value=-1)
        return replace(self, missing=self.missing & ~hit, begun=begun)

    def _with_slots(
        self,
        tokens: Int[Tensor, "batch beam"],
        slots: Int[Tensor, "batch beam"],
        is_inside: Bool[Tensor, "batch beam"],
        ends_word: Bool[Tensor, "batch beam"],
    ) -> "RuleState":
        """Return the state with each token in its slot, which becomes two.

        The token went on with a required word (`is_inside`), or was the last of one (`ends_word`).
        """
        side = torch.arange(self.gaps.shape[-1] + 1, device=slots.device) - slots.unsqueeze(-1)
        is_left, is_right = side == 0, side == 1
        between = is_inside.unsqueeze(-1) & is_left  # nothing comes between a word's tokens
        has_letter = ~torch.isin(tokens, self.marks).unsqueeze(-1)
        lengthens = torch.isin(tokens, self.joins).unsqueeze(-1)
        return replace(
            self,
            open=_split(self.open, slots) & ~between,
            gaps=_split(self.gaps, slots) & ~(is_left | (is_right & has_letter)),
            joined=torch.where(is_left, lengthens, _split(self.joined, slots)),
            sealed=torch.where(is_right, ends_word.unsqueeze(-1), _split(self.sealed, slots)),
            place=slots + 1,
            step=self.step + 1,
        )

    def _with_given_slots(self) -> "RuleState":
        """Return the state with the rules of slots where the last given token was just written."""
        complete = (self.num_given == self.step)[:, None, None]
        if not bool(complete.any()):
            return self

        def ruled(given: Tensor, slots: Tensor) -> Tensor:
            return torch.where(complete, given[:, None, : self.step + 1], slots)

        return replace(
            self,
            open=ruled(self.given_open, self.open),
            gaps=ruled(self.given_gaps, self.gaps),
            sealed=ruled(self.given_sealed, self.sealed),
        )


def _only(log_probs: Tensor, tokens: Int[Tensor, "batch beam 1"]) -> Tensor:
    kept = log_probs.gather(-1, tokens)
    return torch.full_like(log_probs, -math.inf).scatter(-1, tokens, kept)


def _split(
    flags: Bool[Tensor, "batch beam slots"], slots: Int[Tensor, "batch beam"]
) -> Bool[Tensor, "batch beam more"]:
    """Return flags with the one of the chosen slot doubled: a token now stands in its middle."""
    places = torch.arange(flags.shape[-1] + 1, device=flags.device)
    index = places - (places > slots.unsqueeze(-1)).long()
    return flags.gather(-1, index)


def _pieces(rules: Sequence[Rules]) -> tuple[list[int], list[int]]:
    """Return the pieces that lengthen words and those without a letter, the same for all rules."""
    kinds = {(rule.joins, rule.marks) for rule in rules if rule != Rules()}
    if len(kinds) > 1:
        raise ValueError("joins and marks must be the same in all rules of a batch")
    joins, marks = next(iter(kinds), (frozenset(), frozenset()))
    return sorted(joins), sorted(marks)


def _padded(
    rows: Sequence[Sequence[int]], fill: int, device: torch.device
) -> Int[Tensor, "batch size"]:
    size = max((len(row) for row in rows), default=0)
    table = [[*row, *[fill] * (size - len(row))] for row in rows]
    return torch.tensor(table, dtype=torch.long, device=device).view(len(rows), size)


def _padded_words(
    rows: Sequence[Sequence[Sequence[int]]], device: torch.device
) -> Int[Tensor, "batch r p"]:
    num_words = max((len(words) for words in rows), default=0)
    size = max((len(word) for words in rows for word in words), default=1)
    blank = [-1] * size
    table = [
        [*([*word, *blank[len(word) :]] for word in words), *[blank] * (num_words - len(words))]
        for words in rows
    ]
    return torch.tensor(table, dtype=torch.long, device=device).view(len(rows), num_words, size)
