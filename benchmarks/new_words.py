"""Does reading a definition help? Hide words from training, learn them by their definitions, answer texts with them.

    python -m benchmarks.new_words disaster-tweets --seeds 5
    python -m benchmarks.new_words imdb --seeds 2

Needs an installed WordNet. All texts with a word share its one embedding, so intervals are over words: a text belongs
to the first hidden word in it. Finished runs are kept in --work: a stopped benchmark goes on where it was.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from benchmarks.experiment import Experiment, arguments, part
from benchmarks.hidden_words import WORDS_SEED, Hidden, apart_from, choose_words, hide
from benchmarks.models import classifier, some_rows
from glassformer.data.batches import assemble, bucket, random_windows
from glassformer.data.known import resolve
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.store import IntArray, TokenStore
from glassformer.data.table import Table
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.evaluation.intervals import bootstrap, bootstrap_mean
from glassformer.evaluation.result import Estimate
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.scoring import logits_of, score
from glassformer.training.recipe import load_recipe
from glassformer.words.context import Vectors
from glassformer.words.dictionary import WORDNET, WordNet, open_dictionary
from glassformer.words.embed import WordSpace, embed_words, map_of
from glassformer.words.embedding_map import EmbeddingMap, cosines
from glassformer.words.new_words import DEPTH, word_space

Model = TypeVar("Model", bound=nn.Module)

UNKNOWN, AVERAGE, SYNONYM, BARE, OURS = "unknown token", "average", "synonym", "map alone", "ours"
AFTERWARDS, WITH = "trained afterwards", "trained with the words"
ROW_EPOCHS, ROW_RATE = 10, 3e-3
BATCH = {"batch_tokens": 16_384, "batch_size": 64}


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--words", type=int, default=200, help="hidden words of each kind")
    parser.add_argument("--dictionary-dir", type=Path)
    options = parser.parse_args()
    with Experiment(options) as experiment:
        wordnet = open_dictionary(WORDNET, options.dictionary_dir)
        assert isinstance(wordnet, WordNet)
        given, test = (
            some_rows(resolve(options.data, split), options.rows, seed=WORDS_SEED) for split in ("train", "test")
        )
        train = apart_from(test, given)
        tokenizer = TextTokenizer.train(train.frame["text"], load_recipe().tokenizer)
        results = {}
        for kind, words in choose_words(train, test, tokenizer, wordnet, options.words).items():
            hidden, work = hide(words, train, test, tokenizer), experiment.work / f"new-words-{options.data}"
            runs = [_run(work, kind, hidden, train, test, seed, wordnet) for seed in range(options.seeds)]
            results[kind] = {"hidden": words, "of_test_texts": hidden.test_texts} | summary(runs)
        document = {
            "benchmark": f"new words, {options.data}",
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
            "recipe": load_recipe().model_dump(mode="json"),
        }
        experiment.write(f"new-words/{options.data}", document)


def _run(
    work: Path, kind: str, hidden: Hidden, train: Table, test: Table, seed: int, wordnet: WordNet
) -> dict[str, Any]:
    """Which of the test texts with hidden words each condition answers rightly, and each embedding's cosine."""
    recipe = load_recipe(overrides={"training.seed": seed})
    whole = classifier(work, f"whole-{seed}", recipe, train, test)
    blind = classifier(work, f"without-{kind}-{seed}", recipe, hidden.without, test)
    decided_by = {"whole": whole.name, "blind": blind.name, "words": hidden.words, "first": hidden.first}

    def make() -> dict[str, Any]:
        trained, without = (load_model(folder, CLASSIFIER) for folder in (whole, blind))
        return _conditions(trained, without, hidden, LabelSet.from_table(train), wordnet)

    return part(work, f"{kind}-{seed}", decided_by, dict[str, Any], make)


def _conditions(
    whole: TrainedModel, blind: TrainedModel, hidden: Hidden, labels: LabelSet, wordnet: WordNet
) -> dict[str, Any]:
    seed: int = blind.config.recipe["training"]["seed"]
    space = word_space(blind)
    fitted = map_of(space, wordnet)
    assert fitted is not None
    vectors = _embeddings(space, hidden.words, wordnet, fitted)
    vectors[AFTERWARDS] = _trained_afterwards(blind, space, list(vectors[OURS]), hidden.training, labels, seed)
    truth = labels.encode(hidden.test)
    texts = hidden.test.frame["text"].to_list()

    def correct(trained: TrainedModel, words_of: WordSpace | None) -> str:
        right = _logits(trained, words_of or word_space(trained), texts).argmax(axis=1) == truth
        return "".join(map(str, right.astype(int)))  # a digit for each text: no text is kept

    answered = {UNKNOWN: correct(blind, None)}
    answered |= {condition: correct(blind, space.with_words(of_it)) for condition, of_it in vectors.items()}
    answered[WITH] = correct(whole, None)
    truths = np.stack(list(vectors[AFTERWARDS].values()))
    return {
        "first": hidden.first,
        "learned": list(vectors[OURS]),
        "correct": answered,
        "cosines": {
            condition: cosines(np.stack(list(of_it.values())), truths).tolist()
            for condition, of_it in vectors.items()
            if condition != AFTERWARDS
        },
        "map": dataclasses.asdict(fitted.report),
    }


def _embeddings(
    space: WordSpace, words: Sequence[str], wordnet: WordNet, fitted: EmbeddingMap
) -> dict[str, dict[str, Vectors]]:
    """Condition → word → its embedding; words of whose definition nothing is known are left out."""
    definitions = {word: definition for word in words if (definition := wordnet.define(word))}
    ours = embed_words(space, definitions, wordnet, fitted, depth=DEPTH)
    averages = embed_words(space, definitions, wordnet, None, depth=0)
    learned = [word for word in words if word in ours and word in averages]
    return {
        AVERAGE: {word: averages[word].vector for word in learned},
        SYNONYM: {word: _synonym(space, word, wordnet) for word in learned},
        BARE: {word: ours[word].bare for word in learned},
        OURS: {word: ours[word].vector for word in learned},
    }


def _synonym(space: WordSpace, word: str, wordnet: WordNet) -> Vectors:
    """The embedding of the first synonym that is known, or else of the unknown token."""
    known = [id_ for id_ in space.tokenizer.word_ids(wordnet.synonyms(word)) if id_ is not None]
    return space.embeddings[known[0] if known else UNKNOWN_ID].double().numpy()


def _trained_afterwards(
    blind: TrainedModel, space: WordSpace, words: list[str], texts: Table, names: LabelSet, seed: int
) -> dict[str, Vectors]:
    """Embeddings trained on the texts with the words, all else frozen, until the loss on a tenth of them rises."""
    torch.manual_seed(seed)
    width = space.embeddings.shape[1]
    larger = space.with_words({word: np.zeros(width) for word in words})
    new = nn.Parameter(torch.empty(len(words), width).normal_(std=0.02))  # as training begins
    optimizer = torch.optim.Adam([new], lr=ROW_RATE)
    store = TokenStore.in_memory(larger.tokenizer.encode(texts.frame["text"].to_list()))
    labels = torch.tensor(names.encode(texts)).long()
    held_out = np.random.default_rng([seed, WORDS_SEED]).random(len(store)) < 0.1
    max_seq_len = blind.config.model.max_seq_len

    def losses(epoch: int, *, learn: bool) -> float:
        windows = random_windows(store.lengths, max_seq_len, seed=seed, epoch=epoch)
        chosen = np.flatnonzero(held_out != learn)
        total = 0.0
        for places in bucket(windows.lengths[chosen], **BATCH, seed=seed, epoch=epoch):
            batch = assemble(store, windows, chosen[places])
            embeddings = torch.cat([space.embeddings, new])
            logits: Tensor = functional_call(blind.model, {"trunk.embedding.weight": embeddings}, batch.inputs)
            loss = F.cross_entropy(logits, labels[batch.rows])
            if learn:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += float(loss.detach()) * len(places)
        return total / len(chosen)

    best, kept = float("inf"), new.detach().clone()
    for parameter in blind.model.parameters():
        parameter.requires_grad_(False)
    for epoch in range(ROW_EPOCHS):
        losses(epoch, learn=True)
        with torch.no_grad():
            now = losses(0, learn=False)
        if now >= best:
            break
        best, kept = now, new.detach().clone()
    return dict(zip(words, kept.double().numpy(), strict=True))


def with_embeddings(model: Model, embeddings: Tensor) -> Model:
    """The model with another table of embeddings."""
    changed = copy.deepcopy(model)
    changed.get_submodule("trunk.embedding").register_parameter("weight", nn.Parameter(embeddings))
    return changed


def _logits(trained: TrainedModel, space: WordSpace, texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What the model answers with other words than its own."""
    model = with_embeddings(trained.model, space.embeddings)
    store = TokenStore.in_memory(space.tokenizer.encode(texts))
    window, n_classes = trained.config.model.max_seq_len, trained.config.n_classes
    return score(logits_of(model), store, max_seq_len=window, n_classes=n_classes)


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Accuracies, differences and cosines: means over seeds, with intervals over words."""
    first = np.array(runs[0]["first"])
    right = {
        condition: np.mean([[int(digit) for digit in run["correct"][condition]] for run in runs], axis=0)
        for condition in runs[0]["correct"]
    }
    conditions: dict[str, Any] = {}
    for condition, shares in right.items():
        conditions[condition] = {
            "accuracy": over_words(shares, first).model_dump(),
            "by_seed": [run["correct"][condition].count("1") / len(run["correct"][condition]) for run in runs],
            "above_unknown": over_words(shares - right[UNKNOWN], first).model_dump(),
            "ours_above_it": over_words(right[OURS] - shares, first).model_dump(),
        }
        if condition in runs[0]["cosines"]:
            by_word: dict[str, list[float]] = {}
            for run in runs:
                for word, cosine in zip(run["learned"], run["cosines"][condition], strict=True):
                    by_word.setdefault(word, []).append(cosine)
            means = np.array([np.mean(of_it) for of_it in by_word.values()])
            conditions[condition]["cosine"] = bootstrap_mean(means, seed=0).model_dump()
    return {
        "test_texts": len(first),
        "test_words": len(set(first.tolist())),
        "learned": [len(run["learned"]) for run in runs],
        "conditions": conditions,
        "maps": [run["map"] for run in runs],
    }


def over_words(values: Vectors, first: IntArray) -> Estimate:
    """The mean of one number per text, with the bootstrap interval over the words that texts belong to (texts,)."""
    texts = np.bincount(first)
    sums = np.bincount(first, weights=values)
    rows = np.stack([sums, texts], axis=1)[texts > 0]
    return bootstrap(rows, np.ones(len(rows), dtype=np.int64), lambda drawn: drawn[:, 0] / drawn[:, 1], seed=0)


if __name__ == "__main__":
    main()
