"""Does `glassformer labels` foretell what more labels bring? It forecasts from a part of the rows, and then gets more.

    python -m benchmarks.learning_curve
    python -m benchmarks.learning_curve --quick

Only training rows are read. Five folds hold out each row once. Of the other rows, a random part is given to `labels`,
which forecasts the gain of more. Then the counting reader learns from the part, and from more rows, and answers the
held-out rows. What the rows brought is the gain over all held-out rows. The five forecasts are compared with it.
Finished lines are kept in the work folder.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench_data import read_rows, some_rows
from benchmarks.experiment import arguments, running
from benchmarks.tables_labels import forecast_tables
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.labels.answering import held_out_logits, held_out_probabilities, rows_of
from glassformer.labels.doubts import FOLDS, folds_apart
from glassformer.labels.learning_curve import LearningCurve, learning_curve
from glassformer.labels.repeats import Repeats
from glassformer.readers.reader import Fold

TABLES: dict[str, int | None] = {
    "customer-reviews": None, "trec": None, "disaster-tweets": None, "vietnamese-feedback": None,
    "sentiment140": 6_000, "clinc150": 6_000, "imdb": 1_500,
}  # fmt: skip
"""The tables, and how many training rows are drawn; None for all."""
FEW, MORE = 500, 1_000
SEED = 1  # the curves were chosen with seed 0
QUICK_ROWS = 600


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        lines = []
        for data, most in TABLES.items():
            table = some_rows(read_rows(data, "train"), QUICK_ROWS if experiment.quick else most, SEED)
            made_of = {"train": fingerprint(table), "seed": SEED, "few": FEW, "more": MORE}
            found = experiment.kept(f"learning-curve/{data}", made_of, partial(lines_of, data, table))
            lines += found
            print(*found, sep="\n", flush=True)
        document = {"seed": SEED, "lines": lines}
        experiment.write("learning-curve", document, forecast_tables)


def lines_of(data: str, table: Table) -> list[dict[str, Any]]:
    """Return a line for each step: from half of the rows to all, and from 500 to 1,500 if there are so many."""
    rows = _Rows(table)
    everything = min(len(order) for order in rows.orders)
    lines = []
    for now, then in ((everything // 2, everything), (FEW, FEW + MORE)):
        forecasts = [rows.forecast(order, now, then) for order in rows.orders] if then <= everything else []
        if curves := [curve for curve in forecasts if curve is not None]:
            gains = [asdict(curve.gain) for curve in curves]
            lines.append(
                {"table": data, "rows": now, "more": then - now, **rows.brought(now, then), "forecasts": gains}
            )
    return lines


class _Rows:
    """The rows of a table, the folds that hold them out, and the order in which each fold gets the others."""

    def __init__(self, table: Table) -> None:
        names = LabelSet.from_table(table)
        self.texts, self.classes, self.names = table.frame["text"].to_list(), names.encode(table), names.names
        self.labelled = rows_of(self.texts, self.classes, self.names)
        self.groups = table.frame["group"].to_numpy() if "group" in table.frame.columns else None
        self.folds = folds_apart(self.classes, Repeats.of(self.texts).groups(FOLDS, self.groups), seed=SEED)
        rng = np.random.default_rng(SEED)
        self.orders = [rng.permutation(fold.learned) for fold in self.folds]

    def brought(self, now: int, then: int) -> dict[str, float]:
        """Return the accuracy on the held-out rows after so many rows, and what the others brought."""
        before, after = self._right(now), self._right(then)
        gain = after.astype(np.float64) - before
        return {
            "accuracy": float(before.mean()),
            "brought": float(gain.mean()),
            "standard_error": float(gain.std() / np.sqrt(len(gain))),
        }

    def _right(self, count: int) -> np.ndarray:
        folds = [
            Fold(learned=np.sort(order[:count]), held_out=fold.held_out)
            for order, fold in zip(self.orders, self.folds, strict=True)
        ]
        right: np.ndarray = (
            held_out_logits(self.labelled, folds).argmax(axis=1)
            == self.classes[np.concatenate([fold.held_out for fold in folds])]
        )
        return right

    def forecast(self, order: np.ndarray, now: int, then: int) -> LearningCurve | None:
        """Return what `labels` says about the first so many rows of an order. None if they are too few."""
        rows = np.sort(order[:now])
        texts, classes = [self.texts[row] for row in rows.tolist()], self.classes[rows]
        groups = Repeats.of(texts).groups(FOLDS, None if self.groups is None else self.groups[rows])
        folds = folds_apart(classes, groups)
        labelled = rows_of(texts, classes, self.names)
        right = held_out_probabilities(labelled, folds).argmax(axis=1) == classes
        return learning_curve(labelled, folds, right, more=(then - now,))


if __name__ == "__main__":
    main()
