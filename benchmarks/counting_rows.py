"""How do the time and the memory of the counting reader grow with the rows?

    python -m benchmarks.counting_rows

The rows are runs of 25 words from the training reviews of imdb, with the labels of the reviews. They begin at evenly
spread places and overlap. `glassformer train --epochs 0` fits the counting reader to more and more of them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.experiment import arguments, running
from benchmarks.memory import watched
from glassformer.data.known import resolve
from glassformer.data.table import Table
from glassformer.errors import GlassformerError
from glassformer.prediction.model_folder import COUNTING_FILES

ROWS, QUICK_ROWS = (62_500, 125_000, 250_000, 500_000, 1_000_000), (500, 1_000)
WORDS = 25


def main() -> None:
    """Cut the rows, measure, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    sizes = QUICK_ROWS if options.quick else ROWS
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        rows = runs_of_words(resolve("imdb", "train"), max(sizes))
        found = {"data": "imdb", "words": WORDS, "lines": [measure(rows.head(size), Path(folder)) for size in sizes]}
        experiment.write("counting-rows", found)


def runs_of_words(table: Table, count: int) -> pl.DataFrame:
    """Cut `count` runs of `WORDS` words from the texts, in a random order: columns `text` and `label`."""
    words = [text.split() for text in table.frame["text"]]
    ends = [max(1, len(each) - WORDS + 1) for each in words]
    step = sum(ends) / (count * 1.3)  # some are left out, because they are equal
    texts, labels = [], []
    for each, end, label in zip(words, ends, table.frame["label"], strict=True):
        for place in range(max(1, round(end / step))):
            start = int(place * step)
            texts.append(" ".join(each[start : start + WORDS]))
            labels.append(label)
    cut = pl.DataFrame({"text": texts, "label": labels}).unique(subset="text", maintain_order=True)
    return cut.sample(count, shuffle=True, seed=0)


def measure(rows: pl.DataFrame, folder: Path) -> dict[str, Any]:
    """Train on these rows with the command, and return its figures.

    Raises:
        GlassformerError: the command failed.
    """
    file, out = folder / "rows.csv", folder / str(rows.height)
    rows.write_csv(file)
    whole, messages = watched(["train", str(file), "--epochs", "0", "--out", str(out)])
    if whole["exit_status"]:
        raise GlassformerError(f"training on {rows.height:,} rows failed: {messages}")
    readers = json.loads((out / "metrics.json").read_text(encoding="utf-8"))["readers"]
    return {
        "rows": rows.height,
        "characters": int(rows["text"].str.len_chars().sum()),
        "fitting_seconds": readers["counting_seconds"],
        "whole_seconds": whole["seconds"],
        "peak_mib": whole["peak_mib"],
        "bytes": sum((out / name).stat().st_size for name in COUNTING_FILES),
        "accuracy": readers["counting_accuracy"],
    }


if __name__ == "__main__":
    main()
