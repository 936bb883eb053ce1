"""`fit(X, y, groups=…)`: rows that belong together, as with `train --group`."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import GroupKFold, cross_val_score

from glassformer import TextClassifier, TextRegressor
from glassformer.data.in_memory import as_table
from glassformer.errors import InputError, UsageError
from glassformer.estimators.text_estimator import TextEstimator
from tests.cli.terminal import glassformer

TEXTS = [f"{word} film {number}" for number in range(10) for word in ("good", "bad", "fine", "dull")]
LABELS, NUMBERS = ["p", "n"] * 20, list(map(float, range(40)))
PEOPLE = np.arange(40) // 4
SETTINGS = {"training.epochs": 0, "model.body": "none"}
HOLDING_OUT = SETTINGS | {"validation.min_rows": 10, "validation.fraction": 0.2}


def classifier(**settings: Any) -> TextClassifier:
    return TextClassifier("tiny", settings=SETTINGS | settings)


def groups_of(fitted: TextEstimator) -> list[set[str]]:
    """The groups of the rows that were learned, and of those that were held out."""
    sources, trained = fitted._sources, fitted.predictor_.trained
    assert sources is not None
    validation = trained.config.remembered.recipe.validation
    splits = sources.split(validation, seed=trained.config.seed)
    return [set(table.frame["group"]) for table in splits.tables]


@pytest.mark.parametrize(("kind", "truth"), [(TextClassifier, LABELS), (TextRegressor, NUMBERS)])
def test_no_group_is_split(kind: Any, truth: list[Any]) -> None:
    fitted = kind("tiny", settings=HOLDING_OUT).fit(TEXTS, truth, groups=PEOPLE)
    learned, held_out = groups_of(fitted)
    assert learned | held_out == {str(number) for number in range(10)}
    assert len(held_out) == 2
    assert not learned & held_out
    fitted.add(["a good new film", "a bad new film"], truth[:2], groups=[min(held_out, key=int), None])
    more, held_out_then = groups_of(fitted)
    assert (more - learned, held_out_then) == ({" a bad new film"}, held_out)


def test_a_group_is_one_in_both_forms_of_unicode() -> None:
    table, _ = as_table(["a", "b", "c", "d"], [1, 2, 1, 2], groups=["Jos\u00e9", "Jose\u0301", "Jose", None])
    assert table.frame["group"].to_list()[:3] == ["Jos\u00e9", "Jos\u00e9", "Jose"]


def test_few_rows_are_cross_fitted_in_whole_groups() -> None:
    """Each person has words and a label of its own: only without groups, these words tell the label."""
    people = np.repeat(np.arange(12), 6)
    texts = [f"{'abcdefghijkl'[person] * 3} says {turn}" for turn, person in enumerate(people)]
    found = [
        classifier().fit(texts, people % 2, groups=groups).predictor_.trained.metrics["readers"]["accuracy"]
        for groups in (None, people)
    ]
    assert found[0] > 0.9
    assert found[1] < 0.7


def test_groups_of_any_kind_which_may_be_missing() -> None:
    series = pl.Series([None, *["x"] * 39])
    for given in (series, series.to_list(), np.array([np.nan, *[1.0] * 39]), pl.DataFrame({"who": series})):
        sources = classifier().fit(TEXTS, LABELS, groups=given)._sources
        assert sources is not None
        assert sources.train.frame["group"].to_list()[:2] == [" good film 0", "1" if "nan" in str(given) else "x"]
    weights = np.ones(40)
    weights[:2] = 0
    with pytest.warns(UserWarning, match="1 row was left out"):
        sources = classifier().fit([*TEXTS[:-1], ""], LABELS, weights, groups=range(40))._sources
    assert sources is not None
    assert sources.train.frame["group"].to_list() == list(map(str, range(2, 39)))
    with pytest.raises(InputError, match="40 texts but 3 groups; give each text its group"):
        classifier().fit(TEXTS, LABELS, groups=[1, 2, 3])
    with pytest.raises(InputError, match="give a list of groups, not one string"):
        classifier().fit(TEXTS, LABELS, groups="customer")


def test_a_saved_model_calls_the_column_group(tmp_path: Path) -> None:
    fitted = classifier().fit(TEXTS, LABELS, groups=PEOPLE)
    fitted.save(tmp_path / "model")
    rows = pl.DataFrame({"text": TEXTS, "label": LABELS, "group": np.arange(40) % 5, "author": np.arange(40) % 4})
    rows.write_csv(tmp_path / "test.csv")
    for flags, said in (((), "(5 groups)"), (("--group", "author"), "(4 groups)")):
        assert said in glassformer("evaluate", tmp_path / "model", tmp_path / "test.csv", *flags).err
    named = classifier(**{"validation.group": "author"}).fit(TEXTS, LABELS, groups=PEOPLE)
    assert named.predictor_.trained.config.remembered.recipe.validation.group == "author"


def test_groups_that_do_not_go_with_it_are_refused() -> None:
    with pytest.raises(UsageError, match=r"`groups=`: this model was trained without groups; leave it out"):
        classifier().fit(TEXTS, LABELS).add(["a new film"], ["p"], groups=["x"])
    with pytest.raises(UsageError, match=r"rows in memory have no groups; `fit` takes them as `groups=`"):
        classifier(**{"validation.group": "author"}).fit(TEXTS, LABELS)


def test_cross_validation_of_scikit_learn_passes_groups_to_its_splitter() -> None:
    scores = cross_val_score(classifier(), TEXTS, LABELS, groups=PEOPLE, cv=GroupKFold(2))
    assert len(scores) == 2
