"""`TextRegressor`: numbers learned from texts and rows, in the manner of scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from glassformer import TextClassifier, TextRegressor
from glassformer.errors import GlassformerError, InputError, UsageError
from tests.estimators.samples import BOTH, TEXTS

NUMBERS = [4.5, 1.0, 4.0, 1.5] * 6
COUNTING = BOTH | {"training.epochs": 0}


def counting(**settings: Any) -> TextRegressor:
    """A regressor without a transformer, which trains in a moment."""
    usual: dict[str, Any] = {"preset": "tiny", "settings": COUNTING}
    return TextRegressor(**usual | settings)


@pytest.fixture(scope="module")
def fitted() -> TextRegressor:
    return counting().fit(TEXTS, NUMBERS)


def test_it_learns_numbers(fitted: TextRegressor) -> None:
    answers = fitted.predict(TEXTS)
    assert answers.shape == (24,)
    assert answers.dtype == np.float64
    assert fitted.score(TEXTS, NUMBERS) == pytest.approx(r2_score(NUMBERS, answers))
    assert fitted.score(TEXTS, NUMBERS) > 0.9
    assert fitted.predict(["good film"])[0] > fitted.predict(["bad film"])[0] + 2
    assert fitted.predict([]).shape == (0,)
    assert fitted.history_ == fitted.predictor_.trained.metrics["history"]
    assert is_regressor(fitted)


def test_texts_without_a_number_are_left_out() -> None:
    with pytest.warns(UserWarning, match=r"1 row was left out of training: no label \(first: texts\[24\]\)"):
        found = counting().fit([*TEXTS, "good"], np.array([*NUMBERS, np.nan]))
    assert found.predictor_.trained.config.data["rows"] == 24
    with pytest.raises(InputError, match="there is no text with a number"):
        counting().fit(["a", "b"], [None, None])


def test_a_transformer_takes_part() -> None:
    alone = BOTH | {"model.counting": "none"}
    regressor = TextRegressor("tiny", epochs=8, learning_rate=1e-2, settings=alone).fit(TEXTS, NUMBERS)
    assert regressor.score(TEXTS, NUMBERS) > 0.9
    assert len(regressor.history_) == 8


def test_large_numbers_are_learned_as_small_ones(fitted: TextRegressor) -> None:
    large = counting().fit(TEXTS, [number * 1e35 for number in NUMBERS])
    np.testing.assert_allclose(large.predict(TEXTS), fitted.predict(TEXTS) * 1e35)


def test_intervals_hold_the_answer(fitted: TextRegressor) -> None:
    answers, intervals = fitted.predict(TEXTS), fitted.predict_interval(TEXTS)
    assert intervals.shape == (24, 2)
    distance = fitted.predictor_.answer(TEXTS).distance
    assert intervals.tolist() == np.stack([answers - distance, answers + distance], axis=1).tolist()
    narrow = fitted.predict_interval(TEXTS, coverage=0.5)
    assert (narrow[:, 1] - narrow[:, 0] <= intervals[:, 1] - intervals[:, 0]).all()
    with pytest.raises(UsageError, match="24 rows were held out in training, and intervals of 99% need"):
        fitted.predict_interval(TEXTS, coverage=0.99)
    for wrong in (1.0, 90, 0):
        with pytest.raises(UsageError, match="coverage"):
            fitted.predict_interval(TEXTS, coverage=wrong)


def test_explanations_are_in_the_unit_of_the_number(fitted: TextRegressor) -> None:
    found = fitted.explain("good film")
    assert found.value == pytest.approx(fitted.predict(["good film"])[0])
    assert {each.word: each.total > 0 for each in found.words}["good"]
    assert sum(each.total for each in found.words) + found.without_known_words + found.unexplained == pytest.approx(
        found.value
    )
    assert repr(found).startswith("Explanation(text='good film', prediction=")
    with pytest.raises(UsageError, match="the text is empty"):
        fitted.explain("  ")
    with pytest.raises(InputError, match="a text is a string, not int"):
        fitted.explain(5)


def test_save_and_load_answer_the_same(fitted: TextRegressor, tmp_path: Path) -> None:
    folder = fitted.save(tmp_path / "m")
    loaded = TextRegressor.load(folder)
    assert np.array_equal(loaded.predict(TEXTS), fitted.predict(TEXTS))
    assert np.array_equal(loaded.predict_interval(TEXTS), fitted.predict_interval(TEXTS))
    assert loaded.unknown_words(["a zebra"]) == {"a": 1, "zebra": 1}
    assert loaded.unlike_training(["quite another matter"]).tolist() == [True]
    with pytest.raises(UsageError, match=r"answers with a number; read it with `TextRegressor\.load`"):
        TextClassifier.load(folder)
    with pytest.raises(UsageError, match=r"answers with labels; read it with `TextClassifier\.load`"):
        TextRegressor.load("sentiment-en")
    with pytest.raises(UsageError, match="overwrite"):
        fitted.save(folder)


def test_it_fits_into_scikit_learn() -> None:
    regressor = counting(random_state=3)
    assert clone(regressor).get_params() == regressor.get_params()
    assert regressor.set_params(epochs=2).epochs == 2
    scores = cross_val_score(counting(), np.array(TEXTS), np.array(NUMBERS), cv=2)
    assert scores.min() > 0.5
    steps = [("lower", FunctionTransformer(_lower)), ("number", counting())]
    pipeline = Pipeline(steps).fit([text.upper() for text in TEXTS], NUMBERS)
    assert pipeline.score(TEXTS, NUMBERS) > 0.9


def _lower(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


def test_rows_and_series(tmp_path: Path) -> None:
    frame = pl.DataFrame({"review": TEXTS, "stars": NUMBERS, "shop": ["Ulm", "Rom", "Ulm"] * 8})
    regressor = counting(text="review", columns=["shop"]).fit(frame, frame["stars"])
    loaded = TextRegressor.load(regressor.save(tmp_path / "m"))
    assert (loaded.text, loaded.columns) == (["review"], ["shop"])
    assert np.array_equal(loaded.predict(frame.to_dicts()), regressor.predict(frame))
    assert regressor.explain(frame.row(0, named=True)).text == "shop=Ulm\nreview: good film"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (None, "the target y is None"),
        (NUMBERS[:-1], "24 texts but 23 numbers; give each text its number"),
        (["4.5", *NUMBERS[1:]], r"y\[0\] is '4.5' \(str\), not a number"),
        ([1e37, *NUMBERS[1:]], r"y\[0\] is 1e\+37; numbers must be finite and of a size below 1e\+36"),
        ([3] * 24, "every text has the number 3, so there is nothing to learn"),
        ([[1, 2]] * 24, r"y\[0\] is \[1, 2\] \(list\), not a number"),
        (np.ones((24, 2)), r"matrix of shape \(24, 2\)"),
    ],
)
def test_numbers_that_cannot_be_learned(numbers: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        counting().fit(TEXTS, numbers)


def test_what_else_cannot_be(fitted: TextRegressor) -> None:
    with pytest.raises(InputError, match="there is no text with a number"):
        counting().fit([], [])
    with pytest.raises(InputError, match="there is 1 sample, so there is nothing to learn"):
        counting().fit(["good film", " "], [1, 2])
    with pytest.raises(InputError, match=r"texts\[0\] is 7 \(int\), not a string"):
        fitted.predict([7])
    with pytest.raises(NotFittedError):
        counting().predict(TEXTS)
    with pytest.raises(NotFittedError):
        counting().predict_interval(TEXTS)
    with pytest.warns(UserWarning, match=r"1 of 2 texts has no word"):
        assert np.isfinite(fitted.predict(["good film", " "])).all()
    with pytest.warns(UserWarning, match="1 row was left out of training: empty text"):
        counting().fit([*TEXTS, ""], [*NUMBERS, 2])
    with pytest.raises(GlassformerError, match="class_weights"):
        counting(settings=COUNTING | {"training.class_weights": "balanced"}).fit(TEXTS, NUMBERS)


def test_the_number_of_an_empty_text_is_not_named() -> None:
    with pytest.raises(InputError, match="every text has the number 2, so there is nothing to learn"):
        TextRegressor().fit([" ", "a film", "a book"], [1, 2, 2])
