"""The words that a model takes for alike: those with the nearest embeddings, and those with the nearest vectors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.data.arrays import unit
from glassformer.data.model_marks import BODY_FILE
from glassformer.data.tokenizers import TextTokenizer
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.body.vectors import Body, body_folder
from glassformer.readers.counting.ngrams import words_of


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A known word, and the cosine of its vector with that of the word in question."""

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


def body_reader_of(trained: Any) -> BodyReader | None:
    reader = trained.readers.get("body")
    return reader if isinstance(reader, BodyReader) else None


def near_in_body(trained: Any, words: Iterable[str], *, count: int) -> Mapping[str, tuple[Neighbour, ...]]:
    """Return the words of the body with the nearest vectors, for each word that it knows whole or in pieces.

    A model keeps what words add to its answers, not the vectors. So there are none if it does not ask a body, if its
    texts alone made the body, or if the body has gone or is another one. The vectors of a body that was continued for
    this model are those before.
    """
    reader = body_reader_of(trained)
    if reader is None or reader.origin == "own" or "body" not in trained.config.asked:
        return {}
    folder = body_folder(trained.config.model.body)
    if not (folder / BODY_FILE).is_file():
        return {}
    body, found = Body.load(folder), {}
    before, after = body.index.keys(), reader.index.keys()
    is_this = before == after if reader.origin == "given" else before <= after
    if not is_this or body.pieces != reader.pieces:
        return {}
    for word in words:
        if near := [each for part in words_of(word)[:1] for each in body.nearest(part, count)]:
            found[word] = tuple(Neighbour(word=each, cosine=round(cosine, 4)) for each, cosine in near)
    return found
