"""Does reading a definition help a language model? Hide words from training, learn them all at once, read and say them.

    python -m benchmarks.new_words_lm imdb

Every sentence is a text of its own. Sentences with a hidden word are left out of training; those of the test texts say
how well the model goes on after the word, and how likely the word is there. Needs an installed WordNet.
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

from benchmarks.experiment import Experiment, arguments
from benchmarks.hidden_words import WORDS_SEED
from benchmarks.models import language_model, some_rows
from benchmarks.new_words import with_embeddings
from glassformer.data.documents import Documents
from glassformer.data.known import Split, resolve
from glassformer.data.store import IntArray
from glassformer.data.tokenizers import START_ID, UNKNOWN_ID, TextTokenizer
from glassformer.evaluation.intervals import bootstrap_mean
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe
from glassformer.words.context import Vectors
from glassformer.words.dictionary import WORDNET, Dictionary, open_dictionary
from glassformer.words.embed import WordSpace, embed_words, map_of
from glassformer.words.embedding_map import EmbeddingMap
from glassformer.words.new_words import DEPTH, word_space

UNKNOWN = "unknown token"
STEPS, VOCABULARY = 700, 8_000
MOST_TEXTS = 10_000  # of each split; more would not be read in so many steps
FEWEST_TEST_SENTENCES, MOST_TEST_SENTENCES = 5, 10  # of each word
AFTER = 5  # tokens that follow the word
ELSEWHERE = 300  # test sentences with no hidden word
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\s*<br\s*/?>\s*")


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--words", type=int, default=150, help="hidden words")
    parser.add_argument("--seed", type=int, default=0, help="of training; the words are always the same")
    parser.add_argument("--dictionary-dir", type=Path)
    options = parser.parse_args()
    with Experiment(options) as experiment:
        wordnet = open_dictionary(WORDNET, options.dictionary_dir)
        recipe = recipe_of(options.seed)
        train, test = (sentences(options.data, split, options.rows) for split in ("train", "test"))
        hidden = hide_in_sentences(train, test, recipe, wordnet, options.words)
        folder = language_model(experiment.work, f"new-words-lm-{options.data}", recipe, hidden.training)
        found = measured(load_model(folder, LANGUAGE_MODEL), hidden, wordnet)
        document = {
            "benchmark": f"new words in a language model, {options.data}",
            "data": {
                "name": options.data,
                "split": "sentences of the training texts without hidden words; sentences of the test texts",
                "training_sentences": len(hidden.training.texts),
                "left_out": len(train) - len(hidden.training.texts),
                "test_sentences": len(test),
                "training_sha256": hidden.training.fingerprint,
                "test_sha256": Documents(texts=test, source=options.data).fingerprint,
            },
            "seed": options.seed,
            "hidden": hidden.words,
            **found,
            "recipe": recipe.model_dump(mode="json"),
        }
        experiment.write(f"new-words/lm-{options.data}", document)


def recipe_of(seed: int) -> PretrainingRecipe:
    return load_pretraining_recipe(
        preset="tiny",
        overrides={
            "tokenizer.kind": "word",
            "tokenizer.vocab_size": VOCABULARY,
            "tokenizer.lowercase": True,
            "training.max_steps": STEPS,
            "training.seed": seed,
            "validation.fraction": 0.01,
        },
    )


def measured(trained: TrainedLanguageModel, hidden: HiddenInSentences, wordnet: Dictionary) -> dict[str, Any]:
    """Which words are learned, and how the model reads and says them by each condition."""
    space = word_space(trained)
    fitted = map_of(space, wordnet)
    assert fitted is not None
    vectors = embeddings_of(space, list(hidden.test), wordnet, fitted)
    learned = list(next(iter(vectors.values())))
    texts = SentenceIds.of(space, learned, hidden)
    found = {UNKNOWN: judged(trained.model, space.embeddings, texts)}
    for condition, of_it in vectors.items():
        found[condition] = judged(trained.model, space.with_words(of_it).embeddings, texts)
    return {
        "learned": learned,
        "sentences": {"with_a_word": len(texts.with_word), "elsewhere": len(texts.elsewhere)},
        "map": asdict(fitted.report),
        "rare_words": rare_words(trained.model, space, texts),
        "conditions": conditions_of(found),
    }


def sentences(data: str, split: Split, rows: int | None) -> pl.Series:
    """The sentences of a split, each once, in their order."""
    texts = some_rows(resolve(data, split), rows or MOST_TEXTS, seed=WORDS_SEED).frame["text"]
    parts = [part.strip() for text in texts for part in _SENTENCE_ENDS.split(text)]
    return pl.Series([part for part in dict.fromkeys(parts) if part])


@dataclass(frozen=True, kw_only=True)
class HiddenInSentences:
    """What was hidden.

    Attributes:
        training: the sentences without any of the words.
        test: for each word, test sentences that go on after it and hold no other of them; no word is without any.
        elsewhere: test sentences with none of them.
    """

    words: list[str]
    training: Documents
    test: dict[str, list[str]]
    elsewhere: list[str]


def hide_in_sentences(
    train: pl.Series, test: pl.Series, recipe: PretrainingRecipe, dictionary: Dictionary, count: int
) -> HiddenInSentences:
    """Words by chance from the rarer half of the vocabulary, which have a definition and stand in test sentences."""
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

    with_word: dict[str, list[str]] = {word: [] for word in words}
    without: list[str] = []
    for text, ids, of_it in zip(test, in_test, held(in_test), strict=True):
        if len(ids) > window:
            continue
        if len(of_it) == 1 and int(ids[-1]) not in word_of:
            with_word[of_it[0]].append(text)
        elif not of_it:
            without.append(text)
    kept = train.filter(pl.Series([not of_it for of_it in held(in_train)]))
    return HiddenInSentences(
        words=words,
        training=Documents(texts=kept, source="sentences"),
        test={word: _some(texts, MOST_TEST_SENTENCES, rng) for word, texts in with_word.items() if texts},
        elsewhere=_some(without, ELSEWHERE, rng),
    )


def _some(texts: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return [texts[number] for number in sorted(rng.permutation(len(texts))[:count])]


def embeddings_of(
    space: WordSpace, words: Sequence[str], dictionary: Dictionary, fitted: EmbeddingMap
) -> dict[str, dict[str, Vectors]]:
    """Condition → word → its embedding; words of whose definition nothing is known are left out."""
    definitions = {word: definition for word in words if (definition := dictionary.define(word))}
    average = embed_words(space, definitions, dictionary, None, depth=0)
    filled = embed_words(replace(space, predicts=False), definitions, dictionary, fitted, depth=DEPTH)
    placed = embed_words(space, definitions, dictionary, fitted, depth=DEPTH)
    learned = [word for word in definitions if word in average and word in placed]
    return {
        "average as it is": {word: average[word].bare for word in learned},
        "average, placed": {word: average[word].vector for word in learned},
        "map, filled": {word: filled[word].vector for word in learned},
        "map, placed (ours)": {word: placed[word].vector for word in learned},
    }


@dataclass(frozen=True, kw_only=True)
class SentenceIds:
    """Test sentences as token ids.

    Attributes:
        first: the id of the first learned word; the others follow.
        with_word: sentences with a learned word: its number, the ids, and its place in them.
    """

    first: int
    words: int
    with_word: list[tuple[int, list[int], int]]
    elsewhere: list[list[int]]

    @classmethod
    def of(cls, space: WordSpace, learned: Sequence[str], hidden: HiddenInSentences) -> SentenceIds:
        tokenizer, first = space.tokenizer.with_words(learned), space.tokenizer.vocab_size
        with_word = []
        for number, word in enumerate(learned):
            for row in tokenizer.encode(hidden.test[word]):
                ids = row.tolist()
                with_word.append((number, ids, ids.index(first + number)))
        elsewhere = [row.tolist() for row in tokenizer.encode(hidden.elsewhere)]
        return cls(first=first, words=len(learned), with_word=with_word, elsewhere=elsewhere)


def judged(model: nn.Module, embeddings: Tensor, texts: SentenceIds) -> dict[str, Vectors]:
    """How the model reads and says the words with these embeddings; those that have none are read as unknown.

    Returns:
        after: (words,) loss in nats per token, over the up to five tokens that follow a word.
        elsewhere: (words,) mean probability of each word in sentences without any of them.
        share: (sentences,) mean probability of all the words together at the places of each of these sentences.
        gain: (words,) by how many nats a word is likelier where it stands than elsewhere, on average.
        Without embeddings of the words `after` alone.
    """
    reader, known = with_embeddings(model, embeddings), len(embeddings) > texts.first
    after: list[list[float]] = [[] for _ in range(texts.words)]
    own: list[list[float]] = [[] for _ in range(texts.words)]
    for number, ids, place in texts.with_word:
        logprobs = next_logprobs(reader, ids if known else [UNKNOWN_ID if id_ >= texts.first else id_ for id_ in ids])
        following = list(enumerate(ids))[place + 1 : place + 1 + AFTER]
        after[number].append(-float(np.mean([logprobs[at, id_] for at, id_ in following])))
        own[number].append(float(logprobs[place, ids[place]]) if known else 0.0)
    found = {"after": means(after)}
    if known:
        rows = [next_logprobs(reader, ids)[:, texts.first :] for ids in texts.elsewhere]
        probs = np.stack([np.exp(row).mean(axis=0) for row in rows])  # (sentences, words)
        usual = np.stack([row.mean(axis=0) for row in rows]).mean(axis=0)
        found |= {"elsewhere": probs.mean(axis=0), "share": probs.sum(axis=1), "gain": means(own) - usual}
    return found


def means(values: Sequence[Sequence[float]]) -> Vectors:
    return np.array([np.mean(of_it) for of_it in values])


@torch.inference_mode()
def next_logprobs(model: nn.Module, ids: Sequence[int]) -> Vectors:
    """(seq, vocab) log-probability of every token at each place of a text."""
    read = torch.tensor([[START_ID, *ids[:-1]]])
    logits: Tensor = model(read, torch.ones_like(read, dtype=torch.bool))[0]
    return logits.double().log_softmax(dim=1).numpy()


def rare_words(model: nn.Module, space: WordSpace, texts: SentenceIds) -> float:
    """The mean probability of a known word of the rarer half at the same places as `elsewhere`, as the median."""
    known = list(space.by_frequency().values())
    rows = [np.exp(next_logprobs(model, ids)).mean(axis=0) for ids in texts.elsewhere]
    return float(np.median(np.mean(rows, axis=0)[known[len(known) // 2 :]]))


def conditions_of(found: Mapping[str, dict[str, Vectors]]) -> dict[str, dict[str, Any]]:
    """Means with intervals, over words or, for the share, over sentences; the loss also less the unknown token's."""
    conditions: dict[str, dict[str, Any]] = {}
    for condition, figures in found.items():
        after = figures["after"] - found[UNKNOWN]["after"]
        above = {} if condition == UNKNOWN else {"after_above_unknown": after}
        conditions[condition] = {
            name: bootstrap_mean(values, seed=0).model_dump() for name, values in (figures | above).items()
        }
    return conditions


if __name__ == "__main__":
    main()
