"""The texts of a column are a sequence of strings."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from glassformer.data.arrays import FloatArray
from glassformer.readers import reader
from glassformer.readers.label_loss import label_loss
from glassformer.readers.reader import Column, Fold, Rows, fit_installed

TEXTS = ["one", "two", "drei", ""]


def test_a_column_reads_as_a_list_of_its_texts() -> None:
    column = Column(pl.concat([pl.Series(TEXTS[:3]), pl.Series(TEXTS[3:])], rechunk=False))
    assert len(column) == 4
    assert list(column) == TEXTS
    assert column[1:] == TEXTS[1:]
    assert [column[place] for place in np.array([2, 0, -1])] == ["drei", "one", ""]
    assert "two" in column


def test_a_reader_of_a_package_gets_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    got = list[object]()

    class Lengths:
        @classmethod
        def fit(cls, rows: Rows) -> "Lengths":
            got.append(rows.texts)
            return cls()

        def scores(self, texts: list[str]) -> FloatArray:
            return np.zeros((len(texts), 2), np.float32)

    monkeypatch.setattr(reader, "installed", lambda _: Lengths)
    fold = Fold(learned=np.array([1, 2]), held_out=np.array([0, 3]))
    fit_installed("lengths", rows_of(Column(pl.Series(TEXTS))), [fold])
    assert got == [["two", "drei"], TEXTS]


def rows_of(texts: Column) -> Rows:
    return Rows(
        texts=texts,
        truth=np.array([0, 1, 0, 1]),
        width=2,
        weights=np.arange(4, dtype=np.float32),
        loss=label_loss,
        inputs=None,
        seed=0,
    )


def test_rows_are_taken_with_their_texts_or_without_any() -> None:
    rows = rows_of(Column(pl.Series(TEXTS)))
    taken = rows.take(np.array([3, 1]))
    assert (list(taken.texts), taken.truth.tolist(), taken.weights.tolist()) == (["", "two"], [1, 1], [3, 1])
    bare = replace(rows, texts=()).take(np.array([3, 1]))
    assert (list(bare.texts), bare.truth.tolist()) == ([], [1, 1])
