"""Costs of wrong answers from Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from glassformer import TextClassifier
from glassformer.errors import UsageError
from tests.estimators.samples import BINARY, LISTS, TEXTS, small

NEW = ["good film", "a dull film", "zzz"]


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    return small(costs={0: 1e6, "review": 1e-6}).fit(TEXTS, BINARY)


def test_fit_takes_costs_and_every_way_to_ask_follows_them(fitted: TextClassifier, tmp_path: Path) -> None:
    assert fitted.predict(NEW).tolist() == [0, 0, 0]
    assert fitted.needs_review(NEW).all()
    again = TextClassifier.load(fitted.save(tmp_path / "model"))
    assert again.predict(NEW).tolist() == [0, 0, 0]
    assert again.costs == [("0", None, 1e6), (None, "review", 1e-6)]
    assert clone(again).costs == again.costs
    assert fitted.explain("good film").label == 0


def test_costs_change_without_training_and_rows_are_added_by_them(fitted: TextClassifier) -> None:
    probs = fitted.predict_proba(NEW)
    other = fitted.change_costs({1: 1e6})
    assert other is fitted
    assert other.predict(NEW).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(other.predict_proba(NEW), probs)
    other.add(["a fine plot"] * 4, [1] * 4)
    assert other.predict(NEW).tolist() == [1, 1, 1]
    with pytest.raises(UsageError, match="there is no label '7'"):
        fitted.change_costs({7: 2})
    fitted.change_costs(None)
    assert fitted.predict(NEW).tolist() == fitted.predict_proba(NEW).argmax(axis=1).tolist()


@pytest.mark.parametrize("labels", [LISTS, [[1, 0], [0, 1], [0, 0], [1, 1]] * 6])
def test_several_labels(labels: Any) -> None:
    names = ("a", "b") if labels is LISTS else (0, 1)
    found = small(costs={names[0]: 1e9, names[1]: 0}).fit(TEXTS, labels)
    assert np.array(found.predict(NEW)).tolist() == ([["a"]] * 3 if labels is LISTS else [[1, 0]] * 3)


def test_an_unknown_label_is_refused_before_training() -> None:
    with pytest.raises(UsageError, match=r"`costs=`: there is no label '2'; there are 0, 1"):
        small(costs={2: 10}).fit(TEXTS, BINARY)
