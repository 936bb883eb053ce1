"""How accurate is a model of 20 to 200 labelled rows, if four of five have the same label?

    python -m benchmarks.few_unequal
    python -m benchmarks.few_unequal --only imdb
    python -m benchmarks.few_unequal --quick

Rows of one class are left out, in training and test, until four of five have the other label. The rest is as in
`benchmarks.few_labels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments
from benchmarks.few_labels import DRAWS, OURS, Right, add_draw, described, measure, over
from glassformer.data.table import Table

SIZES = (20, 60, 200)
PLAN: Mapping[str, Sequence[int]] = dict.fromkeys(
    ("customer-reviews", "disaster-tweets", "sentiment140", "imdb"), SIZES
)
COMMON = 0.8
FREQUENT = "the label of most rows"


def main() -> None:
    """Run the benchmark that the command line asks for."""
    measure("few-unequal", PLAN, line, arguments(__doc__, data=False))


def line(experiment: Experiment, name: str, rows: int) -> dict[str, Any]:
    """Return the accuracy of all contestants with so many rows."""
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    common = str(cut.train.frame["label"].mode().sort()[0])
    test = unequal(cut.held_out, common, None, seed=0)
    right: dict[str, list[Right]] = {FREQUENT: []}
    for draw in range(1 if experiment.quick else DRAWS):
        part = Cut(train=unequal(cut.train, common, rows, seed=draw), held_out=test)
        right[FREQUENT].append((test.frame["label"] == common).to_numpy())
        add_draw(experiment, f"few-unequal/{name}-{rows}-{draw}", part, draw, right)
    return described(name, part, right) | {"share": COMMON, "over": over(OURS, right)}


def unequal(table: Table, common: str, rows: int | None, *, seed: int) -> Table:
    """Draw so many rows, or as many as there are, of which the share `COMMON` has the common label."""
    is_common = (table.frame["label"] == common).to_numpy()
    most = int(min(is_common.sum() / COMMON, (~is_common).sum() / (1 - COMMON)))
    first = round((rows or most) * COMMON)
    random, chosen = np.random.default_rng([seed, rows or 0]), np.zeros(len(is_common), bool)
    for of_class, count in ((is_common, first), (~is_common, (rows or most) - first)):
        chosen[random.permutation(np.flatnonzero(of_class))[:count]] = True
    return replace(table, frame=table.frame.filter(chosen), dropped=())


if __name__ == "__main__":
    main()
