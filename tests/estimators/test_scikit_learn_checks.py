"""scikit-learn's own checks of estimators, as far as they apply to one that reads texts."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from glassformer import TextClassifier, TextRegressor

EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": "batches are drawn at random: a row twice is no row of weight 2",
    "check_classifiers_regression_target": "numbers of any kind may be labels: 0.5 and 1.0, say, of a scale",
    "check_fit2d_1sample": "a class needs two texts, and the message says that instead of '1 sample'",
}


class NumbersAsTexts:
    """Rows of numbers read as texts of one word per number, as most of scikit-learn's checks give no others."""

    def predict(self, X: Any) -> Any:  # noqa: N803
        return super().predict(self._texts(X, reset=False))  # type: ignore[misc]

    def _texts(self, X: Any, *, reset: bool) -> list[str]:  # noqa: N803
        rows: np.ndarray[Any, Any] = validate_data(self, X, reset=reset)
        return [" ".join(f"{place}is{round(value * 2)}" for place, value in enumerate(row)) for row in rows.tolist()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array, tags.input_tags.string = True, False
        return tags


class OfNumbers(NumbersAsTexts, TextClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        return super().fit(self._texts(X, reset=True), y, sample_weight)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return super().predict_proba(self._texts(X, reset=False))


class RegressorOfNumbers(NumbersAsTexts, TextRegressor):
    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        return super().fit(self._texts(X, reset=True), y)


CLASSIFYING = {"training.min_steps_per_epoch": 4, "tokenizer.min_frequency": 1, "model.dropout": 0}
REGRESSING = {"training.epochs": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "exceptions"),
    [
        (TextClassifier("tiny", epochs=2, settings=CLASSIFYING), {}),
        (OfNumbers("tiny", epochs=2, settings=CLASSIFYING), EXCEPTIONS),
        (TextRegressor("tiny", settings=REGRESSING), {}),
        (RegressorOfNumbers("tiny", settings=REGRESSING), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scikit_learn_finds_nothing_but_the_exceptions(estimator: Any, exceptions: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, on_fail=None, expected_failed_checks=exceptions)
    assert [f"{found['check_name']}: {found['exception']}" for found in results if found["status"] == "failed"] == []
    failing = {found["check_name"] for found in results if found["status"] == "xfail"}
    assert failing == set(exceptions)  # no exception that is none any more
