"""How the later rows of a split by time differ from the earlier ones."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import Table
from glassformer.evaluation.drift import DriftTable
from glassformer.targets.number import training as number
from glassformer.training.later_rows import with_drift
from glassformer.training.preparation import prepare
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from tests.training.samples import Memory, opinions, recipe, table

ROWS = 400


def by_time(fraction: float = 0.25, **values: object) -> Recipe:
    return recipe(**values).model_copy(update={"validation": ValidationConfig(time="day", fraction=fraction)})


def dated(rows: Table) -> Table:
    days = pl.Series("time", [datetime(2024, 1, 1) + timedelta(days=number) for number in range(rows.frame.height)])
    return replace(rows, frame=rows.frame.with_columns(days))


def turning() -> Table:
    """Of the later quarter, nearly all rows are bad, and have longer texts with other words."""
    texts = [f"a fine film of {number % 9}" for number in range(300)]
    texts += [f"a zorblax film of quuxol {number % 9} and more" for number in range(100)]
    labels = ["bad" if number % 2 else "good" for number in range(300)] + ["bad"] * 90 + ["good"] * 10
    return dated(table(texts, labels))


def note(rows: Table, chosen: Recipe) -> str:
    return with_drift(prepare(Sources(train=rows), chosen)).splits.notes[-1]


def test_what_has_changed_is_said() -> None:
    found = with_drift(prepare(Sources(train=turning()), by_time()))
    assert found.drift is not None
    said = found.splits.notes[-1]
    assert said.startswith(
        "the later rows differ from the earlier ones by more than chance explains: label 'bad' 50% → 90%"
    )
    assert "label 'good' 50% → 10%, words per text 5 → 8, words and word pairs not seen in training 0% → " in said
    assert said.endswith("5 words ('and', 'fine', 'more', …)")
    assert {each.name: (each.earlier, each.later) for each in found.drift.words} == {
        "fine": (1, 0), "zorblax": (0, 1), "quuxol": (0, 1), "and": (0, 1), "more": (0, 1)
    }  # fmt: skip
    assert (found.drift.earlier, found.drift.later, found.drift.words_compared) == (300, 100, 8)


def test_if_nothing_has_changed_it_is_said() -> None:
    alike = "the later rows are like the earlier ones in their labels, their length and their words"
    texts = [f"a fine film of {number // 20} and {number % 20}" for number in range(ROWS)]
    texts = [texts[number * 7 % ROWS] for number in range(ROWS)]
    rows = dated(table(texts, ["bad" if number % 2 else "good" for number in range(ROWS)]))
    assert note(rows, by_time()) == alike


def test_few_rows_tell_nothing() -> None:
    assert (
        note(turning(), by_time(fraction=0.05))
        == "20 rows are too few to tell how the later rows differ from the earlier ones"
    )


def test_a_split_at_random_says_nothing() -> None:
    prepared = prepare(Sources(train=opinions()), recipe())
    assert with_drift(prepared) is prepared


def test_of_a_number_it_is_the_mean() -> None:
    rows = turning()
    numbers = pl.Series([str(1 + number % 3 + (2 if number >= 300 else 0)) for number in range(ROWS)])
    rows = replace(rows, frame=rows.frame.with_columns(label=numbers), label_column="stars")
    found = with_drift(number.prepare(Sources(train=rows), by_time()))
    assert "explains: number 2 → 3.99, words per text 5 → 8" in found.splits.notes[-1]


def test_several_labels_per_text() -> None:
    rows = turning()
    several = rows.frame["label"].to_list()
    labels = pl.Series([["film", label] if number % 2 else ["film"] for number, label in enumerate(several)])
    rows = replace(rows, frame=rows.frame.with_columns(label=labels), multilabel=True)
    assert "explains: label 'bad'" not in note(rows, by_time())
    assert "words per text 5 → 8" in note(rows, by_time())


def test_a_label_that_only_later_rows_have_can_be_held_out() -> None:
    rows = turning()
    labels = [("new" if number > 380 else label) for number, label in enumerate(rows.frame["label"])]
    rows = replace(rows, frame=rows.frame.with_columns(label=pl.Series(labels)))
    chosen = by_time(class_weights="balanced")
    memory = Memory()
    with_counting = chosen.model.model_copy(update={"counting": "tfidf"})
    trained = train_model(Sources(train=rows), chosen.model_copy(update={"model": with_counting}), observer=memory)
    assert "label 'new' 0% → 19%" in trained.config.data["notes"][-1]
    assert trained.config.data["validation_rows"] == 100
    kept = DriftTable.model_validate(trained.metrics["drift"])
    assert (kept.moved[0].name, kept.moved[0].later) == ("label 'good'", 0)
