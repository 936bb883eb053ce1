"""How well do language models say the next token? Ours, the notes' decoder and a Kneser–Ney 5-gram model, side by side.

    python -m benchmarks.language_model imdb --minutes 15 --seed 0

All learn from the same texts, cut into the same tokens; what is trained by steps gets the same minutes on the same
machine. All are judged by bits per byte on the same test texts, which no training, vocabulary or choice of an epoch has
seen. Also measured: how fast they train and write, and how they write.

Finished parts are kept in --work: a stopped benchmark goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment, arguments, part
from benchmarks.kneser_ney import FloatArray, KneserNey
from benchmarks.language_speeds import training_speed, writing_speeds
from benchmarks.models import language_model
from glassformer.data.documents import Documents, read_documents, split_documents
from glassformer.data.known import resolve
from glassformer.data.store import TokenStore
from glassformer.data.table import text_keys
from glassformer.data.tokenizers import TextTokenizer
from glassformer.evaluation.intervals import bootstrap
from glassformer.evaluation.result import Estimate
from glassformer.models.model_config import LANGUAGE_PRESETS
from glassformer.prediction.generation import TextGenerator
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.language_modelling import LanguageModelling
from glassformer.training.memory import keep_large_buffers
from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe

OURS, NOTES, NOTES_AS_OURS, NGRAMS = "ours", "notes-decoder", "notes-decoder-as-ours", "kneser-ney-5"
TEST_TEXTS = 2_000
ORDER = 5
SAMPLES = 5
SAMPLING = SamplingConfig(max_tokens=100, temperature=0.8, top_p=0.95)


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--minutes", type=float, default=15.0, help="training of each model that is trained by steps")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    keep_large_buffers()
    with Experiment(options) as experiment:
        work = experiment.work / f"language-model-{options.data}"
        recipes = recipes_of(options.seed, options.minutes * 60)
        texts = read_texts(options.data, options.rows)
        folders = {name: language_model(work, name, recipe, texts.documents) for name, recipe in recipes.items()}
        results = {name: measured(name, recipe, texts, folders[name], work) for name, recipe in recipes.items()}
        results[NGRAMS] = ngrams(folders[OURS], recipes[OURS], texts, work)
        document = {
            "benchmark": f"language model, {options.data}",
            "seed": options.seed,
            "minutes": options.minutes,
            "data": described(texts, recipes[OURS]),
            "systems": compared(results, texts.test),
        }
        experiment.write(f"language-model/{options.data}", document)


@dataclass(frozen=True, kw_only=True)
class LearnedAndJudged:
    """What is learned from and judged by.

    Attributes:
        documents: training texts, of which training holds a share out; no test text is among them.
        test: some of the test texts, evenly spread over their split, whose rows may be sorted by label.
        test_split: how many texts that split has.
        left_out: training texts that were equal to one of `test`.
    """

    documents: Documents
    test: Documents
    test_split: int
    left_out: int


def read_texts(name: str, limit: int | None) -> LearnedAndJudged:
    """The texts of a known data set; in a trial only the first `limit` to train on, and no more to judge by."""
    rows = resolve(name, "test").frame["text"]
    count = min(TEST_TEXTS, len(rows), limit or TEST_TEXTS)
    test = Documents(texts=rows[np.arange(count) * len(rows) // count], source=f"{name}, test")
    documents = read_documents(name)
    texts = documents.texts.head(limit) if limit else documents.texts
    kept = texts.filter(~text_keys(texts).is_in(text_keys(test.texts).unique().implode()))
    return LearnedAndJudged(
        documents=replace(documents, texts=kept),
        test=test,
        test_split=len(rows),
        left_out=len(texts) - len(kept),
    )


def recipes_of(seed: int, seconds: float) -> dict[str, PretrainingRecipe]:
    """By system: our default; the notes' decoder of the sizes and with the plain training of its published recipe; and
    the same design of our sizes, trained as ours is."""
    budget: dict[str, Any] = {"training.seed": seed, "training.max_seconds": seconds}
    design = {"model.design": "notes-language-model"}
    small = LANGUAGE_PRESETS["small"]
    sizes = {
        "model.emb_dim": small.d_model,
        "model.n_layers": small.n_layers,
        "model.num_heads": small.n_heads,
        "model.max_seq_len": small.max_seq_len,
        "model.dropout": small.dropout,
    }
    return {
        OURS: load_pretraining_recipe(preset="small", overrides=budget),
        NOTES: load_pretraining_recipe("notes-language-model", overrides=budget),
        NOTES_AS_OURS: load_pretraining_recipe(overrides=budget | design | sizes),
    }


def measured(name: str, recipe: PretrainingRecipe, texts: LearnedAndJudged, folder: Path, work: Path) -> dict[str, Any]:
    """All figures of a model that is trained by steps."""
    trained = load_model(folder, LANGUAGE_MODEL)
    test = encoded(trained.tokenizer, texts.test)

    def quality() -> dict[str, Any]:
        return {"document_bits": document_bits(trained, test).tolist(), "test_tokens": len(test.tokens) + len(test)}

    def speed() -> dict[str, Any]:
        train, _ = split_documents(texts.documents, recipe.validation, seed=recipe.training.seed)
        store = encoded(trained.tokenizer, train)
        return {
            "training_tokens": len(store.tokens) + len(store),
            "training_tokens_per_second": training_speed(recipe, store, trained.tokenizer.vocab_size),
            "generation": writing_speeds(trained, recipe.training.seed),
        }

    decided_by = {"model": folder.name, "test": texts.test.fingerprint}
    found = part(work, f"{name}-quality", decided_by, dict[str, Any], quality)
    found |= part(work, f"{name}-speed", decided_by, dict[str, Any], speed)
    history, best = trained.metrics["history"], trained.metrics["best"]
    return found | {
        "parameters": trained.config.data["parameters"],
        "validation_bits_per_byte": best.get("validation_bits_per_byte"),
        "best_epoch": trained.metrics["best_epoch"],
        "epochs": len(history),
        "steps": int(history[-1]["step"]),
        "history": history,
        "training_seconds": trained.config.training_seconds,
        "samples": written_samples(trained),
        "recipe": recipe.model_dump(mode="json"),
    }


def ngrams(folder: Path, recipe: PretrainingRecipe, texts: LearnedAndJudged, work: Path) -> dict[str, Any]:
    """The same figures of n-grams counted in the tokens of a model, as far as there are such."""
    tokenizer = load_model(folder, LANGUAGE_MODEL).tokenizer

    def make() -> dict[str, Any]:
        train, validation = split_documents(texts.documents, recipe.validation, seed=recipe.training.seed)
        store = encoded(tokenizer, train)
        began = time.perf_counter()
        model = KneserNey.fit(store, tokenizer.vocab_size, ORDER)
        seconds = time.perf_counter() - began
        found = {
            "document_bits": model.document_bits(encoded(tokenizer, texts.test)).tolist(),
            "ngrams": [len(level.keys) for level in model.levels],
            "training_seconds": round(seconds, 2),
            "training_tokens_per_second": (len(store.tokens) + len(store)) / seconds,
        }
        if validation is not None:
            bits = float(model.document_bits(encoded(tokenizer, validation)).sum())
            found["validation_bits_per_byte"] = bits / validation.n_bytes
        return found

    return part(work, NGRAMS, {"tokens": folder.name, "test": texts.test.fingerprint}, dict[str, Any], make)


def encoded(tokenizer: TextTokenizer, documents: Documents) -> TokenStore:
    """The texts as tokens, of which it is certain that they spell every byte."""
    rows = tokenizer.encode(documents.texts.to_list())
    for row, text in zip(rows, documents.texts, strict=True):
        if tokenizer.decode(row.tolist()) != text:
            raise ValueError(f"a text of {documents.source} is not what its tokens spell, so that bits per byte lie")
    return TokenStore.in_memory(rows)


def document_bits(trained: TrainedLanguageModel, store: TokenStore) -> FloatArray:
    """(documents,) −log₂ of the probability of each document, its end included: validation, one by one."""
    model = trained.config.model
    task = LanguageModelling(store, recipe_of(trained).training, window=model.max_seq_len, causal=True)
    task.validation_bytes = 1  # its bits per byte are then all its bits
    bits = []
    for row in range(len(store)):
        task.validation = TokenStore.in_memory([store.tokens[store.offsets[row] : store.offsets[row + 1]]])
        bits.append(task.validate(trained.model)["validation_bits_per_byte"])
    return np.array(bits)


def recipe_of(trained: TrainedLanguageModel) -> PretrainingRecipe:
    return PretrainingRecipe.model_validate(trained.config.recipe)


def written_samples(trained: TrainedLanguageModel) -> list[dict[str, Any]]:
    """The texts of the first seeds, as they come."""
    writer = TextGenerator(trained.model, trained.tokenizer, max_seq_len=trained.config.model.max_seq_len)
    samples = []
    for seed in range(SAMPLES):
        (completion,) = writer.complete([""], SAMPLING.model_copy(update={"seed": seed}))
        samples.append({"seed": seed, "text": completion.text, "ended": completion.ended})
    return samples


def described(texts: LearnedAndJudged, recipe: PretrainingRecipe) -> dict[str, Any]:
    """Which texts these were, without any."""
    train, validation = split_documents(texts.documents, recipe.validation, seed=recipe.training.seed)
    parts = {"training": train, "validation": validation, "test": texts.test}
    return {
        "name": texts.documents.source,
        "test_split": f"{len(texts.test.texts):,} of {texts.test_split:,} test texts, evenly spread in their order",
        "left_out": texts.left_out,
    } | {
        name: {"texts": len(documents.texts), "bytes": documents.n_bytes, "sha256": documents.fingerprint}
        for name, documents in parts.items()
        if documents is not None
    }


def compared(results: Mapping[str, Mapping[str, Any]], test: Documents) -> dict[str, dict[str, Any]]:
    """The figures of each system, with intervals over texts in place of the bits of each."""
    n_bytes = test.texts.str.len_bytes().to_numpy()
    ours = np.array(results[OURS]["document_bits"])
    systems = {}
    for name, found in results.items():
        bits = np.array(found["document_bits"])
        judged: dict[str, Any] = {"bits_per_byte": per_byte(bits, n_bytes).model_dump()}
        if name != OURS:
            judged["above_ours"] = per_byte(bits - ours, n_bytes).model_dump()
        systems[name] = judged | {key: value for key, value in found.items() if key != "document_bits"}
    return systems


def per_byte(bits: FloatArray, n_bytes: np.ndarray[Any, Any]) -> Estimate:
    """All bits of all texts over all their bytes, with the bootstrap interval over texts."""
    rows = np.stack([bits, n_bytes], axis=1)
    return bootstrap(rows, np.ones(len(rows), dtype=np.int64), lambda sums: sums[:, 0] / sums[:, 1], seed=0)


if __name__ == "__main__":
    main()
