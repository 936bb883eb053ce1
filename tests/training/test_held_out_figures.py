"""What a run keeps about the labels of held-out rows that it doubts."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.prediction.label_doubts import LabelDoubts
from glassformer.targets.labels import training_held_out
from glassformer.training.run import train_model
from tests.training.samples import opinions, recipe, table
from tests.training.test_readers import chosen

OTHER = {"good": "bad", "bad": "good"}


def turned(rows: Table, which: set[int]) -> Table:
    """The same rows. Those with these numbers have the wrong label."""
    labels = [OTHER[label] if row in which else label for row, label in rows.frame.select("row", "label").rows()]
    return dataclasses.replace(rows, frame=rows.frame.with_columns(label=pl.Series(labels)))


def test_wrong_labels_of_a_cross_fitted_table_are_doubted_by_their_row(tmp_path: Path) -> None:
    wrong = {7, 30, 41}
    rows = turned(opinions(60), wrong)
    train_model(Sources(train=rows), chosen(min_rows=2000, epochs=0), out=tmp_path)
    kept = (tmp_path / "metrics.json").read_text()
    doubts = LabelDoubts.model_validate(json.loads(kept)["label_doubts"])
    assert (doubts.source, doubts.rows, doubts.doubtful) == ("reviews.csv", 60, len(doubts.listed))
    assert {each.row for each in doubts.listed[:3]} == wrong
    for each in doubts.listed:
        assert rows.frame["label"][each.row - 1] == each.label == OTHER[each.suggested]
        assert each.probability > 0.5
    assert "the plot of film" not in kept, "the texts must stay at home"


@pytest.mark.parametrize("counting", [True, False])
def test_validation_rows_are_named_by_their_own_file(counting: bool) -> None:
    wrong = {4, 13, 25, 30}
    validation = turned(opinions(40, first=200, source="held_out.csv"), wrong)
    run = chosen(epochs=0) if counting else recipe(learning_rate=0.01, epochs=20)
    trained = train_model(Sources(train=opinions(80), validation=validation), run)
    doubts = LabelDoubts.model_validate(trained.metrics["label_doubts"])
    assert (doubts.source, doubts.rows) == ("held_out.csv", 40)
    assert doubts.listed
    assert {each.row for each in doubts.listed} <= wrong


def test_rows_held_out_from_the_table_keep_their_numbers() -> None:
    rows = turned(opinions(200), set(range(3, 200, 7)))
    trained = train_model(Sources(train=rows), chosen(epochs=0))
    doubts = LabelDoubts.model_validate(trained.metrics["label_doubts"])
    assert (doubts.source, doubts.rows) == ("reviews.csv", 50)
    assert doubts.listed
    assert all(each.row % 7 == 3 for each in doubts.listed)


def test_only_the_most_doubtful_rows_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_held_out, "MOST_LISTED", 2)
    trained = train_model(Sources(train=turned(opinions(60), {7, 30, 41})), chosen(min_rows=2000, epochs=0))
    assert trained.metrics["label_doubts"]["doubtful"] >= 3
    assert len(trained.metrics["label_doubts"]["listed"]) == 2


def test_a_model_that_knows_little_doubts_nothing() -> None:
    labels = np.random.default_rng(1).permutation(60) % 2
    rows = table([f"word{number} here" for number in range(60)], [("bad", "good")[label] for label in labels])
    trained = train_model(Sources(train=rows), chosen(min_rows=2000, epochs=0))
    assert "held_out_answers" in trained.metrics
    assert "label_doubts" not in trained.metrics


def test_several_labels_are_not_doubted() -> None:
    texts = [f"{words} {number}" for number in range(10) for words in ("good film", "bad film", "good book")]
    trained = train_model(Sources(train=table(texts, [["a", "b"], ["b"], ["a"]] * 10)), chosen(epochs=0))
    assert "label_doubts" not in trained.metrics
