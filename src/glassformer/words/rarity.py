"""Place new embeddings where those of rare words are, for models that also predict words with their embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassformer.words.embedding_map import FEWEST_WORDS, Vectors

_QUARTER, _HALF = 4, 2


@dataclass(frozen=True, kw_only=True)
class RarePlace:
    """The place of rare words along the direction from frequent words to rare ones.

    With a tied head, a word's logit is the product of the hidden state and the word's embedding. The embedding
    therefore also decides how often the model writes the word. Training pushes rare words together, to where no hidden
    state points (Gao et al. 2019, "Representation Degeneration Problem in Training Natural Language Generation
    Models").

    Attributes:
        direction: the direction (d_model,), of length 1.
        place: the coordinate of rare words along it.
    """

    direction: Vectors
    place: float

    def __call__(self, vectors: Vectors) -> Vectors:
        """Move each vector (words, d_model) along the direction to that place. Its orthogonal part does not change."""
        moved: Vectors = vectors + (self.place - vectors @ self.direction)[:, None] * self.direction
        return moved


def rare_place(embeddings: Vectors) -> RarePlace | None:
    """Find the place of rare words.

    The direction leads from the mean of the most frequent quarter of the words to the mean of the rarest quarter. The
    place is the median coordinate of the rarer half.

    Args:
        embeddings: the embeddings of known words (words, d_model), the most frequent first.

    Returns:
        The place, or None if there are fewer than `FEWEST_WORDS` words or both means are the same.
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
