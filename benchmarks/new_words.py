"""Does reading a definition help a classifier? Hide words from training, then learn them by their definitions.

    python -m benchmarks.new_words disaster-tweets --seeds 5
    python -m benchmarks.new_words imdb --seeds 2

Needs WordNet. All texts with a word share its one embedding, so intervals are over words. A text belongs to the first
hidden word in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.hidden_words import WORDS_SEED, Hidden, choose_words, hide, read_definitions, with_words
from benchmarks.models import apart_from, classifier, read_splits
from benchmarks.paired import ratio
from glassformer.data.arrays import IntArray
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.evaluation.intervals import bootstrap_mean
from glassformer.evaluation.record import Estimate
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.preparation import Prepared
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from glassformer.words.dictionary import WORDNET, WordNet, open_dictionary
from glassformer.words.embed import WordSpace
from glassformer.words.embedding_map import Vectors, cosines
from glassformer.words.learners import EMBEDDINGS
from glassformer.words.new_words import word_space

UNKNOWN, AVERAGE, SYNONYM, BARE, OURS = "unknown token", "average", "synonym", "map alone", "ours"
AFTERWARDS, WITH = "trained afterwards", "trained with the words"
WORDS, QUICK_WORDS = 200, 10  # hidden words of each kind
AFTERWARDS_RECIPE = {
    "model.dropout": 0.0,
    "validation.fraction": 0.1,
    "training.epochs": 10,
    "training.patience": 1,
    "training.min_steps_per_epoch": 1,
    "training.batch_tokens": 16_384,
    "training.optimizer": "adamw",
    "training.learning_rate": 3e-3,
    "training.schedule": "constant",
    "training.warmup": 0.0,
    "training.weight_decay": 0.0,
    "training.token_dropout": 0.0,
}


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dictionary-dir", type=Path)
    options = parser.parse_args()
    with running(options) as experiment:
        wordnet = open_dictionary(WORDNET, options.dictionary_dir)
        assert isinstance(wordnet, WordNet)
        given, test = read_splits(experiment, options.data, seed=WORDS_SEED)
        train = apart_from(test, given)
        tokenizer = TextTokenizer.train(train.frame["text"], load_recipe().tokenizer)
        count, results = QUICK_WORDS if options.quick else WORDS, {}
        for kind, words in choose_words(train, test, tokenizer, wordnet, count).items():
            hidden = hide(words, train, test, tokenizer)
            runs = [_run(experiment, kind, hidden, train, test, seed, wordnet) for seed in range(options.seeds)]
            results[kind] = {"hidden": len(words), "of_test_texts": hidden.test_texts} | summary(runs)
        document = {
            "data": {
                "name": options.data,
                "split": "test texts with a hidden word, of the official split",
                "training_texts": train.frame.height,
                "left_out": given.frame.height - train.frame.height,
                "training_sha256": fingerprint(train),
                "test_sha256": fingerprint(test),
            },
            "seeds": list(range(options.seeds)),
            "results": results,
        }
        experiment.write(f"new-words/{options.data}", document)


def _run(
    experiment: Experiment, kind: str, hidden: Hidden, train: Table, test: Table, seed: int, wordnet: WordNet
) -> dict[str, Any]:
    """Return which test texts with hidden words each condition gets right, and the cosine of each embedding."""
    recipe = load_recipe(overrides={"training.seed": seed})
    whole = load_model(classifier(experiment, f"whole-{seed}", recipe, train, test), CLASSIFIER)
    blind = load_model(classifier(experiment, f"without-{kind}-{seed}", recipe, hidden.without, test), CLASSIFIER)
    labels, space = LabelSet.from_table(train), word_space(blind)
    found = read_definitions(space, hidden.words, wordnet)
    learned = list(found.definitions)
    vectors = {
        AVERAGE: {word: found.by_average[word].vector for word in learned},
        SYNONYM: {word: _synonym(space, word, wordnet) for word in learned},
        BARE: {word: found.by_map[word].bare for word in learned},
        OURS: {word: found.by_map[word].vector for word in learned},
        AFTERWARDS: trained_afterwards(blind, learned, hidden.training, seed),
    }
    readers = {UNKNOWN: blind}
    readers |= {condition: with_words(blind, of_words) for condition, of_words in vectors.items()}
    readers[WITH] = whole
    texts, truth = hidden.test.frame["text"].to_list(), labels.encode(hidden.test)
    right = {
        condition: Predictor(reader).logits(texts).argmax(axis=1) == truth for condition, reader in readers.items()
    }
    afterwards = np.stack(list(vectors.pop(AFTERWARDS).values()))
    return {
        "first": hidden.first,
        "learned": learned,
        "correct": right,
        "cosines": {
            condition: cosines(np.stack(list(of_words.values())), afterwards) for condition, of_words in vectors.items()
        },
        "map": dataclasses.asdict(found.fitted.report),
    }


def _synonym(space: WordSpace, word: str, wordnet: WordNet) -> Vectors:
    """Return the embedding of the first synonym that is known, or else of the unknown token."""
    known = [id_ for id_ in space.tokenizer.word_ids(wordnet.synonyms(word)) if id_ is not None]
    return space.embeddings[known[0] if known else UNKNOWN_ID].double().numpy()


def trained_afterwards(blind: TrainedModel, words: list[str], texts: Table, seed: int) -> dict[str, Vectors]:
    """Train only the embeddings of the words, on texts that hold them, until the loss on a tenth of the texts rises."""
    known, d_model = word_space(blind).embeddings.shape
    begin = np.random.default_rng(seed).normal(scale=0.02, size=(len(words), d_model))
    init = InitialWeights.of(with_words(blind, dict(zip(words, begin, strict=True))))
    recipe = load_recipe(init=init, overrides={**AFTERWARDS_RECIPE, "training.seed": seed})

    def freeze_the_rest(prepared: Prepared) -> None:
        prepared.model.requires_grad_(False)
        embeddings = prepared.model.get_parameter(EMBEDDINGS).requires_grad_()
        embeddings.register_hook(lambda gradient: gradient.index_fill(0, torch.arange(known), 0.0))

    trained = train_model(Sources(train=texts), recipe, init=init, on_prepared=freeze_the_rest)
    embeddings = word_space(trained).embeddings[known:]
    return dict(zip(words, embeddings.double().numpy(), strict=True))


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return accuracies, differences and cosines: means over seeds, with intervals over words."""
    first = np.array(runs[0]["first"])
    right = {
        condition: np.mean([run["correct"][condition] for run in runs], axis=0) for condition in runs[0]["correct"]
    }
    conditions: dict[str, Any] = {}
    for condition, shares in right.items():
        conditions[condition] = {
            "accuracy": over_words(shares, first).model_dump(),
            "by_seed": [float(np.mean(run["correct"][condition])) for run in runs],
            "above_unknown": over_words(shares - right[UNKNOWN], first).model_dump(),
            "ours_above_it": over_words(right[OURS] - shares, first).model_dump(),
        }
        if condition in runs[0]["cosines"]:
            found = [dict(zip(run["learned"], run["cosines"][condition], strict=True)) for run in runs]
            words = dict.fromkeys(word for of_run in found for word in of_run)
            means = [np.mean([of_run[word] for of_run in found if word in of_run]) for word in words]
            conditions[condition]["cosine"] = bootstrap_mean(np.array(means), seed=0).model_dump()
    return {
        "test_texts": len(first),
        "test_words": len(set(first.tolist())),
        "learned": [len(run["learned"]) for run in runs],
        "conditions": conditions,
        "maps": [run["map"] for run in runs],
    }


def over_words(values: Vectors, first: IntArray) -> Estimate:
    """Return the mean of one number per text, with the bootstrap interval over the words that texts belong to."""
    texts, sums = np.bincount(first), np.bincount(first, weights=values)
    return ratio(sums[texts > 0], texts[texts > 0])


if __name__ == "__main__":
    main()
