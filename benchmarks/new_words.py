"""Does reading a definition help? Hide words from training, learn them by their definitions, answer texts with them.

    python benchmarks/new_words.py disaster-tweets --seeds 5
    python benchmarks/new_words.py imdb --seeds 2

Needs an installed WordNet. All texts with a word share its one embedding, so intervals are over words: a text belongs
to the first hidden word in it. Runs that are done are kept in --work and not repeated; after a change of the code,
empty that folder. With --rows it is a trial on some of the rows, and its figures are left in --work.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from hidden_words import WORDS_SEED, Hidden, apart_from, choose_words, hide, some_rows
from provenance import RESULTS, commit, provenance
from stages import make_once
from torch import Tensor, nn
from torch.func import functional_call

from glassformer.cli.live import LiveView
from glassformer.data.batches import assemble, bucket, random_windows
from glassformer.data.files import written_aside
from glassformer.data.known import resolve
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.data.store import IntArray, TokenStore
from glassformer.data.table import Table
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.evaluation.intervals import bootstrap, bootstrap_mean
from glassformer.evaluation.result import Estimate
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.scoring import score
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_classifier
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a known data set")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--words", type=int, default=200, help="hidden words of each kind")
    parser.add_argument("--rows", type=int, help="a trial on so many training rows, and as many test rows at most")
    parser.add_argument("--work", type=Path, default=Path("runs/new-words"), help="folder for models and finished runs")
    parser.add_argument("--dictionary-dir", type=Path)
    options = parser.parse_args()
    at = commit()
    wordnet = open_dictionary(WORDNET, options.dictionary_dir)
    assert isinstance(wordnet, WordNet)
    given, test = (some_rows(resolve(options.data, split), options.rows) for split in ("train", "test"))
    train = apart_from(test, given)
    work = options.work / (f"{options.data}-{options.words}" + (f"-{options.rows}" if options.rows else ""))
    tokenizer = TextTokenizer.train(train.frame["text"], load_recipe().tokenizer)
    results = {}
    for name, words in choose_words(train, test, tokenizer, wordnet, options.words).items():
        hidden = hide(words, train, test, tokenizer)
        runs = [_run(name, hidden, train, test, seed, work, wordnet) for seed in range(options.seeds)]
        results[name] = {"hidden": words, "of_test_texts": hidden.test_texts} | summary(runs)
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
        **provenance(at),
    }
    file = work / "result.json" if options.rows else RESULTS / "new-words" / f"{options.data}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, result in results.items():
        _show(name, result)
    print(file)


def _run(
    name: str, hidden: Hidden, train: Table, test: Table, seed: int, work: Path, wordnet: WordNet
) -> dict[str, Any]:
    """Which of the test texts with hidden words each condition answers rightly, and each embedding's cosine."""
    done = work / f"{name}-{seed}.json"
    if done.is_file():
        finished: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
        if (finished["words"], finished.get("first")) == (hidden.words, hidden.first):
            return finished
    recipe = load_recipe(overrides={"training.seed": seed})
    labels = LabelSet.from_table(train)
    whole = _trained(train, test, recipe, work / f"whole-{seed}")
    blind = _trained(hidden.without, test, recipe, work / f"without-{name}-{seed}")
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
    found = {
        "words": hidden.words,
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
    with written_aside(done) as aside:
        aside.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    return found


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


def _trained(train: Table, test: Table, recipe: Recipe, folder: Path) -> TrainedModel:
    """The model in the folder, or a new one."""

    def make() -> None:
        with LiveView() as view:
            train_classifier(Sources(train=train, test=test), recipe, out=folder, overwrite=True, observer=view)

    tables = {"training": fingerprint(train), "test": fingerprint(test)}
    make_once(folder, {"recipe": recipe.model_dump(mode="json"), **tables}, make)
    return load_model(folder, CLASSIFIER)


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
            inputs = (batch.token_ids, batch.attention_mask)
            logits: Tensor = functional_call(blind.model, {"trunk.embedding.weight": embeddings}, inputs)
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
    return score(model, store, max_seq_len=trained.config.model.max_seq_len, n_classes=trained.config.n_classes)


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


def _show(name: str, result: Mapping[str, Any]) -> None:
    print(f"{name}: {len(result['hidden'])} hidden words, {result['test_texts']} test texts of {result['test_words']}")
    for condition, one in result["conditions"].items():
        accuracy, gain, cosine = one["accuracy"], one["above_unknown"], one.get("cosine")
        line = f"  {condition:24} {accuracy['value']:.3f} [{accuracy['low']:.3f}, {accuracy['high']:.3f}]"
        line += f"  {gain['value']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}]"
        print(line + (f"  cosine {cosine['value']:.3f}" if cosine else ""))


if __name__ == "__main__":
    main()
