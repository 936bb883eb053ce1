"""Texts whose words tell their class, in small numbers."""

from typing import Any

import numpy as np

NOUNS = ("plot", "actor", "scene", "ending", "music", "camera")
ADJECTIVES = {0: ("dull", "awful", "thin"), 1: ("superb", "warm", "clever"), 2: ("long", "loud", "foreign")}


def opinions(n_rows: int, *, classes: int = 2, seed: int = 0, noise: float = 0.1) -> tuple[list[str], Any]:
    """Texts of an adjective of their class and other words, and their class numbers."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % classes
    shown = np.where(rng.random(n_rows) < noise, rng.integers(classes, size=n_rows), labels)
    texts = [
        f"the {rng.choice(NOUNS)} is {rng.choice(ADJECTIVES[label])} and so is the {rng.choice(NOUNS)}"
        for label in shown
    ]
    return texts, labels
