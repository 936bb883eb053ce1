"""How fast are answers, beside a pipeline of `transformers`, ONNX Runtime, fastText and TF-IDF?

    python -m benchmarks.answering_speed

All answer the same held-out texts with one thread: each tweet by itself, then all tweets and all reviews at once. The
BERT has the width, the depth and about the parameters of ours, its weights are random, and its tokenizer is ours: its
work does not depend on the weights. Each contestant runs in a process of its own, in turn, several times.

The time to the first answer is that of `glassformer predict MODEL TEXT`, from its start to its end. Needs the extra
`bench`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.bench_data import hold_out_fifth, some_rows
from benchmarks.experiment import ROOT, Experiment, arguments, running

DATA = {"tweets": "disaster-tweets", "reviews": "imdb"}
ROWS, HELD_OUT = {"tweets": None, "reviews": 3_000}, {"tweets": 1_000, "reviews": 200}
WARM_UP, ROUNDS, STARTS, SEED = 30, 3, 5, 0
BATCH_SIZES = (1, 8, 32, 64)  # of the pipeline, which is given its best

Answer = Callable[[Sequence[str]], object]
Figures = dict[str, Any]


def main() -> None:
    """Measure all contestants in turn, and write one JSON file."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--contestant", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with running(options) as experiment:
        if options.contestant:
            print(json.dumps(measure(experiment, *options.contestant)))
            return
        folders = {kind: prepare(experiment, kind) for kind in DATA}
        rounds = [alternate(folders) for _ in range(1 if experiment.quick else ROUNDS)]
        contestants = [
            {"name": name, **{kind: summary([each[name][kind] for each in rounds]) for kind in DATA}}
            for name in CONTESTANTS
        ]
        starts = {
            name: starting(name, folders["tweets"], 2 if experiment.quick else STARTS)
            for name in ("glassformer", "glassformer, onnx")
        }
        experiment.write("answering-speed", {"seed": SEED, "contestants": contestants, "first_answer": starts})


def prepare(experiment: Experiment, kind: str) -> Path:
    """Return a folder with the held-out texts of a kind and all models: ours, its exports, and the others."""
    folder = experiment.work / f"answering-{kind}"
    if (folder / "texts.json").is_file():
        return folder
    from benchmarks.models import classifier
    from glassformer.data.known import resolve
    from glassformer.exporting.export import export
    from glassformer.training.recipe import load_recipe

    train, held_out = hold_out_fifth(resolve(DATA[kind], "train"), SEED)
    if (most := 300 if experiment.quick else ROWS[kind]) is not None:
        train = some_rows(train, most, SEED)
    recipe = load_recipe(None, overrides={"training.seed": SEED, "training.epochs": 1, "model.counting": "none"})
    both = load_recipe(None, overrides={"training.seed": SEED, "training.epochs": 1})
    folder.mkdir(parents=True, exist_ok=True)
    made = {"ours": classifier(experiment, f"answering-alone-{kind}", recipe, train)}
    made["ours-both"] = classifier(experiment, f"answering-both-{kind}", both, train)
    for name, source in made.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(source.absolute())
    export(made["ours"], folder / "onnx", to="onnx", overwrite=True)
    try:
        export(made["ours"], folder / "onnx-int8", to="onnx-int8", overwrite=True)
    except Exception as error:
        print(f"onnx-int8 of {kind}: {error}", file=sys.stderr)
    texts, labels = train.frame["text"].to_list(), train.frame["label"].to_list()
    write_fasttext(folder / "fasttext.bin", texts, labels)
    write_tfidf(folder / "tfidf.joblib", texts, labels)
    write_bert(folder)
    held = some_rows(held_out, 20 if experiment.quick else HELD_OUT[kind], SEED).frame["text"].to_list()
    (folder / "texts.json").write_text(json.dumps(held), encoding="utf-8")
    return folder


def alternate(folders: dict[str, Path]) -> dict[str, dict[str, Figures]]:
    """Run each contestant once on each kind of texts, in a process of its own."""
    found: dict[str, dict[str, Figures]] = {name: {} for name in CONTESTANTS}
    for kind, folder in folders.items():
        for name in CONTESTANTS:
            command = [sys.executable, *sys.orig_argv[1:], "--contestant", name, str(folder)]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
            found[name][kind] = json.loads(done.stdout.splitlines()[-1])
            print(kind, name, found[name][kind], file=sys.stderr)
    return found


def measure(experiment: Experiment, name: str, folder: str) -> Figures:
    """Measure one contestant on one kind of texts."""
    place, texts = Path(folder), json.loads((Path(folder) / "texts.json").read_text(encoding="utf-8"))
    if not (ways := CONTESTANTS[name](place)):
        return {}
    files, bulk, one = ways
    for text in texts[:WARM_UP]:
        one([text])
    singles = [_seconds(partial(one, [text])) * 1000 for text in texts[: 20 if experiment.quick else None]]
    seconds = min(_seconds(partial(answer, texts)) for answer in bulk)
    return {
        "texts": len(texts),
        "p50_ms": float(np.quantile(singles, 0.5)),
        "p99_ms": float(np.quantile(singles, 0.99)),
        "texts_per_second": len(texts) / seconds,
        "bytes": sum(file.stat().st_size for file in files),
    }


def summary(runs: list[Figures]) -> Figures | None:
    """Return the median of each figure over the rounds. None if the contestant does not take part."""
    return {key: round(median(run[key] for run in runs), 3) for key in runs[0]} or None


def starting(name: str, folder: Path, times: int) -> dict[str, float]:
    """Return the seconds from the start of `glassformer predict MODEL TEXT` to its end."""
    model = folder / {"glassformer": "ours"}.get(name, name.removeprefix("glassformer, "))
    command = [sys.executable, "-m", "glassformer", "predict", str(model), "the plot is thin but i loved it", "-q"]
    run = partial(subprocess.run, command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    run()  # reads the files into memory
    seconds = [_seconds(run) for _ in range(times)]
    return {"median": round(median(seconds), 3), "slowest": round(max(seconds), 3)}


# --- The contestants. Each returns its files, ways to answer many texts of which the fastest counts, and one for a text


def ours(name: str, place: Path) -> tuple[Iterable[Path], list[Answer], Answer] | None:
    """Answer with a model folder, or with an export of it."""
    from glassformer.prediction.load_answering import load_answering

    if not (place / name).exists():
        return None
    _one_thread()
    predictor = load_answering(place / name, device="cpu")
    return (place / name).rglob("*"), [predictor.answer], predictor.answer


def pipeline(place: Path) -> tuple[Iterable[Path], list[Answer], Answer]:
    """Answer with a pipeline of `transformers`."""
    import transformers

    _one_thread()
    bert = str(place / "bert")
    classify = transformers.pipeline("text-classification", model=bert, tokenizer=bert, device="cpu")
    ways: list[Answer] = [partial(classify, batch_size=size, truncation=True) for size in BATCH_SIZES]
    return (place / "bert").rglob("*"), ways, partial(classify, truncation=True)


def onnx_bert(place: Path) -> tuple[Iterable[Path], list[Answer], Answer]:
    """Answer with ONNX Runtime and an export of the BERT, in batches of texts of similar length."""
    import onnxruntime
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(place / "bert"))
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(place / "bert.onnx"), settings, providers=["CPUExecutionProvider"])

    def answer(texts: Sequence[str]) -> None:
        encoded = tokenizer(list(texts), truncation=True)["input_ids"]
        order = sorted(range(len(texts)), key=lambda row: len(encoded[row]))
        for first in range(0, len(order), 32):
            chosen = [encoded[row] for row in order[first : first + 32]]
            ids = np.zeros((len(chosen), max(map(len, chosen))), np.int64)
            mask = np.zeros_like(ids)
            for place_of, row in enumerate(chosen):
                ids[place_of, : len(row)], mask[place_of, : len(row)] = row, 1
            session.run(None, {"input_ids": ids, "attention_mask": mask})

    return place.glob("bert.onnx*"), [answer], answer


def fasttext(place: Path) -> tuple[Iterable[Path], list[Answer], Answer]:
    import fasttext as library

    model = library.load_model(str(place / "fasttext.bin"))

    def answer(texts: Sequence[str]) -> None:
        for text in texts:
            model.f.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict")

    return [place / "fasttext.bin"], [answer], answer


def tfidf(place: Path) -> tuple[Iterable[Path], list[Answer], Answer]:
    import joblib

    fitted = joblib.load(place / "tfidf.joblib")
    return [place / "tfidf.joblib"], [fitted.predict_proba], fitted.predict_proba


CONTESTANTS: dict[str, Callable[[Path], Any]] = {
    "glassformer": partial(ours, "ours"),
    "glassformer, both readers": partial(ours, "ours-both"),
    "glassformer, onnx": partial(ours, "onnx"),
    "glassformer, onnx-int8": partial(ours, "onnx-int8"),
    "transformers pipeline, BERT": pipeline,
    "ONNX Runtime, BERT": onnx_bert,
    "fastText": fasttext,
    "TF-IDF + logistic regression": tfidf,
}


def write_bert(folder: Path) -> None:
    """Write a BERT of the size of ours, as a folder of `transformers` and as ONNX."""
    import torch
    import transformers

    from benchmarks.serving_peers import bert_like
    from glassformer.data.tokenizers import PAD
    from glassformer.prediction.model_folder import CLASSIFIER, load_model

    config = load_model(folder / "ours", CLASSIFIER).config
    model = bert_like(config.model, config.vocab_size, config.n_classes)
    model.save_pretrained(folder / "bert")
    transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "ours" / "tokenizer.json"),
        pad_token=PAD,
        model_max_length=config.model.max_seq_len,
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder / "bert")
    ids = torch.ones(2, 9, dtype=torch.long)
    shape = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq", max=config.model.max_seq_len)}
    torch.onnx.export(
        model, (), str(folder / "bert.onnx"), dynamo=True, verbose=False,
        kwargs={"input_ids": ids, "attention_mask": torch.ones_like(ids)},
        dynamic_shapes={"input_ids": shape, "attention_mask": shape},
    )  # fmt: skip


def write_fasttext(file: Path, texts: list[str], labels: list[str]) -> None:
    """Train fastText with word pairs."""
    import fasttext as library

    source = file.with_suffix(".txt")
    rows = zip(labels, texts, strict=True)
    source.write_text("".join(f"__label__{'_'.join(a.split())} {' '.join(b.split())}\n" for a, b in rows), "utf-8")
    model = library.train_supervised(str(source), wordNgrams=2, bucket=200_000, epoch=10, thread=1, verbose=0)
    model.save_model(str(file))


def write_tfidf(file: Path, texts: list[str], labels: list[str]) -> None:
    """Fit the baseline of `evaluate`."""
    import joblib

    from glassformer.evaluation.baselines import TfidfBaseline

    names = sorted(set(labels))
    joblib.dump(TfidfBaseline(len(names)).fit(texts, np.array([names.index(label) for label in labels])), file)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
