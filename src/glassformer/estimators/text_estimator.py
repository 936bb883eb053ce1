"""What the estimators of texts share: their parameters, the reading of texts and rows, and the model folder."""

import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from glassformer.data.arrays import BoolArray, FloatArray
from glassformer.data.documents import rows_without_label
from glassformer.data.files import as_path
from glassformer.data.in_memory import as_documents, settings_by_name
from glassformer.data.in_memory_rows import as_read, is_row, warn_caller
from glassformer.data.locks import only_writer
from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, InputError, UsageError, brief_value
from glassformer.explanation.explain import explain
from glassformer.explanation.explanation import Explanation
from glassformer.prediction.devices import choose_device
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_format import format_of
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model, save_model
from glassformer.prediction.nearest import NearestTexts
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.shipped import folder_of
from glassformer.readers.counting.unlike import NOT_KEPT, Seen
from glassformer.training.adding import add_in_memory, check_can_grow
from glassformer.training.card import model_card
from glassformer.training.distil import TEMPERATURE, Teacher, distil, student_recipe
from glassformer.training.initial_weights import InitialWeights, read_initial_weights
from glassformer.training.loop import Observer
from glassformer.training.out_folder import prepare_out
from glassformer.training.own_text import seconds_of
from glassformer.training.progress_line import ProgressLine
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_model
from glassformer.training.snapshots import Snapshots

_LOADED_BY = {
    FolderConfig.formats["labels"]: ("labels", "TextClassifier"),
    FolderConfig.formats["number"]: ("a number", "TextRegressor"),
}
Named = Callable[[TrainedModel], TrainedModel]
"""Adds to a trained model what only the caller knows of its rows."""


class TextEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A transformer trained on texts, from scratch or from given weights.

    Attributes:
        history_: a row of figures for each epoch.
        time_lapse_: the snapshots of `fit`, or None. `time_lapse_.write(path)` writes a page, which shows some texts.
    """

    _answers: ClassVar[str]
    """What it answers with: the folder of its targets, in `targets/`."""
    _sources: Sources | None
    """The rows that were learned, for `add`. None if the model was loaded."""

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
        random_state: int | np.random.RandomState | None = None,
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
        self.preset = preset
        self.recipe = recipe
        self.minutes = minutes
        self.init = init
        self.pretrain = pretrain
        self.unlabelled = unlabelled
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.rules = rules
        self.text = text
        self.columns = columns
        self.settings = settings
        self.snapshots = snapshots
        self.keep_texts = keep_texts
        self.device = device
        self.verbose = verbose
        self.observer = observer

    def _start(self, groups: Any) -> tuple[InitialWeights | None, dict[str, Any]]:
        """Return the weights to start from, and how the rows are read: arguments of `as_table`."""
        if not isinstance(self.keep_texts, bool | np.bool_):  # "no" would keep them
            raise InputError(f"`keep_texts={brief_value(self.keep_texts)}`: give True or False")
        start = None if self.init is None else read_initial_weights(self.init)
        known = None if start is None else start.inputs
        return start, {"groups": groups, "text": self.text, "columns": self.columns, "known": known}

    def _learn(
        self, table: Table, start: InitialWeights | None, *, named: Named = lambda trained: trained, **training: Any
    ) -> Self:
        """Train on a table, and answer with the result."""
        snapshots = None if self.snapshots is None else Snapshots(self.snapshots)
        grouped = {"validation.group": "group"} if "group" in table.frame.columns else {}
        settings = grouped | self._overrides(training)
        recipe = load_recipe(self.recipe, preset=self.preset, overrides=settings, init=start)
        unlabelled = () if self.unlabelled is None else (as_documents(self.unlabelled),)
        sources = Sources(train=table, unlabelled=(*rows_without_label(table), *unlabelled))
        how = {"init": start, "minutes": self.minutes, "snapshots": snapshots}
        self._train(sources, recipe, named, dropped=table, **how)
        self.time_lapse_ = None if snapshots is None else snapshots.time_lapse
        return self

    def _train(self, sources: Sources, recipe: Recipe, named: Named, *, dropped: Table, **how: Any) -> None:
        """Train, and answer with the result. Warn of the rows of a table that are left out."""
        how |= {"device": choose_device(self.device), "observer": self._observer(), "keep_texts": self.keep_texts}
        trained = train_model(sources, recipe, family=self._answers, **how)
        warn_of_dropped(dropped)
        self._take(Predictor(named(trained), device=choose_device(self.device)))
        self._sources = sources

    def add(
        self,
        X: Iterable[Any],  # noqa: N803 (scikit-learn's)
        y: Iterable[Any],
        *,
        replay: float = 1.0,
        groups: Any = None,
    ) -> Self:
        """Train further on the old rows and on these: see docs/how-to/add.md.

        The rows of `fit` are kept in memory for this. `save` does not write them. For a loaded model, the table that it
        was trained on is read again. The recipe is that of the model; the parameters `epochs`, `learning_rate` and
        `settings` change it. Labels may be new. Of ordered ones, `set_params(order=…)` says first where they stand.

        Args:
            replay: the share of the old rows that the transformer learns again.
            groups: the group of each text or None, if the model was trained with groups.

        Raises:
            UsageError: rows cannot be added to such a model, or its old rows cannot be read; or see `fit`.
        """
        check_is_fitted(self)
        trained = self.predictor_.trained
        check_can_grow(trained.config, "this model")
        if groups is not None and trained.config.remembered.recipe.validation.group is None:
            raise UsageError("`groups=`: this model was trained without groups; leave it out")
        new, named, order = self._added(self._read(X), y, groups)
        # The seed decides which rows are held out, and the shape is that of the weights.
        own = self._overrides({"seed": None}).items()
        settings = {name: value for name, value in own if name.startswith("training.")}
        sources, recipe, init = add_in_memory(
            trained, self._sources, new, replay=replay, settings=settings, order=order
        )
        self._train(sources, recipe, named, dropped=new, init=init)
        return self

    @abstractmethod
    def _added(self, texts: list[str], y: Iterable[Any], groups: Any) -> tuple[Table, Named, tuple[str, ...] | None]:
        """Return more rows as a table, what names the answers, and the order of all labels if they have one."""

    def _overrides(self, training: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the recipe that the parameters replace."""
        settings = settings_by_name(self.settings)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        given = {"epochs": self.epochs, "learning_rate": self.learning_rate, "seed": seed, **training}
        if self.rules is not None:
            settings["model.rules"] = str(self.rules)
        if self.pretrain is not None:
            settings["pretraining.max_seconds"] = seconds_of(self.pretrain)
        return settings | {f"training.{key}": value for key, value in given.items() if value is not None}

    def _observer(self) -> Observer | None:
        return ProgressLine() if self.observer is None and self.verbose else self.observer

    def _take(self, predictor: Any) -> None:
        """Answer with this model from now on."""
        self.predictor_ = predictor
        self.history_ = predictor.trained.metrics.get("history", [])
        self._sources, self.time_lapse_ = None, None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_sources": None}  # a pickle must not hold the training texts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _read(self, given: Iterable[Any]) -> list[str]:
        """Return texts or rows as the model reads them. Raises `InputError`: see `as_read`."""
        check_is_fitted(self)
        config = self.predictor_.trained.config
        return as_read(given, config.inputs, config.remembered.data.text_column or "text")

    def _read_one(self, given: Any) -> Any:
        """Return a text, or a row as the model reads it."""
        check_is_fitted(self)
        return self._read([given])[0] if is_row(given) else given

    def _answer(self, texts: Iterable[Any], **asked: Any) -> Any:
        """Return the answers to texts or rows. Warn of those without words."""
        given = self._read(texts)
        answers = self.predictor_.answer(given, **asked)
        warn_of_empty(answers.empty)
        return answers

    def explain(self, text: Any, *, label: Any = None, method: str | None = None, nearest: bool = False) -> Explanation:
        """Explain why the model gives its answer: what each word adds to a label, or to the number in its unit.

        In a notebook the result shows itself as a page. `glassformer.explanation.explain.explain` can also search for a
        counterfactual, and show attention heads and neighbours of words (see docs/how-to/explain.md).

        Args:
            label: the label that is explained, by default the most probable one. A number has none.
            nearest: list the nearest training texts too. The model must keep its training texts (`keep_texts`).

        Raises:
            InputError: the text is empty or not a string, the row lacks a column, or there is no such label.
            UsageError: there is no such method, or the model does not keep its training texts.
        """
        given = self._read_one(text)
        return explain(self.predictor_, given, label=label, method=method, nearest=nearest)

    def distil(
        self,
        texts: Iterable[Any],
        *,
        into: str = "tiny",
        temperature: float = TEMPERATURE,
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """Train a small model to answer texts as this one does: see docs/how-to/distil.md.

        Args:
            texts: texts or rows without labels.
            into: a preset, or the name or file of a recipe.
            temperature: divides the logits of both models in the loss. A number has none.
            settings: settings of the recipe by dotted name.

        Raises:
            UsageError: a text is not a string, there is no such preset or recipe, or a setting does not fit.
        """
        check_is_fitted(self)
        recipe = student_recipe(into, settings_by_name(settings))
        teacher = Teacher(name="a model in memory", answering=self.predictor_)
        how: dict[str, Any] = {"device": choose_device(self.device), "observer": self._observer()}
        given = as_documents(texts if teacher.inputs is None else self._read(texts), "texts")
        student = distil(teacher, [given], recipe, temperature=temperature, **how)
        return self._of(student, self.device)

    def nearest(self, text: Any, *, count: int = 5) -> NearestTexts:
        """Return the training texts that are nearest to a text, if the model keeps them (`keep_texts`).

        Raises:
            UsageError: it does not, or makes no vector of a text.
        """
        check_is_fitted(self)
        return self.predictor_.search.nearest(self._read_one(text), count=count)

    def unlike_training(self, X: Iterable[Any]) -> BoolArray:  # noqa: N803 (scikit-learn's)
        """Return which texts are unlike the training data (texts,). `unseen_share` says how much.

        See docs/how-it-works/unlike.md.
        """
        return self._seen().is_unlike(self.unseen_share(X))

    def unseen_share(self, X: Iterable[Any]) -> FloatArray:  # noqa: N803
        """Return the share of the words and word pairs of each text that fewer than two training texts have (texts,).

        Raises:
            GlassformerError: the model keeps no words of its training texts (`training.keep_seen_words`).
        """
        return self._seen().unseen_shares(self._read(X))

    def _seen(self) -> Seen:
        check_is_fitted(self)
        seen: Seen | None = self.predictor_.trained.seen
        if seen is None:
            raise GlassformerError(NOT_KEPT)
        return seen

    def unknown_words(self, X: Iterable[Any]) -> Counter[str]:  # noqa: N803
        """Return the words that are not in the vocabulary, each with the number of texts that it occurs in."""
        texts = self._read(X)
        return Counter(word for text in texts for word in self.predictor_.trained.tokenizer.unknown_words(text))

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
        place = as_path(folder)
        prepare_out(place, resume=False, overwrite=overwrite)
        with only_writer(place):
            save_model(place, trained, card=model_card(trained))
            shutil.rmtree(place / CHECKPOINT_FOLDER, ignore_errors=True)  # of a run that `overwrite` replaced
        return place

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Read a trained model from a model folder, or one that comes with the package: `sentiment-en`.

        Its parameters are the usual ones, but for those that say what it reads: `text`, `columns`, and of a classifier
        `order` and `fold_labels`.

        Raises:
            glassformer.errors.UsageError: the folder does not exist, or holds a model of another kind.
            glassformer.errors.GlassformerError: the folder is damaged or incomplete. `UsageError` is a subclass of it.
        """
        place = folder_of(folder)
        found = format_of(place)
        if found in _LOADED_BY and found != FolderConfig.formats[cls._answers]:
            answers, other = _LOADED_BY[found]
            raise UsageError(f"{place} holds a model that answers with {answers}; read it with `{other}.load`")
        return cls._of(load_model(place, CLASSIFIER), device)

    @classmethod
    def _of(cls, trained: Any, device: str) -> Self:
        """Return an estimator that answers with this model."""
        estimator = cls(device=device, **cls._parameters_of(trained.config))
        estimator._take(Predictor(trained, device=choose_device(device)))
        return estimator

    @classmethod
    def _parameters_of(cls, config: Any) -> dict[str, Any]:
        """Return the parameters that say what a model reads."""
        inputs, rows = config.inputs, config.remembered.data
        if inputs is None:
            return {} if rows.read_as is None and rows.text_column == "text" else {"text": rows.text_column}
        return {"text": list(inputs.texts), "columns": [column.name for column in inputs.columns] or None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def warn_of_dropped(table: Table) -> None:
    """Warn of the rows that are not learned from."""
    for dropped in table.dropped:
        warn_caller(
            f"{counted(len(dropped.rows), 'row was', 'rows were')} left out of training: {dropped.reason} "
            f"(first: texts[{dropped.rows[0] - 1}])"
        )


def warn_of_empty(empty: BoolArray) -> None:
    """Warn of the texts that have no word."""
    if empty.any():
        count, texts_in_all = int(empty.sum()), counted(len(empty), "text")
        warn_caller(
            f"{count:,} of {texts_in_all} {'has' if count == 1 else 'have'} no word (first: texts[{empty.argmax()}]); "
            "answers to such texts mean little"
        )
