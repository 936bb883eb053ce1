"""Numbers of held-out rows that are doubtful: far from the answer, beyond what the errors of other rows explain."""

from __future__ import annotations

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.table import Table
from glassformer.prediction.label_doubts import DoubtedNumber, NumberDoubts

MOST_LISTED = 20
_FEWEST_ROWS = 20
_FENCE = 3  # interquartile ranges beyond the quartiles: Tukey's outer fence, once in 400,000 rows with normal errors


def number_doubts(table: Table, rows: Array, off: Array, truth: Array) -> NumberDoubts | None:
    """Return the rows whose errors are beyond Tukey's outer fences (1977, §2D).

    Args:
        table: the rows that were held out, and maybe others.
        rows: (held-out rows,) where each of them stands in `table`.
        off: (held-out rows,) number − answer, in the unit of the number.
        truth: (held-out rows,) the numbers.

    Returns:
        None if there are too few rows to say so.
    """
    first, third = np.quantile(off, (0.25, 0.75))
    if len(off) < _FEWEST_ROWS or first == third:
        return None
    beyond = np.maximum(first - off, off - third)
    found = np.flatnonzero(beyond > _FENCE * (third - first))
    found = found[np.argsort(-beyond[found], kind="stable")]
    numbers, labels = table.frame["row"].to_numpy()[rows], table.frame["label"]
    return NumberDoubts(
        source=table.source,
        rows=len(off),
        doubtful=len(found),
        listed=tuple(
            DoubtedNumber(
                row=int(numbers[at]), label=str(labels[int(rows[at])]), answer=float(f"{truth[at] - off[at]:.6g}")
            )
            for at in found[:MOST_LISTED]
        ),
    )
