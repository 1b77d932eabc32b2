"""Parts of speech in the universal tagset, for analyses of which words come first.

A tagger maps the tokens of a text to one tag each; any function that does so can take its place.
"""

from voi.pos.named import Tagger, located_tagger, make_tagger
from voi.pos.tagset import UNIVERSAL, accepted_tag, universal_tag

__all__ = [
    "UNIVERSAL",
    "Tagger",
    "accepted_tag",
    "located_tagger",
    "make_tagger",
    "universal_tag",
]
