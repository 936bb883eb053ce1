"""The report that a run of a number writes about the rows that it held out."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.sources import SourceConfig, Sources
from glassformer.data.table import Table
from glassformer.prediction.answering_config import named
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.number.evaluation_metrics import measure_numbers
from glassformer.targets.number.evaluation_result import NumberEvaluation
from glassformer.targets.number.target import number_of
from glassformer.training import report
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from tests.training.test_number import SETTINGS, scored

train_number = partial(train_model, family="number")

COUNTING = SETTINGS | {"training.epochs": 0}
EXTREME = 30


def extreme(rows: int) -> Table:
    """A table in which the number of one row lost its decimal point."""
    table = scored(rows)
    changed = pl.when(pl.col("row") == EXTREME).then(pl.lit("14")).otherwise(pl.col("label"))
    return replace(table, frame=table.frame.with_columns(label=changed))


def drawn(sources: Sources, out: Path, **given: Any) -> tuple[NumberEvaluation, TrainedModel]:
    """The figures of the report that a run writes, and its model."""
    found: list[NumberEvaluation] = []

    def worded(evaluation: NumberEvaluation) -> NumberEvaluation:
        found.append(evaluation.model_copy(update={"command": "glassformer train <scores>"}))
        return found[-1]

    settings = given.pop("settings", COUNTING)
    trained = train_number(sources, load_recipe(None, overrides=settings), out=out, worded=worded, **given)
    return found[0], trained


def test_held_out_rows_are_measured_without_baselines_or_texts(tmp_path: Path) -> None:
    found, trained = drawn(Sources(train=extreme(80)), tmp_path, settings=COUNTING | {"model.body": "none"})
    page, figures = (tmp_path / "report.html").read_text(), number_of(trained.config.target).held_out(trained.metrics)
    assert figures is not None
    assert (found.data.source, found.data.split, found.metrics.rows) == ("scores", "cross-validation", 80)
    assert found.metrics.r2.value == pytest.approx(figures.r2, abs=1e-5)
    assert found.metrics.mae.value == pytest.approx(figures.mae)
    assert found.metrics.spearman is not None
    assert found.metrics.spearman.value == pytest.approx(figures.spearman)
    assert figures.kept is not None
    assert figures.kept.row_numbers is not None
    assert sorted(figures.kept.row_numbers) == list(range(1, 81))
    truth = extreme(80).frame["label"].cast(pl.Float64).to_numpy()[figures.kept.row_numbers - 1]
    alone = measure_numbers(figures.kept.answered, truth, seed=trained.config.seed)
    for ours, narrow in (
        (found.metrics.r2, alone.r2),
        (found.metrics.mae, alone.mae),
        (found.metrics.rmse, alone.rmse),
    ):
        assert 1.2 < (ours.high - ours.low) / (narrow.high - narrow.low) < 1.9
    worst = found.worst_errors[0]
    assert figures.kept.answered[figures.kept.row_numbers == worst.row] == pytest.approx(worst.prediction)
    assert worst.row == EXTREME
    assert found.doubts is not None
    assert found.doubts.listed[0].row == EXTREME
    for words in (
        "Each row was answered by a model that had not learned it, but all rows together were used to choose how "
        "answers are scaled and the width of the intervals.",
        "the honest figure",
        "An interval of 90% reaches ",
        "Report of training: score",
        "glassformer train &lt;scores&gt;",
        "Their texts are not in this page",
        f"row {EXTREME} · number <s>14</s>",
    ):
        assert words in page, words
    for words in (" film ", "baselines", "Do the intervals hold?", "The readers", 'href="#duel"'):
        assert words not in page, words
    kept = json.loads((tmp_path / "metrics.json").read_text())["next_steps"]
    assert kept == [step.model_dump() for step in found.next_steps]
    assert kept[0]["command"] == f"glassformer evaluate {tmp_path} TEST_TABLE"
    assert "doubts" in {step["section"] for step in kept}


def test_each_reader_is_measured_alone(tmp_path: Path) -> None:
    rows = scored(90)
    held_out = replace(rows, frame=rows.frame.tail(30), source="held_out")
    sources = Sources(train=replace(rows, frame=rows.frame.head(60)), validation=held_out)
    found, trained = drawn(sources, tmp_path, settings=SETTINGS)
    figures = number_of(trained.config.target).held_out(trained.metrics)
    assert figures is not None
    assert trained.config.asked == ("counting", "body")
    alone = {each.name: each.metrics.r2.value for each in found.duel.readers}
    assert alone["the transformer alone"] == pytest.approx(figures.readers["transformer"].r2)
    for name in ("counting", "body"):
        assert alone[f"{named(name)} alone"] == pytest.approx(figures.readers[name].r2)
    assert (found.duel.reader_verdict or "").startswith("Counting alone 0.")
    page = (tmp_path / "report.html").read_text()
    assert "they were used to choose the epoch, the weights of the readers and the width of the intervals." in page
    assert "The readers" in page
    assert found.data.split == "held out from training"


def test_a_model_that_learned_nothing_is_not_to_be_relied_on(tmp_path: Path) -> None:
    table = scored(60)
    shuffled = table.frame.with_columns(label=pl.col("label").shuffle(seed=2))
    found, _ = drawn(Sources(train=replace(table, frame=shuffled)), tmp_path)
    assert any(step.text.startswith("Do not rely on the answers") for step in found.next_steps)
    assert found.by_answer == ()


def test_of_many_rows_some_are_measured_and_those_of_several_tables_are_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_MEASURED", 25)
    source = SourceConfig(train="a.csv", added=("b.csv",))
    found, _ = drawn(Sources(train=scored(60)), tmp_path, source=source)
    assert found.metrics.rows == 25
    assert "of 60 held-out rows, 25 drawn at random were measured for this report" in found.notes
    assert "Worst errors" not in (tmp_path / "report.html").read_text()


def test_without_held_out_rows_there_is_no_page(tmp_path: Path) -> None:
    settings = SETTINGS | {"model.counting": "none", "validation.fraction": 0}
    train_number(
        Sources(train=scored(30)), load_recipe(None, overrides=settings), out=tmp_path, worded=lambda found: found
    )
    assert not (tmp_path / "report.html").exists()
