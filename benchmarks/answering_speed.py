"""How fast are answers, and how much memory do they take, beside `transformers`, ONNX Runtime, fastText and TF-IDF?

    python -m benchmarks.answering_speed

All answer the same held-out texts: each text by itself, then all tweets and all reviews at once. The BERT has the
width, the depth and about the parameters of ours, its weights are random, and its tokenizer is ours: its work does not
depend on the weights. Each contestant runs in processes of its own, with one thread and with one for each core, in
turn, several times (benchmarks/answering_contestants.py). Its time for one text and its speed are each those of the
threads with which it is faster. Another process finds the peak memory of its fastest way to answer all.

The time to the first answer is that of `glassformer predict MODEL TEXT`, from its start to its end. Needs the extra
`bench`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.answering_contestants import CONTESTANTS, seconds
from benchmarks.bench_data import hold_out_fifth, some_rows
from benchmarks.experiment import ROOT, Experiment, arguments, as_typed, environment, running, threads_to_try

DATA = {"tweets": "disaster-tweets", "reviews": "imdb"}
ROWS, HELD_OUT = {"tweets": None, "reviews": 3_000}, {"tweets": 1_000, "reviews": 200}
EPOCHS = {"tweets": 4, "reviews": 2}
ROUNDS, STARTS, SEED = 3, 5, 0
WEIGHT_BY_HAND = 1.0
ANSWERING: dict[str, tuple[str, dict[str, Any]]] = {
    "alone": ("glassformer", {"model.counting": "none", "model.body": "none"}),  # the transformer
    "all": ("glassformer, all readers", {}),
    "counting-body": ("glassformer, counting and the body", {"training.epochs": 0}),
    "counting": ("glassformer, counting alone", {"training.epochs": 0, "model.body": "none"}),
    "body": ("glassformer, the body alone", {"training.epochs": 0, "model.counting": "none", "model.body": "english"}),
}
"""Folder → contestant, and the settings of its model."""
Figures = dict[str, Any]
Runs = dict[int, list[Figures]]  # threads → a run for each round


def main() -> None:
    """Measure all contestants in turn, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        folders = {kind: prepare(experiment, kind) for kind in DATA}
        found: dict[str, Figures] = {name: {"name": name} for name in CONTESTANTS}
        for kind, folder in folders.items():
            for name, figures in compared(kind, folder, 1 if experiment.quick else ROUNDS).items():
                found[name][kind] = figures
        times = 2 if experiment.quick else STARTS
        starts = {name: starting(folders["tweets"] / file, times) for name, file in STARTED.items()}
        experiment.write("answering-speed", {"seed": SEED, "contestants": list(found.values()), "first_answer": starts})


def prepare(experiment: Experiment, kind: str) -> Path:
    """Return a folder with the held-out texts of a kind and all models: ours, its exports, and the others."""
    from benchmarks.models import classifier
    from glassformer.data.known import resolve
    from glassformer.data.sources import SourceConfig
    from glassformer.data.splits import fingerprint
    from glassformer.data.table import read_table
    from glassformer.training.recipe import load_recipe

    train, held_out = hold_out_fifth(resolve(DATA[kind], "train"), SEED)
    train = some_rows(train, 300 if experiment.quick else ROWS[kind], SEED)
    held = some_rows(held_out, 20 if experiment.quick else HELD_OUT[kind], SEED).frame["text"].to_list()
    # From a file: the check of onnx-int8 reads the validation rows again.
    file = experiment.work / f"answering-{kind}-{train.frame.height}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    train.frame.select("text", "label").write_csv(file)
    train, source = read_table(file, text="text", label="label"), SourceConfig(train=str(file.absolute()))
    settings = {"training.seed": SEED, "training.epochs": EPOCHS[kind]}
    recipes = {name: load_recipe(None, overrides=settings | more) for name, (_, more) in ANSWERING.items()}

    def make(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, recipe in recipes.items():
            made = classifier(experiment, f"answering-{name}-{kind}", recipe, train, source=source)
            shutil.copytree(made, folder / name, dirs_exist_ok=True)
        about = ask_all(folder) | write_exports(folder)
        texts, labels = train.frame["text"].to_list(), train.frame["label"].to_list()
        write_fasttext(folder / "fasttext.bin", texts, labels)
        write_tfidf(folder / "tfidf.joblib", texts, labels)
        export_bert(folder, write_bert(folder))
        (folder / "texts.json").write_text(json.dumps(held), encoding="utf-8")
        (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")

    made_of = {"recipe": recipes["all"].model_dump(mode="json"), "training": fingerprint(train), "texts": held}
    return experiment.model(f"answering-{kind}", made_of, make)


def ask_all(folder: Path) -> dict[str, Figures]:
    """Let the model with all readers answer by all of them.

    The speed does not depend on the weights. If training gave the transformer the weight 0, it is set by hand.

    Returns:
        contestant → how it answers.
    """
    from benchmarks.models import answers_by
    from glassformer.data.checksums import replace_file
    from glassformer.prediction.model_folder import CLASSIFIER, load_model

    trained = load_model(folder / "all", CLASSIFIER)
    assert trained.config.readers is not None
    chosen = trained.config.readers.transformer.weight
    if not chosen:
        config = json.loads((folder / "all" / "config.json").read_text(encoding="utf-8"))
        config["readers"]["transformer"]["weight"] = WEIGHT_BY_HAND
        replace_file(folder / "all", "config.json", json.dumps(config))
    about: dict[str, Figures] = {
        contestant: {"answers_by": answers_by(load_model(folder / name, CLASSIFIER).config)}
        for name, (contestant, _) in ANSWERING.items()
    }
    about[ANSWERING["all"][0]] |= {
        "training_chose": answers_by(trained.config),
        "weight_by_hand": None if chosen else WEIGHT_BY_HAND,
    }
    return about


def write_exports(folder: Path) -> dict[str, Figures]:
    """Export the transformer alone. Return how int8 passed its check, or why it was refused."""
    from glassformer.errors import UsageError
    from glassformer.exporting.export import export
    from glassformer.exporting.onnx import Int8RefusedError

    export(folder / "alone", folder / "onnx", to="onnx", overwrite=True)
    try:
        export(folder / "alone", folder / "onnx-int8", to="onnx-int8", overwrite=True)
    except UsageError as error:
        if not isinstance(error.__cause__, Int8RefusedError):
            raise
        return {"glassformer, onnx-int8": {"refused": error.__cause__.reason}}
    checked = json.loads((folder / "onnx-int8" / "config.json").read_text(encoding="utf-8"))["checked"]
    names = ("rows", "same_labels", "macro_f1", "macro_f1_exported")
    return {"glassformer, onnx-int8": {"checked": {name: checked[name] for name in names}}}


def compared(kind: str, folder: Path, rounds: int) -> dict[str, Figures]:
    """Return contestant → its figures on a kind of texts. They are medians over the rounds."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    taking_part = [name for name in CONTESTANTS if "refused" not in about.get(name, {})]
    runs: dict[str, Runs] = {name: {threads: [] for threads in threads_to_try()} for name in taking_part}
    for number in range(rounds):
        for name, by_threads in runs.items():
            print(f"{kind}, round {number + 1} of {rounds}: {name}", file=sys.stderr)
            for threads, found in by_threads.items():
                found.append(child(name, folder, threads))
    for name, by_threads in runs.items():
        figures = summary(by_threads)
        quickest = by_threads[figures["threads"]["all"]]
        way = int(np.argmin(np.median([run["seconds"] for run in quickest], axis=0)))
        about[name] = about.get(name, {}) | figures | child(name, folder, figures["threads"]["all"], str(way))
    return {name: about[name] for name in CONTESTANTS}


def child(name: str, folder: Path, threads: int, *way: str) -> Figures:
    """Run a contestant in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.answering_contestants", name, str(folder), *way]
    given = environment(threads, ours=name.startswith("glassformer"))
    done = subprocess.run(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, check=True)
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def summary(by_threads: Runs) -> Figures:
    """Return the medians over the rounds: those of one text, and those of all, each with the threads that are fastest.

    The result has those with the other threads too.
    """
    found = {threads: _medians(runs) for threads, runs in by_threads.items()}
    one = min(found, key=lambda threads: found[threads]["p50_ms"])
    every = max(found, key=lambda threads: found[threads]["texts_per_second"])
    first = next(iter(by_threads.values()))[0]
    return {
        "texts": len(first["milliseconds"]),
        **{name: found[one][name] for name in ("p50_ms", "p99_ms")},
        "texts_per_second": found[every]["texts_per_second"],
        "threads": {"one": one, "all": every},
        "by_threads": {str(threads): figures for threads, figures in found.items()},
        "bytes": first["bytes"],
    }


def _medians(runs: list[Figures]) -> dict[str, float]:
    figures = {
        "p50_ms": [np.quantile(run["milliseconds"], 0.5) for run in runs],
        "p99_ms": [np.quantile(run["milliseconds"], 0.99) for run in runs],
        "texts_per_second": [len(run["milliseconds"]) / min(run["seconds"]) for run in runs],
    }
    return {name: round(float(median(found)), 3) for name, found in figures.items()}


STARTED = {"glassformer": "alone", "glassformer, onnx": "onnx"}


def starting(model: Path, times: int) -> dict[str, float]:
    """Return the seconds from the start of `glassformer predict MODEL TEXT` to its end."""
    command = [sys.executable, "-m", "glassformer", "predict", str(model), "the plot is thin but i loved it", "-q"]
    run = partial(subprocess.run, command, cwd=ROOT, env=as_typed(), stdout=subprocess.DEVNULL, check=True)
    run()  # reads the files into memory
    found = [seconds(run) for _ in range(times)]
    return {"median": round(median(found), 3), "slowest": round(max(found), 3)}


def write_bert(folder: Path) -> Any:
    """Write a BERT of the size of ours as a folder of `transformers`, and return it."""
    import transformers

    from benchmarks.serving_peers import bert_like
    from glassformer.data.tokenizers import PAD
    from glassformer.prediction.model_folder import CLASSIFIER, load_model

    config = load_model(folder / "alone", CLASSIFIER).config
    model = bert_like(config.model, config.vocab_size, config.n_classes)
    model.save_pretrained(folder / "bert")
    transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "alone" / "tokenizer.json"),
        pad_token=PAD,
        model_max_length=config.model.max_seq_len,
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder / "bert")
    return model


def export_bert(folder: Path, model: Any) -> None:
    """Write it as ONNX, for texts as long as it reads."""
    import torch

    ids = torch.ones(2, 9, dtype=torch.long)
    shape = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq", max=model.config.max_position_embeddings)}
    torch.onnx.export(
        model, (), str(folder / "bert.onnx"), dynamo=True, verbose=False,
        kwargs={"input_ids": ids, "attention_mask": torch.ones_like(ids)},
        dynamic_shapes={"input_ids": shape, "attention_mask": shape},
    )  # fmt: skip


def write_fasttext(file: Path, texts: list[str], labels: list[str]) -> None:
    """Train fastText with word pairs."""
    from benchmarks.bench_opponents import train_fasttext

    source = file.with_suffix(".txt")
    rows = zip(labels, texts, strict=True)
    source.write_text("".join(f"__label__{'_'.join(a.split())} {' '.join(b.split())}\n" for a, b in rows), "utf-8")
    if problem := train_fasttext(source, file, SEED, {"wordNgrams": 2, "bucket": 200_000, "epoch": 10}):
        raise RuntimeError(f"fastText: {problem}")


def write_tfidf(file: Path, texts: list[str], labels: list[str]) -> None:
    """Fit the baseline of `evaluate`, and write it with nothing of ours in it: what answers is scikit-learn."""
    import joblib
    from sklearn.pipeline import Pipeline

    from glassformer.evaluation.baselines import TfidfBaseline

    names = sorted(set(labels))
    fitted = TfidfBaseline(len(names)).fit(texts, np.array([names.index(label) for label in labels]))
    joblib.dump(Pipeline([("tfidf", fitted.vectorizer), ("regression", fitted.models[0])]), file)


if __name__ == "__main__":
    main()
