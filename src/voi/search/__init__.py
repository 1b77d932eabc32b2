"""Greedy, beam and sampled generation: decoder + source -> hypotheses."""

from voi.search.hypothesis import Hypothesis
from voi.search.rules import GAP, Rules, rules_with_gaps, rules_with_keywords, rules_with_prefix
from voi.search.search import Found, Sampling, ids_in_reading_order, search

__all__ = [
    "GAP",
    "Found",
    "Hypothesis",
    "Rules",
    "Sampling",
    "ids_in_reading_order",
    "rules_with_gaps",
    "rules_with_keywords",
    "rules_with_prefix",
    "search",
]
