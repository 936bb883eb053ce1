"""Definitions to embeddings, for any model with a tokenizer, a table of embeddings and a way to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from glassformer.data.store import IntArray
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.words.context import Vectors
from glassformer.words.definitions import resolve
from glassformer.words.dictionary import Dictionary
from glassformer.words.embedding_map import FEWEST_WORDS, MOST_WORDS, EmbeddingMap, fit_map, unit
from glassformer.words.rarity import rare_place


@dataclass(frozen=True, kw_only=True)
class WordSpace:
    """A model as far as words go.

    Attributes:
        tokenizer: texts to the rows of `embeddings`.
        embeddings: (vocab, d_model).
        read: token ids of some texts and a table of embeddings, which may be larger, to one context vector per text.
        learned: words that were added before. No map is fitted on them: their embeddings came from one.
        predicts: whether the model also predicts words with these embeddings.
    """

    tokenizer: TextTokenizer
    embeddings: Tensor
    read: Callable[[Sequence[IntArray], Tensor], Vectors]
    learned: frozenset[str] = frozenset()
    predicts: bool = False

    def by_frequency(self) -> dict[str, int]:
        """Word → id of the words that it was trained with, from the most frequent to the rarest.

        So vocabularies of words are numbered; those of pieces by when a piece was made, which is nearly the same.
        """
        words = self.tokenizer.words()
        return {word: words[word] for word in sorted(words, key=words.__getitem__) if word not in self.learned}

    def with_words(self, words: Mapping[str, Vectors]) -> WordSpace:
        """The same model with more words."""
        rows = torch.from_numpy(np.stack(list(words.values()))).to(self.embeddings.dtype)
        return replace(
            self,
            tokenizer=self.tokenizer.with_words(list(words)),
            embeddings=torch.cat([self.embeddings, rows]),
            learned=self.learned | set(words),
        )


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A new word's place.

    Attributes:
        vector: the embedding (d_model,).
        bare: what the map alone gave, or the average without one, before it was `settled`.
        unknown: the words of the definition that were unknown when it was read.
    """

    vector: Vectors
    bare: Vectors
    unknown: tuple[str, ...]


def map_of(space: WordSpace, dictionary: Dictionary) -> EmbeddingMap | None:
    """The map fitted on words that the model knows and the dictionary defines; none where they are too few.

    The embeddings of rare words are little but chance: the random start, and the labels of the few texts that they were
    met in. So it is the most frequent ones that count.
    """
    ids: list[int] = []
    definitions: list[str] = []
    for word, id_ in space.by_frequency().items():
        definition = dictionary.define(word)
        if definition and readable(space.tokenizer.encode([definition])[0]):
            ids.append(id_)
            definitions.append(definition)
        if len(ids) == MOST_WORDS:
            break
    if len(set(definitions)) < FEWEST_WORDS:
        return None
    rows = space.tokenizer.encode(definitions)
    return fit_map(
        space.read(rows, space.embeddings),
        space.embeddings.double().numpy()[ids],
        averages(rows, space.embeddings),
        definitions,
    )


def embed_words(
    space: WordSpace,
    wanted: Mapping[str, str],
    dictionary: Dictionary | None,
    mapped: Callable[[Vectors], Vectors] | None,
    *,
    depth: int,
) -> dict[str, Embedded]:
    """An embedding for each word (as the vocabulary spells it) of `wanted` from its definition.

    Unknown words of a definition are first learned the same way, from the dictionary, for this reading alone. A word
    of whose definition nothing is known gets none and is left out.

    Args:
        mapped: context vectors (words, d_model) to embeddings; without a map the average of the embeddings of the
            definition's words is taken. What is found is then `settled`.
        depth: see `resolve`.
    """
    known, settle = space.tokenizer, settled(space, fill=mapped is not None)
    layers = resolve(
        wanted,
        define=lambda word: None if dictionary is None else dictionary.define(word),
        unknown_words=lambda text: unknown_words(known, text),
        depth=depth,
    )
    found: dict[str, Embedded] = {}
    for layer in layers:
        encoded = dict(zip(layer, space.tokenizer.encode(list(layer.values())), strict=True))
        rows = {word: ids for word, ids in encoded.items() if readable(ids)}
        if not rows:
            continue
        texts = list(rows.values())
        means = averages(texts, space.embeddings)
        bare = means if mapped is None else mapped(space.read(texts, space.embeddings))
        for word, vector, alone in zip(rows, settle(bare, means), bare, strict=True):
            unknown = tuple(unknown_words(space.tokenizer, layer[word]))
            found[word] = Embedded(vector=vector, bare=alone, unknown=unknown)
        space = space.with_words({word: found[word].vector for word in rows})
    return {word: found[word] for word in wanted if word in found}


def settled(space: WordSpace, *, fill: bool) -> Callable[[Vectors, Vectors], Vectors]:
    """What is done to the vectors that were found, given them and the averages of their definitions.

    Where the model also predicts with its embeddings, the new ones go where those of rare words are. Elsewhere they are
    `filled` up to the median length of the known ones, or stay as they are.
    """
    if space.predicts:
        place = rare_place(space.embeddings.double().numpy()[list(space.by_frequency().values())])
        return lambda bare, _: bare if place is None else place(bare)
    length = float(space.embeddings.norm(dim=1).median())
    return lambda bare, means: filled(bare, means, length) if fill else bare


def unknown_words(tokenizer: TextTokenizer, text: str) -> list[str]:
    """The words of a text that are read as unknown, as the vocabulary would spell them; signs are no words."""
    found = dict.fromkeys(map(tokenizer.normalised, tokenizer.unknown_words(text)))
    return [word for word in found if any(character.isalnum() for character in word)]


def readable(ids: IntArray) -> bool:
    """Whether any token of a text is known."""
    return bool((ids != UNKNOWN_ID).any())


def averages(rows: Sequence[IntArray], embeddings: Tensor) -> Vectors:
    """The mean embedding of each row's known tokens (rows, d_model)."""
    table = embeddings.double().numpy()
    return np.stack([table[ids[ids != UNKNOWN_ID]].mean(axis=0) for ids in rows])


def filled(vectors: Vectors, means: Vectors, length: float) -> Vectors:
    """Each vector plus as much of `means`, its part at right angles to the vector, as makes it `length` long.

    A regression that can say little gives short vectors, and a model that normalises does not see how short: it would
    read them as words that are nothing but what they say of the label. The average of the definition's embeddings
    stands in for what the map does not know. Vectors that are longer than `length` stay as they are.
    """
    along = unit(vectors)
    across = unit(means - (means * along).sum(axis=1, keepdims=True) * along)
    missing = np.sqrt(np.maximum(length**2 - (vectors**2).sum(axis=1, keepdims=True), 0.0))
    full: Vectors = vectors + across * missing
    return full


def nearest(space: WordSpace, vectors: Sequence[Vectors], *, count: int) -> list[list[tuple[str, float]]]:
    """For each vector the known words with the largest cosine to it, and that cosine, the nearest first."""
    words = space.tokenizer.words()
    names = list(words)
    table = unit(space.embeddings.double().numpy()[list(words.values())])
    near = [table @ unit(vector) for vector in vectors]
    return [[(names[place], float(one[place])) for place in np.argsort(-one, kind="stable")[:count]] for one in near]
