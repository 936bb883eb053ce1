"""scikit-learn's own checks of estimators, as far as they apply to one that reads texts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from glassformer import TextClassifier, TextRegressor

EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": "batches are drawn at random: a row twice is no row of weight 2",
}


class NumbersAsTexts:
    """Reads rows of numbers as texts of a word per number: of what reads texts alone, scikit-learn checks hardly more
    than `clone`."""

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
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:  # noqa: N803
        return super().fit(self._texts(X, reset=True), y, sample_weight, groups=groups)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return super().predict_proba(self._texts(X, reset=False))


class RegressorOfNumbers(NumbersAsTexts, TextRegressor):
    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Any:  # noqa: N803
        return super().fit(self._texts(X, reset=True), y, groups=groups)


# A classifier that counts answers all checks too, but is fitted five times as slowly on so small tables.
TRANSFORMER = {
    "model.counting": "none",
    "model.dropout": 0,
    "model.d_model": 16,
    "training.learning_rate": 1e-2,
    "model.d_ff": 24,
    "tokenizer.min_frequency": 1,
    "training.min_steps_per_epoch": 4,
}
COUNTING = {"training.epochs": 0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [OfNumbers("tiny", epochs=2, settings=TRANSFORMER), RegressorOfNumbers("tiny", settings=COUNTING)],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL if isinstance(estimator, OfNumbers) else {},
)
def test_scikit_learn_finds_nothing_but_the_exceptions(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
