"""The words whose embeddings are nearest to that of a word."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.data.arrays import unit
from glassformer.data.tokenizers import TextTokenizer


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A word of the vocabulary, and the cosine of its embedding with that of the word in question."""

    word: str
    cosine: float


def neighbours_of(
    model: Any, tokenizer: TextTokenizer, words: Iterable[str], *, count: int
) -> dict[str, tuple[Neighbour, ...]]:
    """Return the nearest words of each word, the nearest first.

    A word is left out if it is not a single token of the vocabulary. All are, if the embeddings of the model are not
    learned, or if there is no model, as in an export.
    """
    if model is None:
        return {}
    from glassformer.models.parts import embedding_table

    table = embedding_table(model)
    if table is None:
        return {}
    vectors = unit(table.detach().float().cpu().numpy())
    known = tokenizer.words()
    spelled = list(known)
    candidates = vectors[list(known.values())]
    found: dict[str, tuple[Neighbour, ...]] = {}
    for word in words:
        normal = tokenizer.normalised(word)
        if normal in known:
            cosines = candidates @ vectors[known[normal]]
            nearest = np.argsort(-cosines, kind="stable")[: count + 1].tolist()
            found[word] = tuple(
                Neighbour(word=spelled[number], cosine=round(float(cosines[number]), 4))
                for number in nearest
                if spelled[number] != normal
            )[:count]
    return found
