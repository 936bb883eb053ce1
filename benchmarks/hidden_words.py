"""Words that are hidden from training, and the texts that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from glassformer.data.labels import LabelSet
from glassformer.data.table import Table, text_keys
from glassformer.data.tokenizers import TextTokenizer
from glassformer.words.dictionary import Dictionary

FEWEST_TRAINING_TEXTS = 10  # with the word; fewer teach a model little about it
MOST_TEXTS = 7_000  # with a hidden word, to learn from afterwards and to judge by; of more, so many are drawn
WORDS_SEED = 17


def apart_from(test: Table, train: Table) -> Table:
    """The training rows whose text is no test text.

    Training leaves those out itself, but does not know them once words are cut out of them.
    """
    shared = text_keys(train.frame["text"]).is_in(text_keys(test.frame["text"]).unique().implode())
    return replace(train, frame=train.frame.filter(~shared))


def choose_words(
    train: Table, test: Table, tokenizer: TextTokenizer, dictionary: Dictionary, count: int
) -> dict[str, list[str]]:
    """Defined words that training texts often and test texts ever hold: the most telling, and others by chance.

    How telling a word is: by how many standard deviations the number of texts of some label among the training texts
    with it differs from what their share would make it. Test labels have no part in it.
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
        without: the training texts, the words cut out.
        training: the training texts that hold some, as they were, or `MOST_TEXTS` of them.
        test: the test texts that hold some, or `MOST_TEXTS` of them.
        first: of each of `test`, the number of the first of the words in it.
        test_texts: how many test texts hold some.
    """

    words: list[str]
    without: Table
    training: Table
    test: Table
    first: list[int]
    test_texts: int


def hide(words: list[str], train: Table, test: Table, tokenizer: TextTokenizer) -> Hidden:
    """Hide words that a tokenizer knows: one for all seeds, so that all find the same words in the same texts."""
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
    """The rows, or so many of them, in their order."""
    if len(rows) <= most:
        return rows
    return sorted(np.random.default_rng(WORDS_SEED).choice(rows, most, replace=False).tolist())


def cut_out(words: Sequence[str], table: Table, tokenizer: TextTokenizer) -> tuple[Table, dict[int, int]]:
    """The table with words cut out of its texts; and, by row, the number of the first word that it held.

    They are cut out and not read as unknown: the unknown token would learn what they say. Rows of nothing else are
    gone.
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
