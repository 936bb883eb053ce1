"""What do `train` and `predict` take on a table of a million rows in a bucket?

    python -m benchmarks.million_rows

A row is the first half of a tweet and the second half of another one with the same label (sentiment140,
headtail.parquet). The table lies on a server of this machine that answers as an S3 bucket does (see `remote_memory`).
The counting reader learns it, and the model answers the same rows.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.bench_data import find_file
from benchmarks.experiment import arguments, running
from benchmarks.remote_memory import answered, measured, of_rows, run

ROWS, TRIAL_ROWS, SEED = 1_000_000, 2_000, 0
SETTINGS = ("training.epochs=0", "model.body=none")
TRAINED, ANSWERED = "trained", "answered"
FOLDER = "GLASSFORMER_BENCHMARK_FOLDER"  # of the model, for the processes that are measured


def main() -> None:
    """Measure both commands, or one in this process, and write one JSON file."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "ADDRESS"), help="measure one here, and print it")
    options = parser.parse_args()
    if options.one:
        way, address = options.one
        print(json.dumps(measured(way, address, {TRAINED: train, ANSWERED: answer})))
        return
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        rows = TRIAL_ROWS if experiment.quick else ROWS
        found = of_rows(rows, Path(folder), ways=(TRAINED, ANSWERED), write=write, module="million_rows")
        model = sum(file.stat().st_size for file in (Path(folder) / "model").iterdir())
        experiment.write("million-rows", {"settings": SETTINGS, **found, "model_mib": round(model / 2**20, 1)})


def write(path: Path, rows: int) -> int:
    """Write a table of different texts. Return how many bytes they have."""
    tweets = pl.read_parquet(find_file("sentiment140", "headtail.parquet"))
    rng = np.random.default_rng(SEED)
    texts, labels = [], []
    for label, part in tweets.group_by("label", maintain_order=True):
        words = [text.split() for text in part["text"]]
        count = round(rows * len(words) / tweets.height)
        for first, second in rng.integers(0, len(words), (count, 2)):
            one, other = words[first], words[second]
            texts.append(" ".join([*one[: len(one) // 2], *other[len(other) // 2 :]]))
        labels += [str(label[0])] * count
    table = pl.DataFrame({"text": texts, "label": labels}).sample(fraction=1, shuffle=True, seed=SEED)
    table.write_parquet(path)
    return int(table["text"].str.len_bytes().sum())


def train(address: str) -> int:
    """Train on a table. Return how many rows it has."""
    given = [part for setting in SETTINGS for part in ("--set", setting)]
    run("train", address, "--out", str(Path(os.environ[FOLDER]) / "model"), *given, "--quiet")
    config = json.loads((Path(os.environ[FOLDER]) / "model" / "config.json").read_text(encoding="utf-8"))
    return int(config["data"]["rows"] + config["data"]["validation_rows"])


def answer(address: str) -> int:
    """Answer the table. Return how many rows were answered."""
    folder = Path(os.environ[FOLDER])
    return answered(str(folder / "model"), address, folder / "answers.csv")


if __name__ == "__main__":
    main()
