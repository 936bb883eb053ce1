from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from glassformer import TextClassifier
from glassformer.data.table import read_table
from glassformer.errors import GlassformerError, UsageError

TEXTS = ["good film", "bad film", "fine film", "dull film"] * 6
BINARY = [1, 0] * 12
LISTS = [["b", "a"], ["b"], [], ["a"]] * 6


def small(**settings: Any) -> TextClassifier:
    """A classifier that trains in a moment."""
    quick: dict[str, Any] = {"preset": "tiny", "epochs": 2}
    quick["settings"] = {"training.min_steps_per_epoch": 4, "model.dropout": 0}
    return TextClassifier(**(quick | settings))


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    return small(learning_rate=1e-2, epochs=4).fit(TEXTS, BINARY)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([1, 0] * 12, [0, 1]),
        ([10, 9] * 12, [9, 10]),
        ([-1, 1] * 12, [-1, 1]),
        (["p", "n"] * 12, ["n", "p"]),
        (["", "n n, n"] * 12, ["", "n n, n"]),
        ([True, False] * 12, [False, True]),
        ([0.5, 10.0] * 12, [0.5, 10.0]),
        (np.array([7, 3] * 12), [3, 7]),
        (np.array(["p", "n"] * 12), ["n", "p"]),
        (np.array([True, False] * 12), [False, True]),
        (np.array(["p", "n"] * 12, dtype=object), ["n", "p"]),
        (pl.Series([5, 4] * 12), [4, 5]),
    ],
)
def test_labels_keep_their_type(labels: Any, classes: list[Any], tmp_path: Path) -> None:
    classifier = small().fit(TEXTS, labels)
    for one in (classifier, TextClassifier.load(classifier.save(tmp_path / "model"))):
        assert one.classes_.tolist() == np.unique(classes).tolist() == classes
        assert [type(label) for label in one.classes_.tolist()] == [type(label) for label in classes]
        predicted = one.predict(TEXTS)
        assert predicted.dtype == one.classes_.dtype
        assert set(predicted.tolist()) <= set(classes)


def test_classes_are_sorted_as_scikit_learn_sorts_them() -> None:
    """By code point, where the labels are numbers written as text: the scorers take columns to be in this order."""
    scores = cross_val_score(small(epochs=6, learning_rate=1e-2), TEXTS, ["10", "9"] * 12, scoring="roc_auc", cv=2)
    assert scores.min() > 0.9


def test_a_table_of_whole_floats_has_the_same_labels(tmp_path: Path) -> None:
    trained = small().fit(TEXTS, [1.0, 0.0] * 12).predictor_.trained
    path = tmp_path / "a.csv"
    pl.DataFrame({"text": TEXTS, "label": [1.0, 0.0] * 12}).write_csv(path)
    assert trained.config.label_set.encode(read_table(path)).tolist() == [1, 0] * 12


def test_predictions_are_the_likeliest_classes(fitted: TextClassifier) -> None:
    probabilities = fitted.predict_proba(TEXTS)
    assert probabilities.shape == (24, 2)
    assert probabilities.dtype == np.float64
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (fitted.predict(TEXTS) == fitted.classes_[probabilities.argmax(axis=1)]).all()
    assert fitted.score(TEXTS, BINARY) == 1.0
    assert [row["epoch"] for row in fitted.history_] == [1, 2, 3, 4]


@pytest.mark.parametrize("container", [tuple, np.array, lambda texts: np.array(texts, dtype=object), pl.Series])
def test_texts_come_in_any_sequence(container: Callable[[list[Any]], Any], fitted: TextClassifier) -> None:
    again = small(learning_rate=1e-2, epochs=4).fit(container(TEXTS), container(BINARY))
    assert np.array_equal(again.predict_proba(container(TEXTS)), fitted.predict_proba(TEXTS))


def test_save_and_load_answer_the_same_bit_for_bit(fitted: TextClassifier, tmp_path: Path) -> None:
    texts = [*TEXTS, "good " * 900, "", "电影 😀"]
    loaded = TextClassifier.load(fitted.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert loaded.history_ == fitted.history_
    other = small(seed=3).fit(TEXTS, BINARY)
    other.save(tmp_path / "model")
    assert np.array_equal(TextClassifier.load(tmp_path / "model").predict_proba(texts), other.predict_proba(texts))


def test_no_texts_and_unknown_words(fitted: TextClassifier) -> None:
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)
    assert fitted.unknown_words(["good zebra", "a zebra"]) == {"zebra": 2, "a": 1}


def test_several_labels_per_text(tmp_path: Path) -> None:
    classifier = small(learning_rate=1e-2, epochs=6).fit(TEXTS, LISTS)
    assert classifier.classes_.tolist() == ["a", "b"]
    assert classifier.predict(TEXTS[:4]) == [["a", "b"], ["b"], [], ["a"]]
    loaded = TextClassifier.load(classifier.save(tmp_path / "model"))
    assert loaded.predict(TEXTS[:4]) == classifier.predict(TEXTS[:4])
    numbers = small().fit(TEXTS, [[2, 11], [2], [], [11]] * 6)
    assert numbers.classes_.tolist() == [2, 11]


def test_parameters_round_trip() -> None:
    classifier = small(recipe="quick", learning_rate=3e-3, seed=5)
    assert TextClassifier(**classifier.get_params()).get_params() == classifier.get_params()
    assert clone(classifier).get_params() == classifier.get_params()
    assert classifier.set_params(epochs=7).epochs == 7


def test_parameters_reach_the_recipe() -> None:
    trained = small(recipe="quick", learning_rate=3e-3, seed=5, epochs=1).fit(TEXTS, BINARY).predictor_.trained
    training = trained.config.recipe["training"]
    assert (training["learning_rate"], training["seed"], training["epochs"]) == (3e-3, 5, 1)
    assert training["min_steps_per_epoch"] == 4


def test_pipeline() -> None:
    upper = [text.upper() for text in TEXTS]
    settings = {"training.min_steps_per_epoch": 4, "tokenizer.lowercase": False, "model.dropout": 0}
    steps = [("lower", FunctionTransformer(_lower)), ("classify", small(epochs=4, learning_rate=1e-2))]
    pipeline = Pipeline(steps).set_params(classify__settings=settings).fit(TEXTS, BINARY)
    assert pipeline.score(upper, BINARY) == 1.0


def _lower(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "f1_macro"])
def test_cross_val_score(scoring: str) -> None:
    scores = cross_val_score(small(), np.array(TEXTS), np.array(["p", "n"] * 12), cv=2, scoring=scoring)
    assert np.isfinite(scores).all()


def test_grid_search_over_the_learning_rate() -> None:
    search = GridSearchCV(small(epochs=4), {"learning_rate": [1e-9, 1e-2]}, cv=2, scoring="neg_log_loss")
    search.fit(TEXTS, BINARY)
    assert search.best_params_ == {"learning_rate": 1e-2}
    assert search.predict(TEXTS[:2]).tolist() == [1, 0]


def test_settings_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match=r"did you mean training\.learning_rate"):
        small(settings={"training.learningrate": 1}).fit(TEXTS, BINARY)
    with pytest.raises(UsageError, match="tiny, small, base"):
        small(preset="huge").fit(TEXTS, BINARY)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("good", [1, 0, 1, 0], "not one string"),
        (TEXTS, [1, 0], "24 texts but 2 labels"),
        ([None, *TEXTS[1:]], BINARY, "text 0 is NoneType"),
        ([*TEXTS[:-1], "\ud800"], BINARY, "text 23 cannot be read"),
        (np.array(TEXTS)[:, None], BINARY, "text 0 is ndarray"),
        (TEXTS, [None, 1] * 12, "None"),
        (TEXTS, [float("nan"), 1.0] * 12, "nan"),
        (TEXTS, [1, "1"] * 12, "several types"),
        (TEXTS, [1, True] * 12, "several types"),
        (TEXTS, [["a"], "b"] * 12, "a list of labels and some a single"),
        (TEXTS, np.array([[1, 0], [0, 1]] * 12), "matrix"),
        (TEXTS, [1] * 24, "at least two classes"),
        (TEXTS, [1] * 23 + [0], "single row"),
        ([], [], "no text has a label"),
    ],
)
def test_data_that_cannot_be_learned_from(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small().fit(texts, labels)


def test_texts_that_cannot_be_answered(fitted: TextClassifier) -> None:
    for texts in ("good", [None], ["\ud800"]):
        with pytest.raises(UsageError):
            fitted.predict(texts)  # type: ignore[arg-type]


def test_rows_left_out_are_said() -> None:
    with pytest.warns(UserWarning, match="2 of 26 rows were left out: empty text"):
        small().fit([*TEXTS, "", "  "], [*BINARY, 1, 0])
    with pytest.warns(UserWarning, match="1 of 25 rows was left out: empty text"):
        small().fit([*TEXTS, ""], [*BINARY, 1])


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "unknown_words", "save"])
def test_an_unfitted_classifier_says_so(ask: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(small(), ask)(TEXTS)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such model folder"):
        TextClassifier.load(tmp_path / "nosuch")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(GlassformerError, match=r"missing|another program"):
        TextClassifier.load(tmp_path)


def test_it_starts_from_the_weights_of_a_folder(fitted: TextClassifier, tmp_path: Path) -> None:
    folder = fitted.save(tmp_path / "model")
    still = {"training.min_steps_per_epoch": 2, "training.weight_decay": 0}
    begun = TextClassifier(init=str(folder), epochs=1, learning_rate=1e-30, settings=still)
    assert clone(begun).get_params() == begun.get_params()
    begun.fit(TEXTS, BINARY)
    np.testing.assert_allclose(begun.predictor_.logits(TEXTS), fitted.predictor_.logits(TEXTS), rtol=1e-5, atol=1e-6)
    with pytest.raises(UsageError, match="preset 'small' contradicts"):
        TextClassifier("small", init=str(folder)).fit(TEXTS, BINARY)
