"""The Python interface: a scikit-learn classifier of texts."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from glassformer.data.in_memory import (
    as_documents,
    as_read,
    as_table,
    as_weights,
    class_weights,
    folded,
    plain_labels,
    settings_by_name,
    unequal,
    warn_caller,
)
from glassformer.data.sources import Sources
from glassformer.data.spellings import table_spellings
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, InputError
from glassformer.explanation.explain import Explanation, explain
from glassformer.prediction.answers import Answers
from glassformer.prediction.devices import choose_device
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.shipped import folder_of
from glassformer.prediction.unlike import NOT_KEPT, Seen
from glassformer.training.card import model_card
from glassformer.training.distil import TEMPERATURE, Teacher, distil, student_recipe
from glassformer.training.initial_weights import read_initial_weights
from glassformer.training.loop import Observer
from glassformer.training.own_text import seconds_of
from glassformer.training.progress_line import ProgressLine
from glassformer.training.recipe import load_recipe
from glassformer.training.run import from_memory, train_classifier
from glassformer.training.snapshots import Snapshots
from glassformer.training.unfinished import prepare_out


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A transformer trained on texts and their labels, from scratch or from given weights.

        classifier = TextClassifier(preset="small").fit(texts, labels)
        classifier.predict_proba(texts)
        classifier.save("model")
        TextClassifier.load("model")

    It works with scikit-learn's `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV`. Texts can be a list, an
    array, a series, a frame of one column, or a generator.

    Texts of white space only are left out of training. For such a text, `predict` and `predict_proba` warn, and return
    the model's answer to a text without words, which means little.

    Args:
        preset: size of the model, `tiny`, `small` or `base`. None means the recipe's preset, or `small` without one.
        recipe: the name or the file of a recipe. None means the default recipe.
        minutes: the time for `fit`. It decides what is done: counting alone, fewer steps, the recipe, or pre-training
            on the texts too (see docs/minutes.md). None means the recipe.
        init: weights to start from, a model folder or `hf:…` (see `read_initial_weights`). The size of the model is
            then that of the weights.
        pretrain: how long to pre-train on the texts, without their labels, before they are trained on with labels:
            `30m`, `2h` or `90s`. None means not at all.
        unlabelled: a list of more texts to pre-train on. Leave out the texts that you will test on.
        epochs, learning_rate: replace the recipe's settings of these names, unless None.
        class_weight: `balanced`, or a dictionary of weights by label, as in scikit-learn; labels that it does not name
            have the weight 1. None means the recipe's `training.class_weights`.
        random_state: the seed, or a numpy generator to draw it from. None means the recipe's `training.seed`.
        snapshots: how many snapshots of the transformer to take while it is trained, from 2 to 100. `time_lapse_` then
            holds them (see docs/trace.md). None means none.
        keep_texts: keep the training texts, so that `explain` can show those nearest to a text. `save` writes them into
            the model folder, where anyone can read them.
        verbose: 0 shows nothing, 1 shows progress on standard error.
        fold_labels: read labels that differ only by case or white space (`Billing`, `billing `) as one label, under the
            most frequent spelling. `score` then reads its labels in the same way. The metrics of scikit-learn, as in
            `scoring="f1_macro"`, do not: fold the labels yourself before you cross-validate with one of them, for
            example by `[label.strip().lower() for label in labels]`.
        text, columns: for rows of several inputs, as dictionaries or a frame: the columns of their texts, and those
            beside the texts (see docs/inputs.md).
        settings: any other settings of the recipe by dotted name, for example `{"model.pooling": "max"}`.
        device: `cpu`, `cuda`, `mps` or `auto`.
        observer: is called during training (see `glassformer.training.loop.Observer`).

    Attributes:
        classes_: the sorted labels. The columns of `predict_proba` have this order.
        history_: a row of figures for each epoch.
        time_lapse_: the snapshots of `fit`, or None. `time_lapse_.write(path)` writes a page, which shows some texts.
    """

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
        random_state: int | np.random.RandomState | None = None,
        fold_labels: bool = False,
        text: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        snapshots: int | None = None,
        keep_texts: bool = False,
        device: str = "auto",
        verbose: int = 0,
        observer: Observer | None = None,
    ) -> None:
        self.preset = preset
        self.recipe = recipe
        self.minutes = minutes
        self.init = init
        self.pretrain = pretrain
        self.unlabelled = unlabelled
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.random_state = random_state
        self.fold_labels = fold_labels
        self.text = text
        self.columns = columns
        self.settings = settings
        self.snapshots = snapshots
        self.keep_texts = keep_texts
        self.device = device
        self.verbose = verbose
        self.observer = observer

    def fit(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> Self:  # noqa: N803 (scikit-learn's)
        """Train on texts `X` and their labels `y`.

        All labels must have the same type. If they are lists of labels, the classifier is a multi-label one. From 2,000
        rows on, a tenth of them is held out to choose the epoch and to weigh both readers. Fewer rows are cross-fitted
        instead, which trains five times (recipe section `[validation]`).

        Empty texts are left out, with a warning. There is also a warning if labels differ only by case or white space,
        unless `fold_labels` joins them.

        Args:
            sample_weight: the weight of each text in the training loss and the validation loss. A text of weight 0 is
                left out.

        Raises:
            UsageError: the sizes differ, a text is not a string, the labels have several types, there is only one
                class, a setting is unknown, or the weights to start from cannot be read.
        """
        labels = folded(plain_labels(y)) if self.fold_labels else y
        table, by_name = as_table(X, labels, sample_weight, text=self.text, columns=self.columns)
        if several := table_spellings(table):
            warn_caller(several)
        start = None if self.init is None else read_initial_weights(self.init)
        recipe = load_recipe(self.recipe, preset=self.preset, overrides=self._overrides(by_name), init=start)
        snapshots = None if self.snapshots is None else Snapshots(self.snapshots)
        trained = train_classifier(
            Sources(train=table, unlabelled=() if self.unlabelled is None else (as_documents(self.unlabelled),)),
            recipe,
            device=choose_device(self.device),
            observer=self._observer(),
            init=start,
            minutes=self.minutes,
            snapshots=snapshots,
            keep_texts=self.keep_texts,
        )
        for dropped in table.dropped:
            warn_caller(
                f"{counted(len(dropped.rows), 'row was', 'rows were')} left out of training: {dropped.reason} "
                f"(first: texts[{dropped.rows[0] - 1}])"
            )
        values = tuple(by_name[str(name)] for name in trained.config.labels)
        trained = from_memory(trained, values, fold_labels=self.fold_labels)
        self._take(Predictor(trained, device=choose_device(self.device)))
        self.time_lapse_ = None if snapshots is None else snapshots.time_lapse
        return self

    def _overrides(self, by_name: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the recipe that the parameters replace."""
        settings = settings_by_name(self.settings)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        given: dict[str, Any] = {"epochs": self.epochs, "learning_rate": self.learning_rate, "seed": seed}
        given["class_weights"] = class_weights(self.class_weight, by_name)
        if self.pretrain is not None:
            settings["pretraining.max_seconds"] = seconds_of(self.pretrain)
        return settings | {f"training.{key}": value for key, value in given.items() if value is not None}

    def _observer(self) -> Observer | None:
        return ProgressLine() if self.observer is None and self.verbose else self.observer

    def _take(self, predictor: Predictor) -> None:
        self.predictor_ = predictor
        labels = np.array(predictor.trained.config.labels)
        self._order = np.argsort(labels, kind="stable")  # the model sorts numbers by size, also if they are text
        self.classes_ = labels[self._order]
        self.history_ = predictor.trained.metrics.get("history", [])
        self.time_lapse_ = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def predict_proba(self, X: Iterable[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: N803
        """Return calibrated probabilities (texts, classes) in the order of `classes_`."""
        probs: np.ndarray[Any, np.dtype[np.float64]] = self._answer(X).probs[:, self._order].astype(np.float64)
        return probs

    def predict_log_proba(self, X: Iterable[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: N803
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):  # a probability may be 0 in float32
            logs: np.ndarray[Any, np.dtype[np.float64]] = np.log(self.predict_proba(X))
        return logs

    def predict(self, X: Iterable[Any]) -> Any:  # noqa: N803
        """Return an array with the label of each text, or for a multi-label classifier a list of lists."""
        answers = self._answer(X)
        if answers.multilabel:
            return answers.read()
        return self.classes_[answers.probs[:, self._order].argmax(axis=1)]

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Any = None) -> float:  # noqa: N803
        """Return the share of texts with the right label. For a multi-label classifier, all labels must be right."""
        given, truth = self.predict(X), plain_labels(y)
        if self.fold_labels:
            truth = folded(truth, [label for label in self.classes_ if isinstance(label, str)])
        if len(given) != len(truth):
            raise unequal(len(given), len(truth))
        if not truth:
            raise InputError("there is no text to measure on; give at least one text and its label")
        right = [
            set(answer) == set(label) if isinstance(label, list) else answer == label
            for answer, label in zip(given, truth, strict=True)
        ]
        weights = None if sample_weight is None else as_weights(sample_weight, len(right))
        return float(np.average(right, weights=weights))

    def reader_margins(self, X: Iterable[Any]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:  # noqa: N803
        """Return what each reader, `counting` and `transformer`, adds to each prediction, in logits.

        Both add up to the logarithm of the ratio between the probabilities of the predicted label and of the second
        most probable one. For several labels per text it is the logit of the least certain label. A reader below 0
        speaks for another answer.
        """
        return {name: margin.astype(np.float64) for name, margin in self._answer(X).margins().items()}

    def explain(self, text: Any, *, label: Any = None, method: str | None = None, nearest: bool = False) -> Explanation:
        """Explain why the model prefers a label, by default the most probable one: what each word adds.

        In a notebook the result shows itself as a page. `glassformer.explanation.explain.explain` can also search for a
        counterfactual, and show attention heads and neighbours of words (see docs/explain.md).

        Args:
            nearest: list the nearest training texts too. The model must keep its training texts (`keep_texts`).

        Raises:
            InputError: the text is empty or not a string, or there is no such label.
            UsageError: there is no such method, or the model does not keep its training texts.
        """
        check_is_fitted(self)
        return explain(self.predictor_, text, label=label, method=method, nearest=nearest)

    def unlike_training(self, X: Iterable[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:  # noqa: N803
        """Return which texts are unlike the training data (texts,): see docs/unlike.md. `unseen_share` says how much.

        Raises:
            GlassformerError: see `unseen_share`.
        """
        return self._seen().is_unlike(self.unseen_share(X))

    def unseen_share(self, X: Iterable[Any]) -> np.ndarray[Any, np.dtype[np.float32]]:  # noqa: N803
        """Return the share of the words and word pairs of each text that fewer than two training texts have.

        Raises:
            GlassformerError: the model keeps no words of its training texts (`training.keep_seen_words`), or was made
                by an older glassformer.
        """
        return self._seen().unseen_shares(as_read(X, self.predictor_.trained.config.inputs))

    def _seen(self) -> Seen:
        check_is_fitted(self)
        seen = self.predictor_.trained.seen
        if seen is None:
            raise GlassformerError(NOT_KEPT)
        return seen

    def needs_review(self, X: Iterable[Any], *, automatic: float = 0.9) -> np.ndarray[Any, np.dtype[np.bool_]]:  # noqa: N803
        """Return which answers a person should see (texts,), if this share of them is automatic: docs/automatic.md.

        Raises `UsageError`: see `Answering.thresholds` and `Thresholds.rule`.
        """
        check_is_fitted(self)
        below = self.predictor_.thresholds.rule(automatic).below
        return self._answer(X).confidences() < below

    def label_sets(self, X: Iterable[Any], *, coverage: float = 0.9) -> list[list[Any]]:  # noqa: N803
        """Return the labels that each text may have: this share of such sets hold the right label (docs/automatic.md).

        Raises `UsageError`: see `Answering.thresholds` and `Thresholds.label_threshold`.
        """
        check_is_fitted(self)
        least = self.predictor_.thresholds.label_threshold(coverage)
        return self._answer(X).label_sets(least)

    def unknown_words(self, X: Iterable[Any]) -> Counter[str]:  # noqa: N803
        """Return the words that are not in the vocabulary, each with the number of texts that it occurs in."""
        check_is_fitted(self)
        return self.predictor_.unknown_words(as_read(X, self.predictor_.trained.config.inputs))

    def _answer(self, texts: Iterable[Any]) -> Answers:
        check_is_fitted(self)
        answers = self.predictor_.answer(as_read(texts, self.predictor_.trained.config.inputs))
        if answers.empty.any():
            count, texts_in_all = int(answers.empty.sum()), counted(len(answers.empty), "text")
            warn_caller(
                f"{count:,} of {texts_in_all} {'has' if count == 1 else 'have'} no word (first: "
                f"texts[{answers.empty.argmax()}]); answers to such texts mean little"
            )
        return answers

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write a model folder. The command line can read it too.

        Args:
            overwrite: replace a model or an unfinished run in the folder. The evaluation of that model is deleted.

        Raises:
            UsageError: the labels are not strings, numbers or booleans; or the folder holds a model or an unfinished
                run, and `overwrite` is not set; or it holds other files only.
        """
        check_is_fitted(self)
        trained = self.predictor_.trained
        prepare_out(Path(folder), resume=False, overwrite=overwrite)
        save_model(Path(folder), trained, card=model_card(trained))
        shutil.rmtree(Path(folder) / CHECKPOINT_FOLDER, ignore_errors=True)  # of a run that `overwrite` replaced
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> TextClassifier:
        """Read a trained classifier from a model folder, or one that comes with the package: `sentiment-en`.

        Of its parameters, only `fold_labels` is read from the folder.

        Raises:
            glassformer.errors.UsageError: the folder does not exist, or does not hold a classifier.
            glassformer.errors.GlassformerError: the folder is damaged or incomplete. `UsageError` is a subclass of it.
        """
        return cls._of(load_model(folder_of(folder), CLASSIFIER), device)

    @classmethod
    def _of(cls, trained: TrainedModel, device: str) -> TextClassifier:
        classifier = cls(device=device, fold_labels=trained.config.remembered.fold_labels)
        classifier._take(Predictor(trained, device=choose_device(device)))
        return classifier

    def distil(
        self,
        texts: Iterable[str],
        *,
        into: str = "tiny",
        temperature: float = TEMPERATURE,
        settings: Mapping[str, Any] | None = None,
    ) -> TextClassifier:
        """Train a small classifier to answer texts as this one does: see docs/distil.md.

        Args:
            texts: texts without labels.
            into: a preset, or the name or file of a recipe.
            temperature: divides the logits of both classifiers in the loss.
            settings: settings of the recipe by dotted name.

        Raises:
            UsageError: a text is not a string, there is no such preset or recipe, or a setting does not fit.
        """
        check_is_fitted(self)
        recipe = student_recipe(into, settings_by_name(settings))
        teacher = Teacher(name="a model in memory", answering=self.predictor_)
        how: dict[str, Any] = {"device": choose_device(self.device), "observer": self._observer()}
        student = distil(teacher, [as_documents(texts, "texts")], recipe, temperature=temperature, **how)
        return self._of(student, self.device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
