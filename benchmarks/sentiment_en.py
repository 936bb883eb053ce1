"""Train `sentiment-en`, the model that comes with the package, and measure it.

    python -m benchmarks.sentiment_en

It learns from the training rows of `imdb` and `sentiment140`, and from sentences of the reviews (`sentiment_rows.py`).
Names of users in tweets are masked first, so that the vocabulary holds none. It is measured on the test rows of both,
and on `customer-reviews`, a domain that it has never seen. Beside it stands TF-IDF + logistic regression that learns
from the same rows, with the sentences and without them. The folder in the package is then replaced.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from safetensors.torch import load_file, save_file

from benchmarks.experiment import ROOT, Experiment, arguments, running
from benchmarks.models import classifier
from benchmarks.sentiment_rows import SEED, UNSEEN, class_numbers, test_rows, training_rows, with_sentences
from glassformer.data.checksums import write_sums
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits, make_splits
from glassformer.data.table import Table
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.evaluation.intervals import share_right
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.number.held_out import unseen_figures
from glassformer.training.recipe import load_recipe
from glassformer.training.unlike import learn_seen

NAME = "sentiment-en"
SETTINGS = {
    "training.epochs": 1, "training.seed": SEED, "validation.group": "group",
    "tokenizer.vocab_size": 8_000,  # most of the bytes are embeddings
}  # fmt: skip
HASHES = 400_000  # of words and word pairs of the training texts: a third as many bytes as usual
SHIPPED = ROOT / "src" / "glassformer" / "shipped" / NAME
FILES = ("config.json", "tokenizer.json", "model.safetensors", "counting.json", "counting.safetensors",
         "seen.safetensors", "metrics.json", "README.md")  # fmt: skip


def main() -> None:
    """Train, measure, and replace the folder in the package."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        whole, tests = training_rows(experiment), test_rows(experiment)
        rows_of_all = pl.concat([test.frame.select("row", "text", "label") for test in tests.values()])
        everything = replace(whole, frame=rows_of_all)
        recipe = load_recipe(overrides=SETTINGS)
        splits = make_splits(whole, recipe.validation, seed=SEED, test=everything)
        sources = Sources(train=with_sentences(splits.train), validation=splits.validation, test=everything)
        trained = classifier(experiment, NAME, recipe, sources.train, everything, validation=splits.validation)
        folder = smaller(trained, sources.split(recipe.validation, seed=SEED), experiment)
        predictor = Predictor.load(folder)
        peers = {
            "tfidf": peer(splits.train, splits.validation),
            "tfidf_sentences": peer(sources.train, sources.validation),
        }
        found = {name: measured(predictor, peers, test) for name, test in tests.items()}
        for name, figures in found.items():
            print(name, figures, file=sys.stderr)
        bytes_of = {name: (folder / name).stat().st_size for name in FILES if (folder / name).is_file()}
        held_out = 0 if splits.validation is None else splits.validation.frame.height
        rows, with_them = splits.train.frame.height, sources.train.frame.height
        counts = {"training_rows": rows + held_out, "sentences": with_them - rows}
        experiment.write(NAME, {"seed": SEED, **counts, "bytes": bytes_of, "tests": found})
        if not experiment.quick:
            ship(folder, found)


def peer(*tables: Table | None) -> TfidfBaseline:
    """Return TF-IDF + logistic regression that learned from all rows of the tables."""
    rows = pl.concat([table.frame.select("text", "label", "group") for table in tables if table is not None])
    baseline = TfidfBaseline(n_classes=2, groups=rows["group"].rank("dense").to_numpy())
    return baseline.fit(rows["text"].to_list(), class_numbers(rows))


def measured(predictor: Predictor, peers: Mapping[str, TfidfBaseline], test: Table) -> dict[str, Any]:
    """Return the accuracy of the model and of TF-IDF + logistic regression, with 95% intervals."""
    texts, truth = test.frame["text"].to_list(), class_numbers(test.frame)
    answers = predictor.answer(texts)
    right = {
        "accuracy": answers.probs.argmax(axis=1) == truth,
        **{name: peer.answers(texts).argmax(axis=1) == truth for name, peer in peers.items()},
    }
    unlike = answers.unlike
    return {
        "rows": len(texts),
        **{name: share_right(rows, seed=SEED).model_dump() for name, rows in right.items()},
        "unlike_training": None if unlike is None else round(float(unlike.mean()), 4),
    }


def smaller(trained: Path, splits: Splits, experiment: Experiment) -> Path:
    """Return a folder with the same model in fewer bytes: weights in float16, and fewer words of the training texts."""
    folder = experiment.work / f"{NAME}-smaller"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(trained, folder)
    weights = {name: tensor.half() for name, tensor in load_file(trained / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors")
    seen, unseen = learn_seen(splits.train, splits.validation, most_hashes=HASHES)
    seen.save(folder)
    metrics = json.loads((trained / "metrics.json").read_text(encoding="utf-8"))
    usual = HeldOutAnswers.model_validate(metrics["held_out_answers"])
    usual = usual.model_copy(update=unseen_figures(unseen, seen.config.threshold))  # fewer words: more are unseen
    metrics["held_out_answers"] = usual.model_dump()
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    config = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    text = json.dumps(config | {"unlike": seen.config.model_dump()}, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    write_sums(folder)
    return folder


def ship(folder: Path, found: dict[str, Any]) -> None:
    """Replace the folder in the package. Its card also says how accurate the model is, and what it is bad at."""
    shutil.rmtree(SHIPPED, ignore_errors=True)
    SHIPPED.mkdir(parents=True)
    for name in FILES:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, SHIPPED / name)
    card = SHIPPED / "README.md"
    card.write_text(
        card.read_text(encoding="utf-8").replace("It knows only", measured_in_words(found) + "It knows only")
    )
    write_sums(SHIPPED)
    print(SHIPPED, file=sys.stderr)


def measured_in_words(found: dict[str, Any]) -> str:
    """Return what the card says about the accuracy on each data set."""
    lines = [
        f"- `{name}`, {figures['rows']:,} rows{', a domain that it never saw' if name == UNSEEN else ''}: accuracy "
        f"{figures['accuracy']['value']:.3f} (95% interval {figures['accuracy']['low']:.3f}–"
        f"{figures['accuracy']['high']:.3f}); TF-IDF + logistic regression on the same training rows "
        f"{figures['tfidf_sentences']['value']:.3f}, and without the sentences {figures['tfidf']['value']:.3f}."
        for name, figures in found.items()
    ]
    return (
        "Measured on rows that it did not learn:\n\n" + "\n".join(lines) + "\n\n"
        "It is bad at neutral texts (it knows no third label), at sarcasm, at texts that praise and blame, and at "
        "other\ndomains than films and tweets.\n\n"
    )


if __name__ == "__main__":
    main()
