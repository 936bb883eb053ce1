"""Rows of a group are alike, and intervals say so: on a test table, on held-out rows, and between two models."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data.sources import SourceConfig, TableOptions, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.errors import UsageError
from glassformer.evaluation.evaluate_model import evaluate_model
from glassformer.evaluation.intervals import wilson, worth_of_folds, worth_of_groups
from glassformer.evaluation.paired_comparison import compare_models
from glassformer.evaluation.record import Estimate
from glassformer.prediction.predictor import Predictor
from glassformer.targets.number.evaluation_metrics import difference_in_r2, measure_numbers
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model

SAID = "rows of a group are alike (20 groups), so intervals and p count fewer rows: "
OF_ALL = " of 200 for the model"


def written(path: Path, *, column: str = "author", seed: int = 0) -> Path:
    """A table in which 5 of 20 authors mean the opposite of what they say, each in ten rows."""
    says = np.tile([True, False], 100)
    means = says ^ (np.repeat(np.arange(20), 10) % 4 == 0)
    other = np.random.default_rng(seed).choice([f"w{number}" for number in range(30)], (200, 4))
    texts = [f"{'good' if good else 'bad'} {' '.join(words)}" for good, words in zip(says, other, strict=True)]
    labels = ["yes" if good else "no" for good in means]
    authors = [f"a person {number}" for number in np.repeat(np.arange(20), 10)]
    pl.DataFrame({"text": texts, "label": labels, column: authors}).write_csv(path)
    return path


def of_rows(found: Estimate, worth: float = 1.0) -> object:
    """The same share of 200 rows with Wilson's interval."""
    return pytest.approx(wilson(found.value * 200, 200, worth=worth).model_dump(), abs=0.01)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that know the groups of their rows, and one that does not."""
    folder = tmp_path_factory.mktemp("models")
    table = written(folder / "train.csv")
    for name, group in (("grouped", "author"), ("plain", None)):
        read = read_sources(SourceConfig(train=str(table)), ValidationConfig(group=group), None)
        settings = {"training.epochs": 0, "model.body": "none", "validation.group": group}
        recipe = load_recipe(None, overrides=settings)
        train_model(read, recipe, source=SourceConfig(train=str(table)), out=folder / name)
    return folder


def test_a_test_table_with_the_column_of_groups(models: Path, tmp_path: Path) -> None:
    table = written(tmp_path / "test.csv", seed=1)
    found = {
        name: evaluate_model(Predictor.load(models / name), models / name, str(table)) for name in ("grouped", "plain")
    }
    accuracy, plain = (each.metrics.accuracy for each in found.values())
    (note,) = [note for note in found["grouped"].notes if note.startswith(SAID)]
    assert (like := int(note.removeprefix(SAID).removesuffix(OF_ALL))) < 40
    assert accuracy.model_dump() == of_rows(accuracy, like / 200)
    assert plain.model_dump() == of_rows(plain)
    assert not any("alike" in note for note in found["plain"].notes)
    some = pl.read_csv(table).with_columns(author=pl.when(pl.int_range(200) >= 100).then("author"))
    some.write_csv(table)
    (note,) = evaluate_model(Predictor.load(models / "grouped"), models / "grouped", str(table)).notes[-1:]
    assert 40 < int(note.removeprefix(SAID.replace("20 groups", "10 groups")).removesuffix(OF_ALL)) < 60
    without = str(written(tmp_path / "other.csv", column="writer", seed=1))
    alone = evaluate_model(Predictor.load(models / "grouped"), models / "grouped", without)
    assert alone.metrics.accuracy.model_dump() == of_rows(alone.metrics.accuracy)
    said = "without the groups of training (column 'author'), each row counts as independent"
    assert [said in each.notes for each in (*found.values(), alone)] == [False, False, True]


def test_another_column_of_groups_is_named(models: Path, tmp_path: Path) -> None:
    table = str(written(tmp_path / "test.csv", column="writer", seed=1))
    named = TableOptions(group="writer")
    for name in ("grouped", "plain"):
        found = evaluate_model(Predictor.load(models / name), models / name, table, named)
        assert any(note.startswith(SAID) for note in found.notes)
        assert not any("without the groups" in note for note in found.notes)
    both = compare_models(models / "plain", models / "grouped", table, named)
    assert both.accuracy_a.high - both.accuracy_a.low > 0.25
    moved = evaluate_model(
        Predictor.load(models / "plain"), models / "plain", table, named, train=str(models / "train.csv")
    )
    assert any(note.startswith(SAID) for note in moved.notes)
    with pytest.raises(UsageError, match=r"test\.csv has no column 'Writer' \(`group=`\)\."):
        evaluate_model(Predictor.load(models / "plain"), models / "plain", table, TableOptions(group="Writer"))


def test_groups_that_were_in_training_and_rows_without_one_are_counted(models: Path, tmp_path: Path) -> None:
    rows = pl.read_csv(written(tmp_path / "test.csv", seed=1))
    known = "have a group that was in training; for new groups, figures may be too good"

    def said(authors: pl.Expr, name: str = "grouped") -> list[str]:
        rows.with_columns(author=authors).write_csv(tmp_path / "test.csv")
        found = evaluate_model(Predictor.load(models / name), models / name, str(tmp_path / "test.csv"))
        return [note for note in found.notes if "a group" in note or "no group" in note]

    number = pl.int_range(200)
    assert said(pl.when(number < 150).then("author").otherwise(pl.lit("new")))[0] == f"150 of 200 measured rows {known}"
    assert not any(known in note for note in said(pl.lit("one new group")))
    (alone,) = said(pl.lit(None, pl.String))
    own = "each counts as a group of its own, with rows of the same text"
    assert alone == f"200 of 200 rows have no group (column 'author'); {own}"
    one = said(pl.when(number > 0).then("author"))
    assert one[0] == f"1 of 200 rows has no group (column 'author'); {own}"
    assert one[1] == f"199 of 200 measured rows {known}"
    assert said(pl.lit(None, pl.String), "plain") == []


def test_rows_that_have_only_their_text_as_a_group_are_called_so(models: Path, tmp_path: Path) -> None:
    rows = pl.read_csv(written(tmp_path / "test.csv", seed=1)).head(60)
    again = pl.concat([rows] * 4).with_columns(author=pl.lit(None, pl.String))
    again.write_csv(tmp_path / "test.csv")
    notes = evaluate_model(Predictor.load(models / "grouped"), models / "grouped", str(tmp_path / "test.csv")).notes
    assert notes[-1].startswith("rows of the same text are alike, so intervals and p count fewer rows: ")


def test_held_out_rows_of_training(models: Path) -> None:
    known = Predictor.load(models / "grouped").trained.metrics
    assert known["held_out_worth"] < 0.15 * worth_of_folds(4)
    assert Predictor.load(models / "plain").trained.metrics["held_out_worth"] == worth_of_folds(4)


def test_two_models_on_the_same_rows(models: Path, tmp_path: Path) -> None:
    table = str(written(tmp_path / "test.csv", seed=1))
    found = compare_models(models / "grouped", models / "plain", table)
    assert found.accuracy_a.high - found.accuracy_a.low > 0.25
    assert found.accuracy_b.high - found.accuracy_b.low > 0.25


def test_one_group_says_next_to_nothing_about_numbers() -> None:
    rng = np.random.default_rng(0)
    truth, off = rng.normal(size=80), 0.3 * rng.normal(size=80)
    found = measure_numbers(truth + off, truth, worth=worth_of_groups(off**2, np.zeros(80)))
    assert found.spearman is not None
    assert found.r2.low < 0 < 0.9 < found.r2.high
    assert found.spearman.low == -1
    difference = difference_in_r2(off**2, 1.5 * off**2, truth, worth=1 / 80)
    assert difference.high - difference.low > 1
