"""The Python interface: a scikit-learn regressor of texts."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from glassformer.data.arrays import Numbers
from glassformer.data.in_memory import as_added_numbers, as_number_table
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.estimators.text_estimator import Named, TextEstimator
from glassformer.targets.number.target import COVERAGE, number_of


class TextRegressor(RegressorMixin, TextEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A transformer and a ridge regression that learn a number for each text: a rating, a price, a score.

        regressor = TextRegressor().fit(texts, numbers)
        regressor.predict(texts)
        regressor.predict_interval(texts)

    It works with scikit-learn's `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV`. Its parameters are those of
    `TextClassifier` with the same names. docs/how-to/targets.md says how numbers are learned.
    """

    _answers = "number"

    def fit(self, X: Iterable[Any], y: Iterable[Any], *, groups: Any = None) -> Self:  # noqa: N803 (scikit-learn's)
        """Train on texts or rows `X` and their numbers `y`. Empty texts are left out, with a warning.

        Args:
            groups: see `TextClassifier.fit`.

        Raises:
            UsageError: the sizes differ, a text is not a string, a number is not finite, all numbers are the same, a
                setting is unknown, or the weights to start from cannot be read.
        """
        start, read_as = self._start(groups)
        return self._learn(as_number_table(X, y, **read_as), start)

    def _added(self, texts: list[str], y: Iterable[Any], groups: Any) -> tuple[Table, Named, None]:
        new = as_added_numbers(texts, y, self.predictor_.trained.config.inputs, groups=groups)
        return new, lambda trained: trained, None

    def predict(self, X: Iterable[Any]) -> Numbers:  # noqa: N803
        """Return the number of each text (texts,)."""
        return self._answer(X).values

    def predict_interval(self, X: Iterable[Any], *, coverage: float = COVERAGE) -> Numbers:  # noqa: N803
        """Return an interval for each text, lowest and highest (texts, 2), in the unit of the number.

        Args:
            coverage: the share of right numbers that the intervals should hold, in whole percents.

        Raises:
            UsageError: it is not such a share, or too few rows were held out in training.
        """
        answers, target = self._answer(X, coverage=coverage), number_of(self.predictor_.trained.config.target)
        if answers.distance is None:
            raise UsageError(f"there are no intervals: {target.why_no_interval(self.predictor_.held_out, coverage)}")
        return answers.values[:, None] + np.array([-answers.distance, answers.distance])
