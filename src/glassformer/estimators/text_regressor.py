"""The Python interface: a scikit-learn regressor of texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from glassformer.data.arrays import Numbers
from glassformer.data.in_memory import as_number_table
from glassformer.errors import UsageError
from glassformer.estimators.text_estimator import TextEstimator, warn_of_dropped, warn_of_empty
from glassformer.explanation.explain import explain
from glassformer.explanation.explanation import Explanation
from glassformer.prediction.devices import choose_device
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.predictor import Predictor
from glassformer.targets.number.target import COVERAGE, NumberAnswers, number_of
from glassformer.targets.number.training import train_number
from glassformer.training.card import model_card


class TextRegressor(RegressorMixin, TextEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A transformer and a ridge regression that learn a number for each text: a rating, a price, a score.

        regressor = TextRegressor().fit(texts, numbers)
        regressor.predict(texts)
        regressor.predict_interval(texts)

    It works with scikit-learn's `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV`. Its parameters are those of
    `TextClassifier` with the same names. docs/how-to/targets.md says how numbers are learned.

    Attributes:
        history_: a row of figures for each epoch.
    """

    _format, _card = FolderConfig.formats["number"], model_card

    def fit(self, X: Iterable[Any], y: Iterable[Any]) -> Self:  # noqa: N803 (scikit-learn's)
        """Train on texts or rows `X` and their numbers `y`. Empty texts are left out, with a warning.

        Raises:
            UsageError: the sizes differ, a text is not a string, a number is not finite, all numbers are the same, a
                setting is unknown, or the weights to start from cannot be read.
        """
        start, read_as = self._start()
        table = as_number_table(X, y, **read_as)
        sources, recipe, how = self._run(table, start)
        trained = train_number(sources, recipe, **how)
        warn_of_dropped(table)
        self._take(Predictor(trained, device=choose_device(self.device)))
        return self

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

    def explain(self, text: Any, *, method: str | None = None, nearest: bool = False) -> Explanation:
        """Explain an answer: what each word adds to the number, in its unit (see `TextClassifier.explain`).

        Raises:
            InputError: the text is empty or not a string, or the row lacks a column.
            UsageError: there is no such method, or the model does not keep its training texts.
        """
        return explain(self.predictor_, self._read([text])[0], method=method, nearest=nearest)

    def _answer(self, texts: Iterable[Any], *, coverage: float = COVERAGE) -> NumberAnswers:
        given = self._read(texts)
        answers: NumberAnswers = self.predictor_.answer(given, coverage=coverage)
        warn_of_empty(answers.empty)
        return answers
