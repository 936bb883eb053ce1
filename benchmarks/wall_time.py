"""How long does a user wait, from the command to the finished model, beside other classifiers?

    python -m benchmarks.wall_time --rows 1000 7600
    python -m benchmarks.wall_time --quick

All learn from the same tweets, and write their model to the disk. Each runs in a new process, in turn, several times: a
busy machine slows down all of them. fastText and the Trainer take part where the extra `bench` is installed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from benchmarks.experiment import ROOT, arguments, as_typed, running

ROWS, QUICK_ROWS = (1_000, 7_600, 25_000), (300,)
ROUNDS, SEED = 3, 0
TFIDF = """
import joblib, polars as pl, sys
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
rows = pl.read_csv(sys.argv[1])
model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
model.fit(rows["text"].to_list(), rows["label"].to_list())
joblib.dump(model, sys.argv[2])
"""
FASTTEXT = """
import fasttext, polars as pl, sys
rows = pl.read_csv(sys.argv[1])
with open(sys.argv[2] + ".txt", "w") as file:
    for text, label in rows.select("text", "label").iter_rows():
        print(f"__label__{label}", " ".join(text.lower().split()), file=file)
model = fasttext.train_supervised(sys.argv[2] + ".txt", epoch=25, lr=0.5, wordNgrams=2, verbose=0)
model.save_model(sys.argv[2])
"""
TRAINER = """
import polars as pl, sys
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, DataCollatorWithPadding
from transformers import Trainer, TrainingArguments
rows = pl.read_csv(sys.argv[1])
texts, names = rows["text"].to_list(), sorted(set(rows["label"]))
pieces = BertWordPieceTokenizer()
pieces.train_from_iterator(texts, vocab_size=8000, min_frequency=2, show_progress=False)
tokenizer = BertTokenizerFast(tokenizer_object=pieces._tokenizer, pad_token="[PAD]", unk_token="[UNK]")
size = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512)
model = BertForSequenceClassification(BertConfig(vocab_size=8000, num_labels=len(names), **size))
ids = tokenizer(texts, truncation=True, max_length=256)["input_ids"]
data = [{"input_ids": each, "labels": names.index(label)} for each, label in zip(ids, rows["label"])]
settings = TrainingArguments(
    sys.argv[2], num_train_epochs=3, per_device_train_batch_size=64, learning_rate=5e-4, use_cpu=True, report_to=[],
    save_strategy="no", disable_tqdm=True, train_sampling_strategy="group_by_length",
)
Trainer(model, settings, train_dataset=data, data_collator=DataCollatorWithPadding(tokenizer)).train()
model.save_pretrained(sys.argv[2])
"""
_TRAIN = (sys.executable, "-m", "glassformer", "train", "{table}", "--out", "{out}", "--quiet")
CONTESTANTS: dict[str, tuple[str, ...]] = {
    "glassformer train": _TRAIN,
    "glassformer, without transformer": (*_TRAIN, "--epochs", "0"),
    "TF-IDF + LR": (sys.executable, "-c", TFIDF, "{table}", "{out}"),
    "fastText": (sys.executable, "-c", FASTTEXT, "{table}", "{out}"),
    "Trainer, a small BERT, 3 epochs": (sys.executable, "-c", TRAINER, "{table}", "{out}"),
}
BASELINE = "TF-IDF + LR"
_NEEDS = {"fastText": "fasttext", "Trainer, a small BERT, 3 epochs": "accelerate"}


def main() -> None:
    """Run the benchmark that the command line asks for."""
    from benchmarks.tables_speed import wall_time_tables

    parser = arguments(__doc__, data=False)
    parser.add_argument("--rows", nargs="+", type=int, help=f"rows of each table; default: {ROWS}")
    options = parser.parse_args()
    with running(options) as experiment:
        lines = []
        for count in options.rows or (QUICK_ROWS if experiment.quick else ROWS):
            rounds = 1 if experiment.quick else ROUNDS
            found = experiment.kept(
                f"wall-time-{count}", {"rows": count, "rounds": rounds}, partial(measure, count, rounds)
            )
            lines.append({"rows": count, "contestants": found})
            print(lines[-1], file=sys.stderr, flush=True)
        found = {"lines": lines, "load_average_at_end": round(os.getloadavg()[0], 2)}
        experiment.write("wall-time", found, wall_time_tables)


def tweets(count: int) -> pl.DataFrame:
    """Return so many tweets. Fewer are the first of more."""
    from glassformer.data.known import data_folders

    folder = next(folder for folder in data_folders() if (folder / "sentiment140" / "headtail.parquet").is_file())
    found = pl.read_parquet(folder / "sentiment140" / "headtail.parquet", columns=["text", "label"])
    return found.unique("text", maintain_order=True).sample(max(ROWS), seed=SEED, shuffle=True).head(count)


def measure(count: int, rounds: int) -> dict[str, Any]:
    """Train each contestant on so many tweets, once in each round.

    Return its seconds, and how many times as long as TF-IDF it takes.
    """
    names = [name for name in CONTESTANTS if name not in _NEEDS or find_spec(_NEEDS[name])]
    found: list[dict[str, dict[str, float]]] = []
    with TemporaryDirectory() as folder:
        table = Path(folder) / "tweets.csv"
        tweets(count).write_csv(table)
        for number in range(rounds):
            out = {name: str(Path(folder) / f"{number}-{place}") for place, name in enumerate(names)}
            found.append(
                {
                    name: timed(
                        [word.format(table=table, out=out[name]) if word.startswith("{") else word for word in words]
                    )
                    for name, words in CONTESTANTS.items()
                    if name in names
                }
            )
    return {name: _summary(name, found) for name in names}


def _summary(name: str, rounds: Sequence[dict[str, dict[str, float]]]) -> dict[str, Any]:
    ratios = [each[name]["seconds"] / each[BASELINE]["seconds"] for each in rounds]
    return {
        "seconds": [round(each[name]["seconds"], 2) for each in rounds],
        "processor_seconds": [round(each[name]["processor_seconds"], 2) for each in rounds],
        "times_tfidf": {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)},
    }


def timed(command: Sequence[str]) -> dict[str, float]:
    """Run a command as a user would, without a word about threads. Return its seconds, and those of processors."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=as_typed(), capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "processor_seconds": used}


if __name__ == "__main__":
    main()
