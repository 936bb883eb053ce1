"""How well do language models predict the next token? Ours, the notes' decoder and a Kneser–Ney 5-gram model.

    python -m benchmarks.language_model imdb --minutes 15 --seed 0

All models learn from the same texts, cut into the same tokens. Models that train by steps get the same minutes on the
same machine. All are measured in bits per byte on the same test texts, which were never used for training, for the
vocabulary or to choose an epoch. Also measured: the speed of training and of generation, and the first texts written.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.kneser_ney import KneserNey
from benchmarks.models import apart_from, language_model, read_splits
from benchmarks.paired import ratio
from glassformer.data.arrays import DoubleArray
from glassformer.data.documents import Documents, split_documents
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.build import build_language_model
from glassformer.models.model_config import LANGUAGE_PRESETS
from glassformer.prediction.generation import TextGenerator, begin_views, write_tokens
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.language_modelling import LanguageModelling
from glassformer.training.loop import Silent, StepReport, Trainer
from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe

OURS, NOTES, NOTES_AS_OURS, NGRAMS = "ours", "notes-decoder", "notes-decoder-as-ours", "kneser-ney-5"
TEST_TEXTS = 2_000
ORDER = 5
SAMPLES = 5
SAMPLING = SamplingConfig(max_tokens=100, temperature=0.8, top_p=0.95)
TIMED_STEPS, UNTIMED_STEPS = 20, 3
WRITTEN_TOKENS, REPEATS, BATCHES = 128, 5, (1, 32)


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--minutes", type=float, default=15.0, help="training of each model that trains by steps")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with running(options) as experiment:
        recipes = recipes_of(options.seed, options.minutes * 60)
        texts = read_texts(experiment, options.data, recipes[OURS])
        folders = {name: language_model(experiment, name, recipe, texts.given) for name, recipe in recipes.items()}
        measured = {name: trained_figures(folders[name], recipe, texts) for name, recipe in recipes.items()}
        ours = load_model(folders[OURS], LANGUAGE_MODEL)
        measured[NGRAMS] = ngram_figures(ours.tokenizer, texts)
        n_bytes = texts.test.texts.str.len_bytes().to_numpy()
        systems = {}
        for name, (bits, figures) in measured.items():
            systems[name] = {"bits_per_byte": ratio(bits, n_bytes).model_dump(), **figures}
            if name != OURS:
                systems[name]["above_ours"] = ratio(bits - measured[OURS][0], n_bytes).model_dump()
        document = {
            "seed": options.seed,
            "minutes": options.minutes,
            "data": texts.record,
            "systems": systems,
            "samples": written_samples(ours),
        }
        experiment.write(f"language-model/{options.data}", document)


def recipes_of(seed: int, seconds: float) -> dict[str, PretrainingRecipe]:
    """Return the recipe of each system that trains by steps.

    They are our default, the notes' decoder with its published recipe, and the same design with our sizes and training.
    """
    budget: dict[str, Any] = {"training.seed": seed, "training.max_seconds": seconds}
    small = LANGUAGE_PRESETS["small"]
    as_ours = {
        "model.design": "notes-language-model",
        "model.emb_dim": small.d_model,
        "model.n_layers": small.n_layers,
        "model.num_heads": small.n_heads,
        "model.max_seq_len": small.max_seq_len,
        "model.dropout": small.dropout,
    }
    return {
        OURS: load_pretraining_recipe(preset="small", overrides=budget),
        NOTES: load_pretraining_recipe("notes-language-model", overrides=budget),
        NOTES_AS_OURS: load_pretraining_recipe(overrides=budget | as_ours),
    }


class Texts(NamedTuple):
    """The texts of a known data set.

    Attributes:
        given: the training split, without texts that equal a test text.
        train, validation: the two parts of `given`, split as training splits them.
        test: some texts of the test split. They are evenly spread, because the split may be sorted by label.
        record: what the result says of them.
    """

    given: Documents
    train: Documents
    validation: Documents
    test: Documents
    record: dict[str, Any]


def read_texts(experiment: Experiment, name: str, recipe: PretrainingRecipe) -> Texts:
    table, tests = read_splits(experiment, name)
    test_split = tests.frame.height
    count = min(TEST_TEXTS, test_split)
    tests = replace(tests, frame=tests.frame[np.arange(count) * test_split // count])
    kept = apart_from(tests, table)
    given = Documents(texts=kept.frame["text"], source=name)
    train, validation = split_documents(given, recipe.validation, seed=recipe.training.seed)
    assert validation is not None
    test = Documents(texts=tests.frame["text"], source=f"{name}, test")
    record: dict[str, Any] = {
        "name": name,
        "test_split": f"{count:,} of {test_split:,} test texts, evenly spread in their order",
        "left_out": table.frame.height - kept.frame.height,
    }
    for part, texts in (("training", train), ("validation", validation), ("test", test)):
        record[part] = {"texts": len(texts.texts), "bytes": texts.n_bytes, "sha256": texts.fingerprint}
    return Texts(given, train, validation, test, record)


def trained_figures(folder: Path, recipe: PretrainingRecipe, texts: Texts) -> tuple[DoubleArray, dict[str, Any]]:
    """Return the bits of each test text, and all other figures of a model that was trained by steps."""
    trained = load_model(folder, LANGUAGE_MODEL)
    train, test = encoded(trained.tokenizer, texts.train), encoded(trained.tokenizer, texts.test)
    history, best = trained.metrics["history"], trained.metrics["best"]
    return document_bits(trained, test), {
        "test_tokens": len(test.tokens) + len(test),
        "training_tokens": len(train.tokens) + len(train),
        "training_tokens_per_second": training_speed(recipe, train, trained.tokenizer.vocab_size),
        "generation": writing_speeds(trained, recipe.training.seed),
        "parameters": trained.config.data["parameters"],
        "validation_bits_per_byte": best.get("validation_bits_per_byte"),
        "best_epoch": trained.metrics["best_epoch"],
        "epochs": len(history),
        "steps": int(history[-1]["step"]),
        "training_seconds": trained.config.training_seconds,
    }


def ngram_figures(tokenizer: TextTokenizer, texts: Texts) -> tuple[DoubleArray, dict[str, Any]]:
    """Return the same of n-grams of the same tokens, except for what only models that train by steps have."""
    train = encoded(tokenizer, texts.train)
    began = time.perf_counter()
    model = KneserNey.fit(train, tokenizer.vocab_size, ORDER)
    seconds = time.perf_counter() - began
    validation_bits = float(model.document_bits(encoded(tokenizer, texts.validation)).sum())
    return model.document_bits(encoded(tokenizer, texts.test)), {
        "ngrams": [level.grams.height for level in model.levels],
        "training_seconds": round(seconds, 2),
        "training_tokens_per_second": (len(train.tokens) + len(train)) / seconds,
        "validation_bits_per_byte": validation_bits / texts.validation.n_bytes,
    }


def encoded(tokenizer: TextTokenizer, documents: Documents) -> TokenStore:
    """Encode texts, and check that the tokens spell every byte. Without that, bits per byte would be wrong."""
    rows = tokenizer.encode(documents.texts.to_list())
    for row, text in zip(rows, documents.texts, strict=True):
        if tokenizer.decode(row.tolist()) != text:
            raise ValueError(f"{documents.source}: the tokens of a text do not spell it, so bits per byte would lie")
    return TokenStore.in_memory(rows)


def document_bits(trained: TrainedLanguageModel, store: TokenStore) -> DoubleArray:
    """Return −log₂ of the probability of each document with its end (documents,), as validation computes it."""
    training = PretrainingRecipe.model_validate(trained.config.recipe).training
    task = LanguageModelling(store, training, window=trained.config.model.max_seq_len, causal=True)
    task.validation_bytes = 1  # bits per byte are then the bits of the whole document
    bits = []
    for row in range(len(store)):
        task.validation = TokenStore.in_memory([store.tokens[store.offsets[row] : store.offsets[row + 1]]])
        bits.append(task.validate(trained.model)["validation_bits_per_byte"])
    return np.array(bits)


def written_samples(trained: TrainedLanguageModel) -> list[str]:
    """Return the texts that the first seeds write, unselected."""
    writer = TextGenerator(trained.model, trained.tokenizer, max_seq_len=trained.config.model.max_seq_len)
    samples = []
    for seed in range(SAMPLES):
        (completion,) = writer.complete([""], SAMPLING.model_copy(update={"seed": seed}))
        samples.append(completion.text)
    return samples


class Clock(Silent):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_step(self, _report: StepReport) -> None:
        self.times.append(time.perf_counter())


def training_speed(recipe: PretrainingRecipe, store: TokenStore, vocab_size: int) -> float:
    """Return the tokens per second of the median training step, everything but validation included."""
    budget = {"max_seconds": None, "max_steps": TIMED_STEPS + UNTIMED_STEPS}
    config, clock, window = recipe.training.model_copy(update=budget), Clock(), recipe.model.max_seq_len
    task = LanguageModelling(store, config, window=window, causal=True)
    torch.manual_seed(config.seed)
    Trainer(build_language_model(recipe.model, vocab_size), task, config, observer=clock).run()
    seconds = np.diff(clock.times)[UNTIMED_STEPS - 1 :]
    return float(config.batch_size * config.accumulation * window / np.median(seconds))


def writing_speeds(trained: TrainedLanguageModel, seed: int) -> dict[str, dict[str, float | None]]:
    """Return the tokens per second of generation, by batch, with a cache (None if the model has none) and without."""
    has_cache = bool(trained.model.new_caches(1, 2))
    return {
        f"batch {batch}": {
            "cached": _writing_speed(trained, batch, cached=True, seed=seed) if has_cache else None,
            "uncached": _writing_speed(trained, batch, cached=False, seed=seed),
        }
        for batch in BATCHES
    }


def _writing_speed(trained: TrainedLanguageModel, batch: int, *, cached: bool, seed: int) -> float:
    sampling, seconds = SamplingConfig(max_tokens=WRITTEN_TOKENS, seed=seed), []
    for _ in range(REPEATS):
        views = begin_views([[]] * batch, trained.config.model.max_seq_len, seed=seed)
        began = time.perf_counter()
        for _ in write_tokens(trained.model, views, sampling, cached=cached):
            for view in views:
                view.ended = False  # so that every model writes all the tokens
        seconds.append(time.perf_counter() - began)
    return batch * WRITTEN_TOKENS / statistics.median(seconds)


if __name__ == "__main__":
    main()
