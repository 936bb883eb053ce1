"""Words that are hidden from training, the texts that hold them, and what their definitions give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.data.tokenizers import TextTokenizer
from glassformer.words.dictionary import Dictionary
from glassformer.words.embed import Embedded, WordSpace, embed_words, map_of
from glassformer.words.embedding_map import EmbeddingMap, Vectors
from glassformer.words.learners import Learner, enlarged
from glassformer.words.new_words import DEPTH, word_space

FEWEST_TRAINING_TEXTS = 10  # with the word; fewer teach a model little about it
MOST_TEXTS = 7_000  # with a hidden word, to train on afterwards and to test on; if there are more, these are drawn
WORDS_SEED = 17


def choose_words(
    train: Table, test: Table, tokenizer: TextTokenizer, dictionary: Dictionary, count: int
) -> dict[str, list[str]]:
    """Choose words that bear on the label ("bearing"), and random ones of the others ("random").

    Every word has a definition and occurs in enough training texts and in some test text. To bear on the label, the
    training texts with the word must have one label more often or more rarely than all texts. The difference is counted
    in standard deviations. Test labels are not used.
    """
    labels = LabelSet.from_table(train).encode(train)
    holds = np.zeros((int(labels.max()) + 1, tokenizer.vocab_size))
    for ids, label in zip(tokenizer.encode(train.frame["text"].to_list()), labels.tolist(), strict=True):
        holds[label, np.unique(ids)] += 1
    tested = np.zeros(tokenizer.vocab_size)
    for ids in tokenizer.encode(test.frame["text"].to_list()):
        tested[np.unique(ids)] += 1
    texts = holds.sum(axis=0)
    share = np.bincount(labels)[:, None] / len(labels)
    deviations = np.abs(holds - texts * share) / np.sqrt(np.maximum(texts * share * (1 - share), 1e-9))
    telling = deviations.max(axis=0)
    candidates = [
        (word, id_)
        for word, id_ in tokenizer.words().items()
        if texts[id_] >= FEWEST_TRAINING_TEXTS and tested[id_] and word.isalpha() and dictionary.define(word)
    ]
    candidates.sort(key=lambda candidate: (-telling[candidate[1]], candidate[0]))
    bearing = [word for word, _ in candidates[:count]]
    others = sorted(word for word, _ in candidates[count:])
    chosen = np.random.default_rng(WORDS_SEED).permutation(len(others))[:count]
    return {"bearing": bearing, "random": [others[number] for number in chosen]}


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """Words that are hidden from training.

    Attributes:
        without: all training texts, with the words cut out.
        training: the unchanged training texts that hold any of the words, `MOST_TEXTS` at most.
        test: the test texts that hold any of the words, `MOST_TEXTS` at most.
        first: for each of `test`, the number of the first of the words in it.
        test_texts: the number of all test texts that hold any of the words.
    """

    words: list[str]
    without: Table
    training: Table
    test: Table
    first: list[int]
    test_texts: int


def hide(words: list[str], train: Table, test: Table, tokenizer: TextTokenizer) -> Hidden:
    """Hide words. The tokenizer is the same for all seeds, so all find the same words in the same texts."""
    without, in_train = cut_out(words, train, tokenizer)
    _, in_test = cut_out(words, test, tokenizer)
    learned, judged = drawn(list(in_train), MOST_TEXTS), drawn(list(in_test), MOST_TEXTS)
    return Hidden(
        words=words,
        without=without,
        training=replace(train, frame=train.frame[learned]),
        test=replace(test, frame=test.frame[judged]),
        first=[in_test[row] for row in judged],
        test_texts=len(in_test),
    )


def drawn(rows: list[int], most: int) -> list[int]:
    """Return the rows, or `most` of them drawn at random, in their order."""
    if len(rows) <= most:
        return rows
    return sorted(np.random.default_rng(WORDS_SEED).choice(rows, most, replace=False).tolist())


def cut_out(words: Sequence[str], table: Table, tokenizer: TextTokenizer) -> tuple[Table, dict[int, int]]:
    """Cut words out of the texts. Return the new table, and row → the number of the first word that it held.

    They are not replaced by the unknown token, because that token would learn what they say. Texts that become empty
    are left out.
    """
    numbers = {id_: number for number, id_ in enumerate(tokenizer.word_ids(words))}
    texts, first = [], {}
    for row, text in enumerate(table.frame["text"]):
        ids, offsets = tokenizer.encode_with_offsets(text)
        found = [(numbers[id_], span) for id_, span in zip(ids, offsets, strict=True) if id_ in numbers]
        if found:
            first[row] = found[0][0]
        for _, (start, end) in reversed(found):
            text = text[:start] + text[end:]
        texts.append(text)
    frame = table.frame.with_columns(pl.Series("text", texts)).filter(pl.col("text").str.strip_chars() != "")
    return replace(table, frame=frame), first


@dataclass(frozen=True, kw_only=True)
class ReadDefinitions:
    """The definitions of the words that can be learned, and their embeddings by the map and by averages."""

    definitions: dict[str, str]
    fitted: EmbeddingMap
    by_map: dict[str, Embedded]
    by_average: dict[str, Embedded]


def read_definitions(space: WordSpace, words: Sequence[str], dictionary: Dictionary) -> ReadDefinitions:
    """Learn words from their definitions, by the map and by averages."""
    fitted = map_of(space, dictionary)
    assert fitted is not None
    definitions = {word: definition for word in words if (definition := dictionary.define(word))}
    by_map = embed_words(space, definitions, dictionary, fitted, depth=DEPTH)
    by_average = embed_words(space, definitions, dictionary, None, depth=0)
    learned = {word: text for word, text in definitions.items() if word in by_map and word in by_average}
    return ReadDefinitions(definitions=learned, fitted=fitted, by_map=by_map, by_average=by_average)


def with_words(trained: Learner, vectors: Mapping[str, Vectors]) -> Learner:
    """Return the model with more words. Unlike `learn_words`, this takes any embeddings."""
    larger = word_space(trained).with_words(vectors)
    return enlarged(trained, larger.tokenizer, larger.embeddings, ())
