"""The Python interface: a scikit-learn classifier of texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from glassformer.data.arrays import BoolArray, DoubleArray
from glassformer.data.in_memory import as_added_table, as_table, unequal
from glassformer.data.in_memory_labels import (
    as_weights,
    check_separator,
    class_weights,
    folded,
    given_labels,
    ordered_names,
)
from glassformer.data.in_memory_rows import warn_caller
from glassformer.data.spellings import table_spellings
from glassformer.data.table import Table
from glassformer.errors import InputError, brief_value
from glassformer.estimators.text_estimator import Named, TextEstimator
from glassformer.prediction.change_costs import with_costs
from glassformer.prediction.devices import choose_device
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of
from glassformer.targets.labels.training import from_memory
from glassformer.targets.tasks import separator_of
from glassformer.training.loop import Observer


class TextClassifier(ClassifierMixin, TextEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A transformer trained on texts and their labels, from scratch or from given weights.

        classifier = TextClassifier(preset="small").fit(texts, labels)
        classifier.predict_proba(texts)
        classifier.save("model")
        TextClassifier.load("model")

    It works with scikit-learn's `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV`. Texts can be a list, an
    array, a series, a frame of one column, or a generator. With `text`, they can be rows too (docs/how-to/python.md).

    Texts of white space only are left out of training. For such a text, `predict` and `predict_proba` warn, and return
    the model's answer to a text without words, which means little.

    Args:
        preset: size of the model, `tiny`, `small` or `base`. None means the recipe's preset, or `small` without one.
        recipe: the name or the file of a recipe. None means the default recipe.
        minutes: the time for `fit`. It decides what is done: no transformer, fewer steps, the recipe, or pre-training
            on the texts too (see docs/how-to/minutes.md). None means the recipe.
        init: weights to start from, a model folder or `hf:…` (see `read_initial_weights`). The size of the model is
            then that of the weights.
        pretrain: how long to pre-train on the texts, without their labels, before they are trained on with labels:
            `30m`, `2h` or `90s`. None means not at all.
        unlabelled: a list of texts without labels, for the word vectors of `model.body` and for `pretrain`. Leave out
            the texts that you will test on.
        epochs, learning_rate: replace the recipe's settings of these names, unless None.
        class_weight: `balanced`, or a dictionary of weights by label, as in scikit-learn; labels that it does not name
            have the weight 1. None means the recipe's `training.class_weights`.
        costs: what wrong answers cost: `{"fraud": 10}` for a missed label, `{("fraud", "ok"): 10}` for an answer to a
            truth, `{"review": 0.3}` for asking a person, or the path of a table (see docs/how-to/automatic.md). Other
            mistakes cost 1. `predict` then gives the answers of the least expected cost.
        random_state: the seed, or a numpy generator to draw it from. None means the recipe's `training.seed`.
        snapshots: how many snapshots of the transformer to take while it is trained, from 2 to 100. `time_lapse_` then
            holds them (see docs/how-to/trace.md). None means none.
        keep_texts: keep the training texts, so that `explain` can show those nearest to a text. `save` writes them into
            the model folder, where anyone can read them.
        verbose: 0 shows nothing, 1 shows progress on standard error.
        fold_labels: read labels that differ only by case or white space (`Billing`, `billing `) as one label, under the
            most frequent spelling. `score` then reads its labels in the same way. The metrics of scikit-learn, as in
            `scoring="f1_macro"`, do not: fold the labels yourself before you cross-validate with one of them, for
            example by `[label.strip().lower() for label in labels]`.
        order: all labels from lowest to highest, if they have an order that is to be learned (see
            docs/how-to/targets.md).
        levels: what separates the levels of a label, such as ` > ` in `Food > Fruit`, if labels have levels. `paths`
            then answers with a path that ends where the model is not sure any more.
        rules: a file of rules: phrases and patterns that decide or weigh (see docs/how-to/rules.md).
        text, columns: for rows, as dictionaries or a frame: the columns of their texts, and those beside the texts (see
            docs/how-to/inputs.md).
        settings: any other settings of the recipe by dotted name, for example `{"model.pooling": "max"}`.
        device: `cpu`, `cuda`, `mps` or `auto`.
        observer: is called during training (see `glassformer.training.loop.Observer`).

    Attributes:
        classes_: the sorted labels. The columns of `predict_proba` have this order.
        history_: a row of figures for each epoch.
        time_lapse_: the snapshots of `fit`, or None. `time_lapse_.write(path)` writes a page, which shows some texts.
    """

    _answers = "labels"

    def __init__(
        self,
        preset: str | None = None,
        *,
        recipe: str | None = None,
        minutes: float | None = None,
        init: str | None = None,
        pretrain: str | None = None,
        unlabelled: Sequence[str] | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        costs: Any = None,
        random_state: int | np.random.RandomState | None = None,
        fold_labels: bool = False,
        order: Sequence[Any] | None = None,
        levels: str | None = None,
        rules: str | None = None,
        text: str | Sequence[str] | None = None,
        columns: str | Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        snapshots: int | None = None,
        keep_texts: bool = False,
        device: str = "auto",
        verbose: int = 0,
        observer: Observer | None = None,
    ) -> None:
        shared = {name: value for name, value in locals().items() if name in TextEstimator._get_param_names()}
        super().__init__(**shared)
        self.class_weight = class_weight
        self.costs = costs
        self.fold_labels = fold_labels
        self.order = order
        self.levels = levels

    def fit(
        self,
        X: Iterable[Any],  # noqa: N803 (scikit-learn's)
        y: Iterable[Any],
        sample_weight: Any = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Train on texts `X` and their labels `y`.

        All labels must have the same type. If they are lists of labels, the classifier is a multi-label one. From 2,000
        rows on, a tenth of them is held out to choose the epoch and to weigh the readers. Fewer rows are cross-fitted
        instead, which trains five times (recipe section `[validation]`).

        Empty texts are left out, with a warning, and texts whose label is `None` or NaN are unlabelled texts. There is
        also a warning if labels differ only by case or white space, unless `fold_labels` joins them.

        Args:
            sample_weight: the weight of each text in the training loss and the validation loss. A text of weight 0 is
                left out.
            groups: the group of each text, such as its author, or None. All texts of a group are held out together (see
                `ValidationConfig.group`, which is then `group`).

        Raises:
            UsageError: the sizes differ, a text is not a string, the labels have several types, there is only one
                class, a setting is unknown, or the weights to start from cannot be read.
        """
        check_separator(self.levels)
        if not isinstance(self.fold_labels, bool):
            raise InputError(f"`fold_labels={brief_value(self.fold_labels)}`: give True or False")
        given = given_labels(y)
        labels = (
            folded(given.values, levels=self.levels) if self.fold_labels and given.columns is None else given.values
        )
        start, read_as = self._start(groups)
        table, by_name = as_table(X, labels, sample_weight, order=self.order, levels=self.levels, **read_as)
        given.check_columns(by_name)
        if several := table_spellings(table):
            warn_caller(several)
        if not table.multilabel and (separator := separator_of(table.frame["label"], perhaps=True)):
            warn_caller(
                f"the labels look like several in one string, with {separator!r} in between; each string is learned as "
                "one class. For several labels per text, give a list of labels to each"
            )
        named, weights = self._named(by_name, given.columns), class_weights(self.class_weight, by_name)
        return self._learn(table, start, named=named, class_weights=weights, costs=self.costs)

    def _added(self, texts: list[str], y: Iterable[Any], groups: Any) -> tuple[Table, Named, tuple[str, ...] | None]:
        config, target = self.predictor_.trained.config, self.predictor_.trained.config.target
        given = given_labels(y, self.classes_.tolist() if target.multilabel else None)
        old_names = [label for label in self.classes_.tolist() if isinstance(label, str)]
        labels = folded(given.values, old_names, self.levels) if self.fold_labels else given.values
        how = {"groups": groups, "multilabel": target.multilabel}
        new, by_name = as_added_table(texts, labels, target.labels, config.inputs, **how)
        columns = config.remembered.data.label_columns
        if columns is not None:
            columns = (*columns, *(label for label in by_name.values() if label not in columns))
        order = None if self.order is None else ordered_names(self.order, by_name, labels)
        return new, self._named(by_name, columns), order

    def _named(self, by_name: Mapping[str, Any], columns: tuple[Any, ...] | None) -> Named:
        """Return what gives a model that was trained on rows in memory the labels of the caller."""
        return lambda trained: from_memory(
            trained,
            tuple(by_name[str(name)] for name in labels_of(trained.config.target).labels),
            fold_labels=self.fold_labels,
            label_columns=columns,
        )

    def _take(self, predictor: Predictor) -> None:
        super()._take(predictor)
        config = predictor.trained.config
        columns = config.remembered.data.label_columns
        known = labels_of(config.target).labels
        labels = np.array(known)
        # The model sorts numbers by size, also if they are text. A matrix of labels keeps its columns.
        self._order = np.argsort(labels, kind="stable")
        if columns is not None:
            self._order = np.array([known.index(column) for column in columns])
        self.classes_ = labels[self._order]

    @classmethod
    def _parameters_of(cls, config: Any) -> dict[str, Any]:
        fold, order = config.remembered.fold_labels, list(config.target.labels) if config.target.ordered else None
        levels = None if config.target.tree is None else config.target.tree.separator
        costs = [(row.truth, row.answer, row.cost) for row in config.target.costs] or None
        own = {"fold_labels": fold, "order": order, "levels": levels, "costs": costs}
        return super()._parameters_of(config) | own

    def change_costs(self, costs: Any) -> Self:
        """Answer by other costs from now on. Nothing is trained.

        Args:
            costs: see the parameter. None: the answers are the most probable labels.

        Raises `UsageError`: there is no such label, or a cost is no number from 0 on.
        """
        check_is_fitted(self)
        trained, sources, lapse = self.predictor_.trained, self._sources, self.time_lapse_
        config = with_costs(trained.config, [] if costs is None else costs)
        self._take(Predictor(replace(trained, config=config), device=choose_device(self.device)))
        self.costs, self._sources, self.time_lapse_ = costs, sources, lapse
        return self

    def predict_proba(self, X: Iterable[Any]) -> DoubleArray:  # noqa: N803
        """Return calibrated probabilities (texts, classes) in the order of `classes_`."""
        return self._answer(X).probs[:, self._order].astype(np.float64)

    def predict_log_proba(self, X: Iterable[Any]) -> DoubleArray:  # noqa: N803
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):  # a probability may be 0 in float32
            logs: DoubleArray = np.log(self.predict_proba(X))
        return logs

    def predict(self, X: Iterable[Any]) -> Any:  # noqa: N803
        """Return an array with the label of each text.

        A multi-label classifier returns a list of lists. If it was trained on a matrix of 0 and 1, it returns such a
        matrix (texts, classes).
        """
        answers = self._answer(X)
        if answers.multilabel and self.predictor_.trained.config.remembered.data.label_columns is not None:
            return answers.given[:, self._order].astype(int)
        if answers.multilabel:
            return answers.named
        return self.classes_[answers.given[:, self._order].argmax(axis=1)]

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> float:  # noqa: N803
        """Return the share of texts with the right label. For a multi-label classifier, all labels must be right."""
        answers, truth = self.predict(X), self._truth(y)
        if getattr(answers, "ndim", 1) == 2:
            answers = given_labels(answers, self.classes_.tolist()).values
        if len(answers) != len(truth):
            raise unequal(len(answers), len(truth))
        if not truth:
            raise InputError("there is no text to measure on; give at least one text and its label")
        right = [
            set(answer) == set(label) if isinstance(label, list) else answer == label
            for answer, label in zip(answers, truth, strict=True)
        ]
        weights = None if sample_weight is None else as_weights(sample_weight, len(right))
        return float(np.average(right, weights=weights))

    def _truth(self, y: Any) -> list[Any]:
        """Return the right labels to compare answers with. Raises `InputError` if they are not of the model's kind."""
        several = self.predictor_.trained.config.target.multilabel
        truth = given_labels(y, self.classes_.tolist() if several else None).values
        for number, label in enumerate(truth):
            if isinstance(label, list) != several:
                kind = "a list of labels for each text" if several else "one label for each text"
                raise InputError(f"labels[{number}] is {brief_value(label)}, and this model gives {kind}")
        if self.fold_labels:
            truth = folded(truth, [label for label in self.classes_.tolist() if isinstance(label, str)], self.levels)
        return truth

    def reader_margins(self, X: Iterable[Any]) -> dict[str, DoubleArray]:  # noqa: N803
        """Return what each reader, such as `counting`, `body` and `transformer`, adds to each prediction, in logits.

        They add up to the logarithm of the ratio between the probabilities of the predicted label and of the second
        most probable one. For several labels per text it is the logit of the least certain label. A reader below 0
        speaks for another answer.
        """
        return {name: margin.astype(np.float64) for name, margin in self._answer(X).margins().items()}

    def needs_review(self, X: Iterable[Any], *, automatic: float | None = None) -> BoolArray:  # noqa: N803
        """Return which answers a person should see (texts,), if this share of them is automatic.

        By default the `costs` decide, if they say what asking a person costs, and otherwise a share of 0.9. See
        docs/how-to/automatic.md.

        Raises `UsageError`: see `Answering.thresholds` and `Thresholds.rule`.
        """
        check_is_fitted(self)
        answers = self._answer(X)
        needed: BoolArray | None = answers.needs_review if automatic is None else None
        if needed is None:
            needed = answers.confidences < self.predictor_.thresholds.rule(automatic or 0.9).below
        return needed

    def paths(self, X: Iterable[Any]) -> list[tuple[str, float] | None]:  # noqa: N803
        """Return the path of each text to the last level that is more likely right than wrong, with its probability.

        None if no level is. docs/how-to/targets.md says how.

        Raises `UsageError` if the labels have no levels.
        """
        answers = self._answer(X)
        return answers.paths

    def label_sets(self, X: Iterable[Any], *, coverage: float = 0.9) -> list[list[Any]]:  # noqa: N803
        """Return the labels that each text may have: this share of such sets hold the right label.

        docs/how-to/automatic.md says how.

        Raises `UsageError`: see `Answering.thresholds` and `Thresholds.label_threshold`.
        """
        check_is_fitted(self)
        least = self.predictor_.thresholds.label_threshold(coverage)
        return self._answer(X).label_sets(least)
