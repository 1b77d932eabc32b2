"""Tagged sentences for the tests: made here, word by word, from a small grammar."""

import itertools
import random

ADJECTIVES, NAMES, NOUNS = ("old", "green", "narrow"), ("Mira", "Otto"), ("gate", "boat", "ladder")
VERBS = ("paint", "repair", "lift")


def made_sentences():
    """Return 81 sentences; "paint" and "lift" are nouns in some of them and verbs in others."""
    found = []
    for adjective, noun, verb in itertools.product(ADJECTIVES, NOUNS, VERBS):
        found += [
            f"they/PRON {verb}/VERB the/DET {adjective}/ADJ {noun}/NOUN ./.",
            f"the/DET {adjective}/ADJ paint/NOUN of/ADP the/DET {noun}/NOUN dries/VERB quickly/ADV",
            f"we/PRON {verb}/VERB 3/NUM lift/NOUN doors/NOUN and/CONJ a/DET {noun}/NOUN",
        ]
    return found


def unseen_sentences():
    """Return sentences that are not among the others, some with words that those lack."""
    return [
        "we/PRON paint/VERB the/DET narrow/ADJ gate/NOUN and/CONJ the/DET boat/NOUN ./.",
        "they/PRON lift/VERB a/DET wooden/ADJ crate/NOUN ./.",
        "the/DET green/ADJ lift/NOUN of/ADP the/DET harbour/NOUN sinks/VERB slowly/ADV",
    ]


def random_sentences():
    """Return sentences whose tags follow no rule, so that their order is never without effect."""
    rng = random.Random(5)
    tags = ("NOUN", "VERB", "ADJ", "X")
    return [
        [(rng.choice("abcdefgh"), rng.choice(tags)) for _ in range(rng.randint(1, 9))]
        for _ in range(40)
    ]


def pairs_of(sentence):
    """Return words and tags of a sentence, by plain splitting; no word here has a slash."""
    return [tuple(token.split("/")) for token in sentence.split()]


def write_lines(path, sentences):
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return path
