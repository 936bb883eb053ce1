"""The Python interface: a scikit-learn classifier of texts."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from glassformer.data.labels import label_name
from glassformer.data.sources import Sources
from glassformer.data.table import Dropped, Table
from glassformer.errors import UsageError
from glassformer.prediction.devices import choose_device
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.training.card import model_card
from glassformer.training.initial_weights import read_initial_weights
from glassformer.training.loop import Observer
from glassformer.training.recipe import load_recipe
from glassformer.training.run import as_labels, train_classifier


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A transformer trained on texts and their labels, from scratch or from given weights.

        classifier = TextClassifier(preset="small").fit(texts, labels)
        classifier.predict_proba(texts)
        classifier.save("model")
        TextClassifier.load("model")

    Works in scikit-learn's `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV`.

    Args:
        preset: size of the model, `tiny`, `small` or `base`; None takes the recipe's, else `small`.
        recipe: a recipe by name or file; None is the default.
        init: weights to start from, a model folder or `hf:…` (see `read_initial_weights`); the size is theirs then.
        epochs, learning_rate, seed: the recipe's values of those names, where not None.
        settings: any other values of the recipe by dotted name, `{"model.pooling": "max"}`.
        device: `cpu`, `cuda`, `mps` or `auto`.
        observer: hears how training goes (see `glassformer.training.loop.Observer`).

    Attributes:
        classes_: the labels, sorted; columns of `predict_proba` are in this order.
        history_: one row of figures per epoch.
    """

    def __init__(
        self,
        preset: str | None = None,
        *,
        recipe: str | None = None,
        init: str | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        device: str = "auto",
        observer: Observer | None = None,
    ) -> None:
        self.preset = preset
        self.recipe = recipe
        self.init = init
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.seed = seed
        self.settings = settings
        self.device = device
        self.observer = observer

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> Self:  # noqa: N803 (scikit-learn's names)
        """Train on texts `X` and their labels `y`, of any one type; lists of labels make a multi-label classifier.

        A tenth of the rows is held out for early stopping where there are 200 or more (recipe section `[validation]`).

        Warns of rows that were left out: empty texts, and texts that are also held out.

        Raises:
            UsageError: the sizes differ, a text is not a string, the labels are of several types, there is one class
                only, a setting is unknown, or the weights to start from cannot be read.
        """
        settings = dict(self.settings or {})
        given = {"epochs": self.epochs, "learning_rate": self.learning_rate, "seed": self.seed}
        settings |= {f"training.{key}": value for key, value in given.items() if value is not None}
        start = None if self.init is None else read_initial_weights(self.init)
        recipe = load_recipe(self.recipe, preset=self.preset, overrides=settings, init=start)
        table, by_name = _as_table(X, y)
        trained = train_classifier(
            Sources(train=table), recipe, device=choose_device(self.device), observer=self.observer, init=start
        )
        for dropped in trained.config.data["dropped"]:
            was = "was" if dropped["count"] == 1 else "were"
            warnings.warn(f"{dropped['count']} of {len(X)} rows {was} left out: {dropped['reason']}", stacklevel=2)
        labels = tuple(by_name[str(name)] for name in trained.config.labels)
        self._take(Predictor(as_labels(trained, labels), device=choose_device(self.device)))
        return self

    def _take(self, predictor: Predictor) -> None:
        self.predictor_ = predictor
        labels = np.array(predictor.trained.config.labels)
        self._order = np.argsort(labels, kind="stable")  # the model's own order is by size even where numbers are text
        self.classes_ = labels[self._order]
        self.history_ = predictor.trained.metrics.get("history", [])

    def predict_proba(self, X: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: N803
        """Calibrated probabilities (texts, classes) in the order of `classes_`."""
        probs: np.ndarray[Any, np.dtype[np.float64]] = self._answer(X).probs[:, self._order].astype(np.float64)
        return probs

    def predict(self, X: Sequence[str]) -> Any:  # noqa: N803
        """The label of each text as an array; for a multi-label classifier a list of lists."""
        answers = self._answer(X)
        if answers.multilabel:
            return answers.predictions()
        return self.classes_[answers.probs[:, self._order].argmax(axis=1)]

    def unknown_words(self, X: Sequence[str]) -> Counter[str]:  # noqa: N803
        """Words that the vocabulary lacks, with the number of texts that they occur in."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.unknown_words(_as_texts(X))

    def _answer(self, texts: Sequence[str]) -> Any:
        check_is_fitted(self, "predictor_")
        return self.predictor_.answer(_as_texts(texts))

    def save(self, folder: str | Path) -> Path:
        """Write a model folder, the same as the command line's; an existing model there is replaced.

        Raises:
            UsageError: the labels are not text, numbers or truth values.
        """
        check_is_fitted(self, "predictor_")
        trained = self.predictor_.trained
        save_model(Path(folder), trained, card=model_card(trained))
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> TextClassifier:
        """A classifier from a model folder, ready to answer.

        Raises:
            UsageError, GlassformerError: what `load_model` raises.
        """
        classifier = cls(device=device)
        classifier._take(Predictor(load_model(Path(folder), CLASSIFIER), device=choose_device(device)))
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _as_texts(texts: Sequence[str]) -> list[str]:
    listed = list(texts)
    if isinstance(texts, str):
        raise UsageError("give a list of texts, not one string")
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise UsageError(f"text {number} is {type(text).__name__}, not a string: {text!r}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"text {number} cannot be read: {error.reason}: {text!r}") from error
    return listed


def _as_table(texts: Sequence[str], labels: Sequence[Any]) -> tuple[Table, dict[str, Any]]:
    """The rows as a table, and what each label's name stands for."""
    listed, values = _as_texts(texts), [_plain(label) for label in labels]
    if len(listed) != len(values):
        raise UsageError(f"{len(listed)} texts but {len(values)} labels")
    multilabel = any(isinstance(value, list) for value in values)
    if getattr(labels, "ndim", 1) > 1:
        raise UsageError("labels as a matrix of zeros and ones are not read; give each text a list of its labels")
    if multilabel and not all(isinstance(value, list) for value in values):
        raise UsageError("some texts have a list of labels and some a single label; give each text a list")
    by_name = _names([one for value in values for one in value] if multilabel else values)
    empty = [number for number, text in enumerate(listed, 1) if not text.strip()]
    frame = pl.DataFrame(
        {
            "row": range(1, len(listed) + 1),
            "text": listed,
            "label": [[label_name(one) for one in value] if multilabel else label_name(value) for value in values],
        },
        schema={"row": pl.UInt32, "text": pl.String, "label": pl.List(pl.String) if multilabel else pl.String},
    )
    table = Table(
        frame=frame.filter(pl.col("text").str.strip_chars() != ""),
        source="rows in memory",
        text_column="text",
        label_column="label",
        multilabel=multilabel,
        dropped=(Dropped(reason="empty text", rows=empty),) if empty else (),
    )
    return table, by_name


def _names(labels: list[Any]) -> dict[str, Any]:
    """What each label's name stands for."""
    for one in labels:
        if not isinstance(one, (str, int, float)) or one != one:
            raise UsageError(f"a label is {one!r}; use text, numbers or truth values")
    if len(types := sorted({type(one).__name__ for one in labels})) > 1:
        raise UsageError(f"the labels are of several types ({', '.join(types)}); use one")
    return {label_name(one): one for one in labels}


def _plain(label: Any) -> Any:
    """NumPy's scalars and arrays as Python's own values."""
    if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
        return [_plain(one) for one in label]
    return label.item() if isinstance(label, np.generic) else label
