"""Does reading a definition help a language model? Hide words from training, learn them all, read and write them.

    python -m benchmarks.new_words_lm imdb

Every sentence is a text of its own. Sentences with a hidden word are left out of training. The test sentences with one
show how well the model predicts the tokens after the word, and how likely the word itself is. Needs WordNet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from benchmarks.experiment import arguments, running
from benchmarks.hidden_words import WORDS_SEED, read_definitions, with_words
from benchmarks.models import language_model, read_splits
from glassformer.data.arrays import IntArray
from glassformer.data.documents import Documents
from glassformer.data.table import Table
from glassformer.data.tokenizers import START_ID, UNKNOWN_ID, TextTokenizer
from glassformer.evaluation.intervals import bootstrap_mean
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe
from glassformer.words.dictionary import WORDNET, Dictionary, open_dictionary
from glassformer.words.embed import WordSpace, embed_words
from glassformer.words.embedding_map import Vectors
from glassformer.words.new_words import DEPTH, word_space

UNKNOWN = "unknown token"
WORDS, SEED = 150, 0
STEPS, VOCABULARY = 700, 8_000
MOST_TEXTS = 10_000  # of each split; more would not be read in so many steps
FEWEST_TEST_SENTENCES, MOST_TEST_SENTENCES = 5, 10  # of each word
AFTER = 5  # tokens that follow the word
ELSEWHERE = 300  # test sentences without a hidden word
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\s*<br\s*/?>\s*")


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--dictionary-dir", type=Path)
    options = parser.parse_args()
    with running(options) as experiment:
        wordnet = open_dictionary(WORDNET, options.dictionary_dir)
        train, test = map(sentences, read_splits(experiment, options.data, most=MOST_TEXTS, seed=WORDS_SEED))
        recipe = load_pretraining_recipe(
            preset="tiny",
            overrides={
                "tokenizer.kind": "word",
                "tokenizer.vocab_size": VOCABULARY,
                "tokenizer.lowercase": True,
                "training.max_steps": STEPS,
                "training.seed": SEED,
                "validation.fraction": 0.01,
            },
        )
        hidden = hide_in_sentences(train, test, recipe, wordnet, WORDS)
        folder = language_model(experiment, f"new-words-lm-{options.data}", recipe, hidden.training)
        document = {
            "data": {
                "name": options.data,
                "split": "sentences of the training texts without hidden words; sentences of the test texts",
                "training_sentences": len(hidden.training.texts),
                "left_out": len(train) - len(hidden.training.texts),
                "test_sentences": len(test),
                "training_sha256": hidden.training.fingerprint,
                "test_sha256": Documents(texts=test, source=options.data).fingerprint,
            },
            "seed": SEED,
            "hidden": len(hidden.words),
            **measured(load_model(folder, LANGUAGE_MODEL), hidden, wordnet),
            "steps": STEPS,
        }
        experiment.write(f"new-words/lm-{options.data}", document)


def measured(trained: TrainedLanguageModel, hidden: HiddenInSentences, wordnet: Dictionary) -> dict[str, Any]:
    """Return which words are learned, and how the model reads and writes them in each condition."""
    space = word_space(trained)
    read = read_definitions(space, list(hidden.test), wordnet)
    filled = embed_words(replace(space, predicts=False), read.definitions, wordnet, read.fitted, depth=DEPTH)
    learned = list(read.definitions)
    vectors = {
        "average as it is": {word: read.by_average[word].bare for word in learned},
        "average, placed": {word: read.by_average[word].vector for word in learned},
        "map, filled": {word: filled[word].vector for word in learned},
        "map, placed (ours)": {word: read.by_map[word].vector for word in learned},
    }
    tokenizer, first = space.tokenizer.with_words(learned), space.tokenizer.vocab_size
    with_word = [ids.tolist() for word in learned for ids in tokenizer.encode(hidden.test[word])]
    elsewhere = [ids.tolist() for ids in tokenizer.encode(hidden.elsewhere)]
    found = {UNKNOWN: judged(trained.model, with_word, elsewhere, first=first, knows_words=False)}
    for condition, of_words in vectors.items():
        model = with_words(trained, of_words).model
        found[condition] = judged(model, with_word, elsewhere, first=first, knows_words=True)
    return {
        "learned": len(learned),
        "sentences": {"with_a_word": len(with_word), "elsewhere": len(elsewhere)},
        "map": asdict(read.fitted.report),
        "rare_words": rare_words(trained.model, space, elsewhere),
        "conditions": conditions_of(found),
    }


def sentences(table: Table) -> pl.Series:
    """Return the different sentences of the texts, in their order."""
    parts = (part.strip() for text in table.frame["text"] for part in _SENTENCE_ENDS.split(text))
    return pl.Series([part for part in dict.fromkeys(parts) if part])


@dataclass(frozen=True, kw_only=True)
class HiddenInSentences:
    """Words that are hidden from training, and sentences with and without them.

    Attributes:
        training: the training sentences that hold none of the words.
        test: word → test sentences that go on after it and hold no other of the words. Words without any are left out.
        elsewhere: test sentences that hold none of the words.
    """

    words: list[str]
    training: Documents
    test: dict[str, list[str]]
    elsewhere: list[str]


def hide_in_sentences(
    train: pl.Series, test: pl.Series, recipe: PretrainingRecipe, dictionary: Dictionary, count: int
) -> HiddenInSentences:
    """Hide random words of the rarer half of the vocabulary that have a definition and occur in test sentences."""
    tokenizer, window = TextTokenizer.train(train, recipe.tokenizer), recipe.model.max_seq_len
    in_train, in_test = (tokenizer.encode(texts.to_list()) for texts in (train, test))
    tested = np.bincount(np.concatenate([np.unique(row) for row in in_test]), minlength=tokenizer.vocab_size)
    candidates = sorted(
        word
        for word, id_ in tokenizer.words().items()
        if id_ >= tokenizer.vocab_size // 2
        and tested[id_] >= FEWEST_TEST_SENTENCES
        and word.isalpha()
        and dictionary.define(word)
    )
    rng = np.random.default_rng(WORDS_SEED)
    words = _some(candidates, count, rng)
    word_of = dict(zip(tokenizer.word_ids(words), words, strict=True))

    def held(rows: Sequence[IntArray]) -> list[list[str]]:
        return [[word_of[id_] for id_ in row.tolist() if id_ in word_of] for row in rows]

    short = [row for row in zip(test, in_test, held(in_test), strict=True) if len(row[1]) <= window]
    going_on = [(text, found) for text, ids, found in short if len(found) == 1 and int(ids[-1]) not in word_of]
    with_word = {word: [text for text, found in going_on if found == [word]] for word in words}
    kept = train.filter(pl.Series([not found for found in held(in_train)]))
    return HiddenInSentences(
        words=words,
        training=Documents(texts=kept, source="sentences"),
        test={word: _some(texts, MOST_TEST_SENTENCES, rng) for word, texts in with_word.items() if texts},
        elsewhere=_some([text for text, _, found in short if not found], ELSEWHERE, rng),
    )


def _some(texts: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return [texts[number] for number in sorted(rng.permutation(len(texts))[:count])]


def judged(
    model: nn.Module, with_word: list[list[int]], elsewhere: list[list[int]], *, first: int, knows_words: bool
) -> dict[str, Vectors]:
    """Measure how a model reads and writes the words. A model that does not know them reads them as unknown.

    Args:
        with_word: the ids of sentences with one of the words each.
        elsewhere: the ids of sentences without any of them.
        first: the id of the first word; the others follow.

    Returns:
        after: (words,) loss in nats per token, over the up to five tokens that follow a word.
        elsewhere: (words,) mean probability of each word in sentences without any of them.
        share: (sentences,) mean probability of all the words together at the places of each of these sentences.
        gain: (words,) by how many nats a word is likelier where it stands than elsewhere, on average.
        For a model that does not know the words, only `after`.
    """
    words, after, own = [], [], []
    for ids in with_word:
        (place,) = (place for place, id_ in enumerate(ids) if id_ >= first)
        word, read = ids[place], list(ids)
        if not knows_words:
            read[place] = UNKNOWN_ID
        logprobs = next_logprobs(model, read)
        words.append(word - first)
        after.append(-np.mean([logprobs[at, ids[at]] for at in range(place + 1, len(ids))[:AFTER]]))
        own.append(logprobs[place, read[place]])
    mean_after, mean_own = (np.bincount(words, values) / np.bincount(words) for values in (after, own))
    if not knows_words:
        return {"after": mean_after}
    rows = [next_logprobs(model, ids)[:, first:] for ids in elsewhere]
    probs = np.stack([np.exp(row).mean(axis=0) for row in rows])  # (sentences, words)
    gain = mean_own - np.stack([row.mean(axis=0) for row in rows]).mean(axis=0)
    return {"after": mean_after, "elsewhere": probs.mean(axis=0), "share": probs.sum(axis=1), "gain": gain}


@torch.inference_mode()
def next_logprobs(model: nn.Module, ids: Sequence[int]) -> Vectors:
    """Return the log-probability of every token at each place of a text (seq, vocab)."""
    read = torch.tensor([[START_ID, *ids[:-1]]])
    logits: Tensor = model(read, torch.ones_like(read, dtype=torch.bool))[0]
    return logits.double().log_softmax(dim=1).numpy()


def rare_words(model: nn.Module, space: WordSpace, elsewhere: list[list[int]]) -> float:
    """Return the median over the known words of the rarer half of their mean probability in sentences."""
    known = list(space.by_frequency().values())
    rows = [np.exp(next_logprobs(model, ids)).mean(axis=0) for ids in elsewhere]
    return float(np.median(np.mean(rows, axis=0)[known[len(known) // 2 :]]))


def conditions_of(found: Mapping[str, dict[str, Vectors]]) -> dict[str, dict[str, Any]]:
    """Return means with intervals over words (`share`: over sentences), and the loss less that of the unknown token."""
    for condition, figures in found.items():
        if condition != UNKNOWN:
            figures["after_above_unknown"] = figures["after"] - found[UNKNOWN]["after"]
    return {
        condition: {name: bootstrap_mean(values, seed=0).model_dump() for name, values in figures.items()}
        for condition, figures in found.items()
    }


if __name__ == "__main__":
    main()
