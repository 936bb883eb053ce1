"""As rare as a rare word: what an embedding must be besides right where a model also predicts words with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassformer.words.context import Vectors
from glassformer.words.embedding_map import FEWEST_WORDS

_QUARTER, _HALF = 4, 2


@dataclass(frozen=True, kw_only=True)
class RarePlace:
    """Where rare words stand along the line that leads from frequent words to rare ones.

    With a tied head a word's logit is the product of the hidden state and its embedding, so how often a word is said
    must be written in its embedding. Training pushes rare words together to where no hidden state points (Gao et al.
    2019, "Representation Degeneration Problem in Training Natural Language Generation Models").

    Attributes:
        direction: (d_model,) of length 1.
        place: of rare words along it.
    """

    direction: Vectors
    place: float

    def __call__(self, vectors: Vectors) -> Vectors:
        """Each vector (words, d_model) moved along the line to that place; across it, it stays as it is."""
        moved: Vectors = vectors + (self.place - vectors @ self.direction)[:, None] * self.direction
        return moved


def rare_place(embeddings: Vectors) -> RarePlace | None:
    """From the mean of the most frequent quarter to that of the rarest; the place is the rarer half's median.

    Args:
        embeddings: (words, d_model) of known words, the most frequent first.

    Returns:
        None where they are fewer than `FEWEST_WORDS`, or both means are the same.
    """
    if len(embeddings) < FEWEST_WORDS:
        return None
    quarter = len(embeddings) // _QUARTER
    line = embeddings[-quarter:].mean(axis=0) - embeddings[:quarter].mean(axis=0)
    length = float(np.linalg.norm(line))
    if length == 0:
        return None
    direction = line / length
    rarer = embeddings[len(embeddings) // _HALF :]
    return RarePlace(direction=direction, place=float(np.median(rarer @ direction)))
