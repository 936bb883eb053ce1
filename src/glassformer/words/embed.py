"""Make embeddings from definitions, for any model that has a tokenizer, an embedding table and context vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from glassformer.data.arrays import IntArray, unit
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.words.dictionary import Dictionary
from glassformer.words.embedding_map import FEWEST_WORDS, MOST_WORDS, EmbeddingMap, Vectors, fit_map


@dataclass(frozen=True, kw_only=True)
class WordSpace:
    """The parts of a model that learning words needs.

    Attributes:
        tokenizer: its token ids are rows of `embeddings`.
        read: takes the token ids of texts and an embedding table, which may be larger, and returns one context vector
            per text.
        learned: words that were added before. No map is fitted on them, because a map gave them their embeddings.
        predicts: whether the model also predicts words with these embeddings.
    """

    tokenizer: TextTokenizer
    embeddings: Tensor
    read: Callable[[Sequence[IntArray], Tensor], Vectors]
    learned: frozenset[str] = frozenset()
    predicts: bool = False

    def by_frequency(self) -> dict[str, int]:
        """Return word → id for the words that the model was trained with, from the most frequent to the rarest.

        Word vocabularies are numbered in this order. Vocabularies of pieces are numbered by when a piece was made,
        which is nearly the same order.
        """
        words = self.tokenizer.words()
        return {word: words[word] for word in sorted(words, key=words.__getitem__) if word not in self.learned}

    def with_words(self, words: Mapping[str, Vectors]) -> WordSpace:
        """Return the same model with more words."""
        rows = torch.from_numpy(np.stack(list(words.values()))).to(self.embeddings.dtype)
        return replace(
            self,
            tokenizer=self.tokenizer.with_words(list(words)),
            embeddings=torch.cat([self.embeddings, rows]),
            learned=self.learned | set(words),
        )


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """The embedding of a new word.

    Attributes:
        bare: the embedding before it was `settled`: the result of the map, or the average if there is no map.
        unknown: the words of the definition that were unknown when it was read.
    """

    vector: Vectors
    bare: Vectors
    unknown: tuple[str, ...]


def map_of(space: WordSpace, dictionary: Dictionary) -> EmbeddingMap | None:
    """Fit a map on the words that the model knows and the dictionary defines. Return None if there are too few.

    Only the most frequent words are used. The embedding of a rare word depends mostly on chance: on its random start,
    and on the labels of the few texts that hold it.
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
    """Make an embedding for each word of `wanted` from its definition.

    Unknown words of a definition are first learned from the dictionary in the same way. They are only used to read the
    definition and are not returned. A word is left out if no token of its definition is known.

    Args:
        mapped: maps context vectors (words, d_model) to embeddings. With None, a word gets the average of the
            embeddings of its definition's words. The result is then `settled`.
    """
    known, settle = space.tokenizer, settled(space, fill=mapped is not None)
    layers = in_layers(
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
    """Return the last step on new embeddings: a function of the vectors and of the averages of their definitions.

    If the model also predicts with its embeddings, the function moves the new ones to where rare words are. Otherwise
    it makes them as long as the median known embedding (see `filled`), or returns them unchanged if `fill` is False.
    """
    if space.predicts:
        place = rare_place(space.embeddings.double().numpy()[list(space.by_frequency().values())])
        return lambda bare, _: bare if place is None else place(bare)
    length = float(space.embeddings.norm(dim=1).median())
    return lambda bare, means: filled(bare, means, length) if fill else bare


def unknown_words(tokenizer: TextTokenizer, text: str) -> list[str]:
    """Return the words of a text that are read as unknown, normalised as in the vocabulary. Punctuation is left out."""
    found = dict.fromkeys(map(tokenizer.normalised, tokenizer.unknown_words(text)))
    return [word for word in found if any(character.isalnum() for character in word)]


def readable(ids: IntArray) -> bool:
    """Return whether any token of a text is known."""
    return bool((ids != UNKNOWN_ID).any())


def averages(rows: Sequence[IntArray], embeddings: Tensor) -> Vectors:
    """Return the mean embedding of each row's known tokens (rows, d_model)."""
    table = embeddings.double().numpy()
    return np.stack([table[ids[ids != UNKNOWN_ID]].mean(axis=0) for ids in rows])


def filled(vectors: Vectors, means: Vectors, length: float) -> Vectors:
    """Make each vector `length` long by adding the part of `means` that is orthogonal to it.

    A regression that can predict little gives short vectors. A model that normalises its inputs cannot see that they
    are short: it would read them as words with a strong meaning for the label and no other meaning. The average of the
    definition's embeddings stands in for what the map does not know. Vectors longer than `length` do not change.
    """
    along = unit(vectors)
    across = unit(means - (means * along).sum(axis=1, keepdims=True) * along)
    missing = np.sqrt(np.maximum(length**2 - (vectors**2).sum(axis=1, keepdims=True), 0.0))
    return vectors + across * missing


def nearest_words(space: WordSpace, vectors: Sequence[Vectors], *, count: int) -> list[list[tuple[str, float]]]:
    """For each vector, return the `count` known words with the largest cosine to it, and the cosines, nearest first."""
    words = space.tokenizer.words()
    names = list(words)
    table = unit(space.embeddings.double().numpy()[list(words.values())])
    near = [table @ unit(vector) for vector in vectors]
    return [[(names[i], float(cosine[i])) for i in np.argsort(-cosine, kind="stable")[:count]] for cosine in near]


def in_layers(
    wanted: Mapping[str, str],
    *,
    define: Callable[[str], str | None],
    unknown_words: Callable[[str], list[str]],
    depth: int,
) -> list[dict[str, str]]:
    """Divide the wanted words, and the words that their definitions need, into layers.

    An unknown word in a definition is looked up. So are the unknown words in the definition that is found, up to
    `depth` times. The words of a layer can be learned together, because they need only words of earlier layers. If
    words define each other in a circle, one of them is learned first and reads the other as unknown.

    Args:
        wanted: word → definition.
        unknown_words: returns the words of a text that the model does not know, spelled as in `wanted`.
        depth: how many times unknown words are looked up; 0 looks up none.

    Returns:
        Word → definition for each layer. All wanted words are included.
    """
    definitions = dict(wanted)
    needs: dict[str, list[str]] = {}
    newest = list(wanted)
    for level in range(depth + 1):
        found: dict[str, str] = {}
        for word in newest:
            needs[word] = unknown_words(definitions[word])
            for need in needs[word] if level < depth else ():
                if need not in definitions and (definition := define(need)):
                    found[need] = definition
        definitions |= found
        newest = list(found)
        if not newest:
            break
    layer_of = _layers(list(definitions), {word: [n for n in of if n in definitions] for word, of in needs.items()})
    layers: list[dict[str, str]] = [{} for _ in range(max(layer_of.values(), default=-1) + 1)]
    for word, number in layer_of.items():
        layers[number][word] = definitions[word]
    return layers


def _layers(words: list[str], needs: Mapping[str, list[str]]) -> dict[str, int]:
    """Return the layer of each word: one above the highest layer of the words that it needs.

    A need that closes a circle does not count.
    """
    layer_of: dict[str, int] = {}
    for root in words:
        path, open_words = [root], {root}
        while path:  # depth first; a chain of definitions may be longer than Python's own stack
            word = path[-1]
            waiting = next((need for need in needs[word] if need not in layer_of and need not in open_words), None)
            if waiting is not None:
                path.append(waiting)
                open_words.add(waiting)
                continue
            path.pop()
            open_words.discard(word)
            layer_of.setdefault(word, 1 + max((layer_of[need] for need in needs[word] if need in layer_of), default=-1))
    return layer_of


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
        return vectors + (self.place - vectors @ self.direction)[:, None] * self.direction


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
