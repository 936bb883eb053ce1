"""The words whose embeddings are nearest to that of a word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from glassformer.models.parts import embedding_table
from glassformer.prediction.model_folder import TrainedModel


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A word of the vocabulary, and the cosine of its embedding with that of the word in question."""

    word: str
    cosine: float


@torch.no_grad()
def neighbours_of(trained: TrainedModel, words: Iterable[str], *, count: int) -> dict[str, tuple[Neighbour, ...]]:
    """Return the nearest words of each word, the nearest first.

    A word is left out if it is not a single token of the vocabulary. All are, if the embeddings of the model are not
    learned.
    """
    table = embedding_table(trained.model)
    if table is None:
        return {}
    known = trained.tokenizer.words()
    spelled = list(known)
    unit = F.normalize(table.float(), dim=-1)
    candidates = unit[torch.tensor(list(known.values()), device=table.device)]
    found: dict[str, tuple[Neighbour, ...]] = {}
    for word in words:
        normal = trained.tokenizer.normalised(word)
        if normal in known:
            cosines, nearest = (candidates @ unit[known[normal]]).topk(min(count + 1, len(spelled)))
            found[word] = tuple(
                Neighbour(word=spelled[number], cosine=round(cosine, 4))
                for cosine, number in zip(cosines.tolist(), nearest.tolist(), strict=True)
                if spelled[number] != normal
            )[:count]
    return found
