"""The texts of a column are a sequence of strings."""

import numpy as np
import polars as pl

from glassformer.readers.label_loss import label_loss
from glassformer.readers.reader import Column, Rows

TEXTS = ["one", "two", "drei", ""]


def test_a_column_reads_as_a_list_of_its_texts() -> None:
    column = Column(pl.concat([pl.Series(TEXTS[:3]), pl.Series(TEXTS[3:])], rechunk=False))
    assert len(column) == 4
    assert list(column) == TEXTS
    assert column[1:] == TEXTS[1:]
    assert [column[place] for place in np.array([2, 0, -1])] == ["drei", "one", ""]
    assert "two" in column


def test_rows_are_taken_with_their_texts_or_without_any() -> None:
    rows = Rows(
        texts=Column(pl.Series(TEXTS)),
        truth=np.array([0, 1, 0, 1]),
        width=2,
        weights=np.arange(4, dtype=np.float32),
        loss=label_loss,
        inputs=None,
        seed=0,
    )
    taken = rows.take(np.array([3, 1]))
    assert (list(taken.texts), taken.truth.tolist(), taken.weights.tolist()) == (["", "two"], [1, 1], [3, 1])
    bare = Rows(**{**vars(rows), "texts": ()}).take(np.array([3, 1]))
    assert (list(bare.texts), bare.truth.tolist()) == ([], [1, 1])
