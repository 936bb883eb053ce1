"""Ordered classes, and several labels as a matrix of 0 and 1."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score

from glassformer import TextClassifier
from glassformer.data.in_memory_labels import given_labels
from glassformer.errors import InputError, UsageError
from tests.estimators.samples import ALONE, LISTS, TEXTS, small

ORDER = ["poor", "fair", "fine"]
ORDERED = ["poor", "fair", "fine", "fair"] * 6
MATRIX = np.array([[int(label in given) for label in "ba"] for given in LISTS])


def test_the_order_of_classes_is_learned_and_kept(tmp_path: Path) -> None:
    classifier = small(order=ORDER, settings=ALONE | {"model.head": "ordered"}).fit(TEXTS, ORDERED)
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert loaded.predictor_.trained.config.label_set.names == tuple(ORDER)
    assert loaded.predictor_.trained.config.target.ordered
    assert loaded.order == ORDER
    assert loaded.classes_.tolist() == sorted(ORDER)  # as scikit-learn's metrics expect
    assert np.array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    by_class = dict(zip(loaded.classes_.tolist(), loaded.predict_proba(TEXTS[:1])[0], strict=True))
    answered = loaded.predictor_.answer(TEXTS[:1]).probs[0]
    assert [by_class[label] for label in ORDER] == pytest.approx(answered.tolist())


def test_half_of_a_surrogate_pair_is_no_label() -> None:
    with pytest.raises(InputError, match=r"labels\[1\] is 'b\\ud800', which holds half of a surrogate pair"):
        small().fit(TEXTS[:2], ["a", "b\ud800"])


@pytest.mark.parametrize(
    ("order", "labels", "words"),
    [
        (["poor", "fine"], ORDERED, r"`order=` lacks the label 'fair' \(texts\[1\]\)"),
        (["pooor", "fair", "fine"], ORDERED, "No text has 'pooor': did you mean 'poor'"),
        ([*ORDER, "best"], ORDERED, "`order=` names 'best', which no text has"),
        ([*ORDER, "fair"], ORDERED, "`order=` names 'fair' twice"),
        ("poor,fair,fine", ORDERED, "give a list of all labels, the lowest first"),
        (7, ORDERED, "`order=7`"),
        (["a", "b"], LISTS, "several labels per text have no order"),
    ],
)
def test_orders_that_cannot_be(order: Any, labels: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        small(order=order).fit(TEXTS, labels)


def test_numbers_have_an_order_too() -> None:
    classifier = small(order=[2, 10], epochs=1).fit(TEXTS, [10, 2] * 12)
    assert classifier.predictor_.trained.config.label_set.names == ("2", "10")
    assert classifier.classes_.tolist() == [2, 10]


def test_a_head_of_ordered_classes_needs_an_order() -> None:
    with pytest.raises(UsageError, match=r"answers with ordered classes; name them: `order="):
        small(settings={"model.head": "ordered"}).fit(TEXTS, ORDERED)


PATHS = ["up > far", "down > far", "up > near", "down > near"] * 6


def test_labels_may_have_levels(tmp_path: Path) -> None:
    classifier = small(levels=" > ").fit(TEXTS, PATHS)
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert loaded.levels == " > "
    assert loaded.classes_.tolist() == sorted(set(PATHS))
    paths, probs = loaded.paths(TEXTS), loaded.predict_proba(TEXTS)
    assert paths == classifier.paths(TEXTS)
    up = probs[:, [label.startswith("up") for label in loaded.classes_]].sum(axis=1)
    for path, share, baseline_error in zip(paths, up, probs.max(axis=1), strict=True):
        assert path is not None  # one of two nodes has a half
        name, prob = path
        first = "up" if share >= 0.5 else "down"
        assert name.split(" > ")[0] == first
        assert prob == pytest.approx(baseline_error if " > " in name else max(share, 1 - share), abs=1e-6)


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("levels", ["", 5])
def test_levels_are_separated_by_a_string(levels: Any, fold: bool) -> None:
    with pytest.raises(InputError, match=rf"`levels={levels!r}`: name what stands between two levels, such as"):
        small(levels=levels, fold_labels=fold).fit(TEXTS, PATHS)


@pytest.mark.parametrize(("labels", "more"), [(PATHS, {"order": sorted(set(PATHS))}), (LISTS, {})])
def test_levels_are_for_classes(labels: Any, more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is for classes, one for each text"):
        small(**{"levels": " > "} | more).fit(TEXTS, labels)


def test_levels_that_no_label_has() -> None:
    with pytest.raises(UsageError, match="no label holds '::'"):
        small(levels="::").fit(TEXTS, PATHS)
    with pytest.raises(UsageError, match="have no levels"):
        small().fit(TEXTS, PATHS).paths(TEXTS[:1])


def test_a_matrix_of_labels(tmp_path: Path) -> None:
    classifier = small(learning_rate=1e-2, epochs=6).fit(TEXTS, MATRIX)
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    for ours in (classifier, loaded):
        assert ours.classes_.tolist() == [0, 1]
        assert ours.predict(TEXTS).tolist() == MATRIX.tolist()
        assert ours.score(TEXTS, MATRIX) == 1.0
        assert f1_score(MATRIX, ours.predict(TEXTS), average="micro") == 1.0
    assert ((classifier.predict_proba(TEXTS) > 0.5) == MATRIX).all()
    assert classifier.score(TEXTS[:4], [[1, 1], [1, 0], [0, 0], [1, 0]]) == 0.75


def test_the_columns_of_a_frame_name_the_labels() -> None:
    frame = pl.DataFrame(MATRIX, schema=["b", "a"])
    classifier = small(learning_rate=1e-2, epochs=6).fit(TEXTS, frame)
    assert classifier.classes_.tolist() == ["b", "a"]  # a prediction has the columns of what was learned
    assert classifier.predict(TEXTS).tolist() == MATRIX.tolist()
    assert classifier.score(TEXTS, frame["a", "b"]) == 1.0
    assert classifier.score(TEXTS, LISTS) == 1.0
    with pytest.raises(InputError, match=r"the labels have the 2 columns \['b', 'c'\]; the model learned \['b', 'a'\]"):
        classifier.score(TEXTS, frame.rename({"a": "c"}))
    with pytest.raises(InputError, match=r"labels\[0\] is 'a', and this model gives a list of labels"):
        classifier.score(TEXTS, ["a"] * 24)


def test_a_matrix_can_be_cross_validated() -> None:
    assert cross_val_score(small(epochs=1), TEXTS, MATRIX, cv=2, scoring="f1_micro").shape == (2,)


def test_what_is_a_matrix_of_labels() -> None:
    expected = [["b", "a"], ["b"], []]
    rows = [[1, 1], [1, 0], [0, 0]]
    for given in (rows, np.array(rows), np.array(rows, dtype=bool), csr_array(rows), np.array(rows, dtype=object)):
        found = given_labels(given, ["b", "a"])
        assert (found.values, found.columns) == (expected, ("b", "a"))
    others: list[Any] = [[["0", "1"], ["1", "0"]], [[1], [0]], [[0, 1], [1]], [[2, 1], [1, 0]], [], [[], []]]
    for lists in others:
        assert given_labels(lists).columns is None


def test_a_column_of_labels_that_no_text_has() -> None:
    with pytest.raises(InputError, match="no text has the label 2: its column holds 0 only"):
        small().fit(TEXTS, np.hstack([MATRIX, np.zeros((24, 1))]))


def test_a_list_is_no_label_of_a_model_with_one() -> None:
    classifier = small(epochs=1).fit(TEXTS, [1, 0] * 12)
    with pytest.raises(InputError, match=r"labels\[0\] is \[1\], and this model gives one label"):
        classifier.score(TEXTS, [[1], [0]] * 12)
