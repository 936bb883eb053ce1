"""The texts of the course: short opinions by two rules."""

from __future__ import annotations

import random
from itertools import product

SUBJECTS = ("acting", "plot", "music", "ending")
PRAISE = ("good", "warm", "clever", "fresh")
BLAME = ("bad", "dull", "silly", "stale")
_SEED = 1


def opinions() -> tuple[list[str], list[str]]:
    """Return 1,600 texts and their labels, in a random order that is always the same.

    A clause is "the plot is dull" or "the plot is not dull". A text is one clause, or two of opposite opinion with
    "but" between them: "the plot is dull but the music is not bad". Two rules give the label: "not" turns a clause
    round, and the last clause decides. For each text with "but" there is one with the same words and the opposite
    label, so counting words cannot find the label.
    """
    clauses = {
        f"the {subject} is {word}{adjective}": (adjective in PRAISE) != bool(word)
        for subject, word, adjective in product(SUBJECTS, ("", "not "), PRAISE + BLAME)
    }
    found = list(clauses.items())
    for (first, before), (last, positive) in product(clauses.items(), repeat=2):
        if before != positive and first.split()[1] != last.split()[1]:
            found.append((f"{first} but {last}", positive))
    random.Random(_SEED).shuffle(found)
    return [text for text, _ in found], ["positive" if positive else "negative" for _, positive in found]
