"""The report that a run writes about the rows that it held out."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer.data.sources import SourceConfig, Sources
from glassformer.data.table import Dropped, Table
from glassformer.evaluation.intervals import share_right, worth_of_folds
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.evaluation_result import LabelEvaluation
from glassformer.training import report
from glassformer.training.run import train_model
from tests.training.samples import opinions, recipe, table
from tests.training.test_held_out_figures import turned
from tests.training.test_readers import chosen

WRONG = {7, 30, 41}
TEXT = " of film 40 was "


class Drawn:
    """Remembers the figures of the report, and passes them on."""

    found: LabelEvaluation

    def __call__(self, evaluation: LabelEvaluation) -> LabelEvaluation:
        self.found = evaluation.model_copy(update={"command": "glassformer train <reviews>"})
        return self.found


def drawn(
    rows: Table, out: Path, validation: Table | None = None, **given: Any
) -> tuple[LabelEvaluation, TrainedModel]:
    """The figures of the report that a run writes, and its model."""
    worded, run = Drawn(), given.pop("recipe", chosen(min_rows=2000, epochs=0))
    sources = Sources(train=rows, validation=validation)
    trained = train_model(sources, run, out=out, worded=worded, overwrite=True, **given)
    return worded.found, trained


def test_rows_that_were_left_out_of_the_whole_table_are_not_those_of_its_part(tmp_path: Path) -> None:
    rows = opinions(60)
    rows = dataclasses.replace(rows, dropped=(Dropped(reason="no text", rows=[61, 62]),))
    found, _ = drawn(rows, tmp_path)
    assert [each.count for each in found.dropped] == [2]
    assert "(cross-validation, 60 rows)" in (tmp_path / "report.html").read_text()


def test_the_rows_of_a_small_table_are_measured_and_named_by_number(tmp_path: Path) -> None:
    found, trained = drawn(turned(opinions(60), WRONG), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert (found.data.source, found.data.split, found.data.rows) == ("reviews.csv", "cross-validation", 60)
    assert set(found.data.languages) == {"English"}
    assert found.data.sha256 == trained.config.data["fingerprint"], "as on the model card"
    assert f"<dt>fingerprint of these rows</dt><dd><code>{found.data.sha256}</code></dd>" in page
    assert found.metrics.accuracy.value == pytest.approx(trained.metrics["readers"]["accuracy"])
    accuracy, folds = found.metrics.accuracy, trained.metrics["readers"]["folds"]
    right = np.arange(60) < round(60 * accuracy.value)
    assert accuracy == share_right(right, seed=trained.config.seed, worth=worth_of_folds(folds))
    assert {each.row for each in found.worst_errors[:3]} == WRONG
    assert found.label_doubts is not None
    assert {each.row for each in found.label_doubts.listed} >= WRONG
    for words in (
        "Each row was answered by a model that had not learned it, but all rows together were used to choose the "
        "weights of the readers and the calibration. Only glassformer evaluate on rows that the model has not seen "
        "gives the honest figure",
        "The intervals are wider than those of as many validation rows, because the models share most of their rows",
        "glassformer train &lt;reviews&gt;",
        "Their texts are not in this page",
        "row 30 · truth <b>",
        "Counting alone 0.",
        "of 60 rows of reviews.csv have a label",
        "The rows of this report gave the thresholds",
    ):
        assert words in page, words
    assert " of film " not in page, "the texts must stay at home"
    assert "Compared with baselines" not in page
    kept = json.loads((tmp_path / "metrics.json").read_text())["next_steps"]
    assert kept == [step.model_dump() for step in found.next_steps]
    assert kept[0]["command"] == f"glassformer evaluate {tmp_path} TEST_TABLE"
    assert kept[1]["section"] == "labels"


def test_texts_are_shown_if_the_folder_keeps_them(tmp_path: Path) -> None:
    found, _ = drawn(turned(opinions(60), WRONG), tmp_path, keep_texts=True)
    page = (tmp_path / "report.html").read_text()
    assert TEXT in found.worst_errors[0].text
    assert page.count(TEXT) == 2, "of a wrong answer, and of a doubtful label"


def test_a_run_without_a_report_removes_that_of_the_model_before(tmp_path: Path) -> None:
    drawn(opinions(60), tmp_path)
    assert (tmp_path / "report.html").is_file()
    trained = train_model(Sources(train=opinions(60)), chosen(min_rows=2000, epochs=0), out=tmp_path, overwrite=True)
    assert not (tmp_path / "report.html").exists()
    assert "next_steps" not in trained.metrics


def test_held_out_rows_chose_the_epoch_of_a_transformer(tmp_path: Path) -> None:
    both = chosen(epochs=2)
    found, trained = drawn(opinions(80), tmp_path, opinions(20, first=200, source="held_out.csv"), recipe=both)
    page = (tmp_path / "report.html").read_text()
    assert (found.data.source, found.data.split, found.data.rows) == ("held_out.csv", "held out from training", 20)
    assert "they were used to choose the epoch, the weights of the readers and the calibration." in page
    assert "Learning curves" in page
    figures = trained.metrics["readers"]
    alone = {each.name: each.metrics.accuracy.value for each in found.duel.readers}
    assert alone == {
        "counting alone": pytest.approx(figures["counting_accuracy"]),
        "the transformer alone": pytest.approx(figures["transformer_accuracy"]),
    }


def test_a_transformer_alone_has_no_readers_to_compare(tmp_path: Path) -> None:
    run = recipe(learning_rate=0.01, epochs=2)
    found, _ = drawn(opinions(80), tmp_path, opinions(20, first=200), recipe=run)
    assert found.duel.readers == ()
    page = (tmp_path / "report.html").read_text()
    assert "The readers" not in page
    assert "they were used to choose the epoch and the calibration." in page


def test_of_many_rows_some_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_MEASURED", 25)
    found, _ = drawn(turned(opinions(60), WRONG), tmp_path)
    assert found.metrics.rows == 25
    assert "of 60 held-out rows, 25 drawn at random were measured for this report" in found.notes
    assert {each.row for each in found.worst_errors if each.confidence > 0.8} <= WRONG


def test_rows_of_several_tables_are_not_named_by_number(tmp_path: Path) -> None:
    source = SourceConfig(train="a.csv", added=("b.csv",))
    found, _ = drawn(turned(opinions(60), WRONG), tmp_path, source=source)
    assert found.metrics.accuracy.value < 1
    assert "Worst errors" not in (tmp_path / "report.html").read_text()


def test_several_labels_and_rows_of_one_class(tmp_path: Path) -> None:
    texts = [f"{words} {number}" for number in range(10) for words in ("good film", "bad film", "good book")]
    several, _ = drawn(table(texts, [["a", "b"], ["b"], ["a"]] * 10), tmp_path / "several")
    assert several.multilabel
    both = opinions(60)
    good = dataclasses.replace(both, frame=both.frame.filter(pl.col("label") == "good").head(2))
    found, _ = drawn(opinions(60, first=100), tmp_path / "one", good)
    assert found.metrics.rows == 2


def test_nothing_is_drawn_if_nothing_was_held_out(tmp_path: Path) -> None:
    run = recipe(epochs=1)
    run = run.model_copy(update={"validation": run.validation.model_copy(update={"fraction": 0.0})})
    train_model(Sources(train=opinions(40)), run, out=tmp_path, worded=Drawn())
    assert not (tmp_path / "report.html").exists()
