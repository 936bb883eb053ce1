"""Prepare everything that a run needs before its first step. `train` and the checks before a run use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.labels import LabelSet, label_counts
from glassformer.data.sources import Sources
from glassformer.data.splits import REPLAYED, Splits
from glassformer.data.store import TokenStore
from glassformer.data.table import Table
from glassformer.data.tokenizers import TextTokenizer
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, brief_value
from glassformer.evaluation.drift import DriftTable, LabelFigures
from glassformer.evaluation.drift_table import label_figures
from glassformer.models.build import build_model, parameter_count
from glassformer.models.memory import check_fits
from glassformer.models.model_config import DesignConfig, ModelConfig, SeveralTextsConfig
from glassformer.readers.rules.parsing import read_rules
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying, Saying
from glassformer.targets.costs import CostRow, settled
from glassformer.targets.probabilities import probabilities
from glassformer.tracing.snapshot import Scored, cross_entropy
from glassformer.training.classification import Classification, TrainingData
from glassformer.training.initial_weights import InitialWeights, start_from
from glassformer.training.objectives import check_one_label, class_weights
from glassformer.training.order import fewest_steps, passes_per_epoch, plan_epoch
from glassformer.training.own_text import OwnTexts, can_pretrain, own_texts
from glassformer.training.processes import ALONE, Processes
from glassformer.training.recipe import Recipe
from glassformer.training.training_config import TrainingConfig
from glassformer.training.unfinished import encode, learn_tokenizer

_MOST_MINUTES = 1_000_000  # two years


def prepare(
    sources: Sources,
    recipe: Recipe,
    *,
    init: InitialWeights | None = None,
    device: str = "cpu",
    work: Path | None = None,
    minutes: float | None = None,
    processes: Processes = ALONE,
    labels: LabelSet | None = None,
) -> Prepared:
    """Split the rows. Everything else is made when it is first used.

    Args:
        init: the weights to start from, with which `recipe` was loaded. Their tokenizer is used as it is.
        work: the folder of an unfinished run, which keeps the vocabulary and the encoded texts. None: memory does.
        minutes: the time that the run may take, if it decides itself what to do with it (see `time_plan.py`).
        labels: None: those of the table.

    Raises:
        UsageError: the rows cannot be learned from, all texts of an unlabelled source are left out, or the minutes are
            no time or contradict the recipe.
    """
    if minutes is not None:
        check_minutes(minutes, recipe)
    recipe, init = (
        recipe_for_inputs(recipe, sources, init),
        None if init is None else init.reading(sources.train.inputs),
    )
    given, labels = labels is not None, labels or LabelSet.from_table(sources.labelled)
    check_head(recipe, labels)
    if not given:  # otherwise what rules may say follows from the rows
        rules_of(recipe.model, LabelSaying(labels=labels.names, several=labels.multilabel))
    settled(recipe.training.costs, labels.names, multilabel=labels.multilabel)
    splits = sources.split(recipe.validation, seed=recipe.training.seed)
    perhaps = minutes is not None and can_pretrain(recipe, init)
    own = own_texts(sources, splits, recipe, init, perhaps=perhaps)
    return Prepared(
        recipe=recipe,
        labels=labels,
        splits=splits,
        own_texts=own,
        init=init,
        device=device,
        work=work,
        minutes=minutes,
        processes=processes,
    )


_LABELS_SHOWN = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """A run before its first step: the arguments of `prepare`, and everything that is derived from them.

    Attributes:
        own_texts: the texts that are read without their labels, if something reads them. With `minutes`, they may stay
            unread.
        drift: how the later rows of a split by time differ. None without one.
    """

    family: ClassVar[str] = "labels"
    """The folder of `targets/` with the kind of answer that is learned."""

    recipe: Recipe
    labels: LabelSet
    splits: Splits
    own_texts: OwnTexts | None
    init: InitialWeights | None
    device: str
    work: Path | None
    minutes: float | None = None
    processes: Processes = ALONE
    drift: DriftTable | None = None

    @property
    def in_words(self) -> str:
        """What is learned, and how often."""
        counts = label_counts(self.splits.train).rows()
        shown = listed([f"{label!r} {count:,}" for label, count, _ in counts], _LABELS_SHOWN)
        return f"{counted(len(counts), 'label')}: {shown}"

    def going_on(self, **changes: Any) -> Prepared:
        """Return this run with other steps or initial weights. The vocabulary and the encoded rows stay the same."""
        other = replace(self, **changes)
        other.__dict__.update({name: self.__dict__[name] for name in ("tokenizer", "data") if name in self.__dict__})
        return other

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer, learned from the texts that are trained on alone, or that of the weights to start from."""
        if self.init is not None:
            return self.init.tokenizer
        own = self.own_texts
        texts = own.texts if own is not None and own.for_pretraining else self.splits.train.frame["text"]
        return learn_tokenizer(texts, self.recipe.tokenizer, self.work, self.splits.train.inputs)

    @cached_property
    def training(self) -> TrainingConfig:
        """How the transformer is trained: as in the recipe, for fewer epochs if these already have enough steps."""
        config = self.recipe.training
        if config.enough_steps is None:
            return config
        data, window = self.data, self.recipe.model.max_seq_len
        if fewest_steps(len(data.train_labels), config) >= config.enough_steps:
            return config.model_copy(update={"epochs": min(config.epochs, 1)})
        _, steps = plan_epoch(data.train.lengths, config, max_seq_len=window, epoch=0, classes=data.train_labels)
        return config.model_copy(update={"epochs": min(config.epochs, -(-config.enough_steps // len(steps)))})

    @cached_property
    def train_labels(self) -> Array:
        """The labels of the training rows as numbers."""
        return self.encoded(self.splits.train)

    def encoded(self, table: Table) -> Array:
        """Return the labels of a table as numbers."""
        return self.labels.encode(table)

    def label_figures(self, table: Table) -> LabelFigures:
        """Return the labels of a table as figures that are compared with those of other rows."""
        return label_figures(self.labels.names, self.encoded(table))

    @cached_property
    def validation_labels(self) -> Array | None:
        """The labels of the validation rows as numbers. None if nothing is held out."""
        return None if self.splits.validation is None else self.encoded(self.splits.validation)

    @property
    def held_out_labels(self) -> Array | None:
        """The labels that the answers to the validation rows are calibrated by."""
        return self.validation_labels

    @property
    def known_labels(self) -> Array | None:
        """The right labels of the validation rows as numbers. None if nothing is held out, or some are not known."""
        return self.validation_labels

    @property
    def label_values(self) -> tuple[Any, ...]:
        """The labels as the model folder keeps them."""
        return self.labels.names

    @property
    def saying(self) -> Saying:
        """What rules may say."""
        return LabelSaying(labels=self.labels.names, several=self.labels.multilabel)

    @property
    def costs(self) -> tuple[CostRow, ...]:
        """What wrong answers cost."""
        return settled(self.recipe.training.costs, self.labels.names, multilabel=self.labels.multilabel)

    @property
    def record(self) -> dict[str, Any]:
        """What the model folder keeps about the origin of the labels, besides the tables. Empty: they were in them."""
        return {}

    def task(self, beside: Sequence[FloatArray] = ()) -> Classification:
        """Return what the transformer learns.

        Args:
            beside: the scores (rows, width) of each reader beside the transformer for the validation rows.
        """
        return Classification(self.data, self.training, max_seq_len=self.recipe.model.max_seq_len, beside=beside)

    @property
    def scored(self) -> Scored:
        """What the scores of the transformer mean, for its snapshots. It holds no row."""
        return Scored(loss=cross_entropy, answers=partial(probabilities, multilabel=self.labels.multilabel))

    @cached_property
    def class_weights(self) -> Tensor:
        """The class weights, (n_classes,). Raises `UsageError` if the recipe gives weights for other labels."""
        names, multilabel = self.labels.names, self.labels.multilabel
        return class_weights(self.recipe.training, names, self.train_labels, multilabel=multilabel)

    @cached_property
    def learned(self) -> Table:
        """The rows that the transformer learns: all training rows, or some if rows were added with a replay share."""
        train = self.splits.train
        return replace(train, frame=train.frame.filter(REPLAYED)) if REPLAYED in train.frame.columns else train

    @cached_property
    def data(self) -> TrainingData:
        """All rows that the transformer learns or answers, encoded."""
        validation, validation_labels, weights = self.splits.validation, self.validation_labels, self.class_weights
        learned = self.learned
        return TrainingData(
            train=encode(learned.frame["text"], self.tokenizer, self.work, "train"),
            train_labels=self.train_labels if learned is self.splits.train else self.encoded(learned),
            validation=None
            if validation is None
            else encode(validation.frame["text"], self.tokenizer, self.work, "validation"),
            validation_labels=validation_labels,
            class_weights=weights,
            multilabel=self.labels.multilabel,
            train_weights=_row_weights(learned),
            validation_weights=None if validation is None else _row_weights(validation),
            separator_id=self.tokenizer.separator_id,
        )

    def sample(self, rows: IntArray) -> TrainingData:
        """Return only these training rows, encoded in memory. The class weights are those of all rows."""
        return TrainingData(
            train=TokenStore.in_memory(self.tokenizer.encode(self.splits.train.frame["text"][rows].to_list())),
            train_labels=self.train_labels[rows],
            validation=None,
            validation_labels=None,
            class_weights=self.class_weights,
            multilabel=self.labels.multilabel,
            separator_id=self.tokenizer.separator_id,
        )

    @property
    def model(self) -> nn.Module:
        """The model before its first step. It depends on the recipe's seed and the weights to start from alone.

        Building it seeds torch's random numbers. Training continues with them.

        Raises:
            UsageError: the design does not fit the vocabulary, the kind of labels or the machine's memory.
            GlassformerError: the weights to start from do not fit the model.
        """
        return self._built[0]

    @property
    def origin(self) -> str:
        """A phrase that says what was copied from the weights to start from. Empty if there are none."""
        return self._built[1]

    @cached_property
    def _built(self) -> tuple[nn.Module, str]:
        config, labels = self.recipe.model, self.labels
        if labels.multilabel and config.one_label_only:
            raise UsageError(f"model.design = {config.design!r} answers with one label per text, not with several")
        training, vocab_size, n_classes = self.recipe.training, self.tokenizer.vocab_size, len(labels.names)
        try:
            check_fits(
                lambda config, vocab_size: build_model(config, vocab_size, n_classes),
                config,
                vocab_size,
                optimizer=training.optimizer,
                device=self.device,
            )
            torch.manual_seed(training.seed)
            model = build_model(config, vocab_size, n_classes).to(self.device)
        except ValueError as error:
            raise UsageError(f"recipe: model: {error}") from error
        return model, "" if self.init is None else start_from(model, config, self.init, labels)

    @property
    def parameters(self) -> int:
        """The number of parameters, counted without building the model."""
        return parameter_count(self.recipe.model, self.tokenizer.vocab_size, len(self.labels.names))

    @property
    def passes(self) -> int:
        """How often an epoch reads each row: more than once if there are few rows."""
        data, window = self.data, self.recipe.model.max_seq_len
        return passes_per_epoch(data.train.lengths, self.recipe.training, max_seq_len=window, classes=data.train_labels)


def check_head(recipe: Recipe, labels: LabelSet) -> None:
    """Raise `UsageError` if the head or a setting is made for other labels than these."""
    if isinstance(recipe.model, ModelConfig) and recipe.model.head == "ordered" and not labels.ordered:
        raise UsageError("model.head = 'ordered' answers with ordered classes; name them: `order='bad,fair,good'`")
    if labels.multilabel:
        check_one_label(recipe.training, given="several")


def rules_of(model: DesignConfig, saying: Saying) -> RulesReader | None:
    """Return the rules of a recipe, before rows weigh them. None if it has none.

    Raises:
        UsageError: their file cannot be read, or has a line that is no rule, or one that does not go with the rows.
    """
    if not isinstance(model, ModelConfig) or model.rules == "none":
        return None
    file = Path(model.rules)
    reader = RulesReader.of(read_rules(file), saying, str(file))
    for number, rule in enumerate(reader.rules):
        saying.check(rule, f"{file}, {reader.named(number)}")
    return reader


def check_duration(minutes: Any, *, such_as: int) -> None:
    """Raise `UsageError`, with a number that would do, if this is no number of minutes that a run may take."""
    number = isinstance(minutes, Real) and not isinstance(minutes, bool)
    if not (number and 0 < minutes <= _MOST_MINUTES):
        raise UsageError(
            f"`minutes={brief_value(minutes)}`: give a number of minutes above 0 and at most {_MOST_MINUTES:,}, such "
            f"as {such_as}"
        )


def check_minutes(minutes: Any, recipe: Recipe) -> None:
    """Raise `UsageError` if this is not a time, or if the recipe says itself how long to train."""
    check_duration(minutes, such_as=10)
    training = recipe.training
    for name, value in (("max_steps", training.max_steps), ("max_seconds", training.max_seconds)):
        if value is not None:
            raise UsageError(
                f"`minutes={minutes:g}` and `training.{name}={value:g}` both say how long to train; leave one out"
            )
    if training.without_transformer:
        raise UsageError(
            f"`minutes={minutes:g}` decides how long a transformer is trained, and `training.epochs=0` trains none; "
            "leave one out"
        )
    if recipe.pretraining is not None:
        raise UsageError(
            f"`minutes={minutes:g}` decides how long to pre-train; leave it out, or leave out `pretrain=` and "
            "[pretraining]"
        )


def recipe_for_inputs(recipe: Recipe, sources: Sources, init: InitialWeights | None) -> Recipe:
    """Return the recipe for the rows of these sources, which may have several inputs.

    Raises:
        UsageError: a model of this recipe, or one that starts from these weights, does not read such rows.
    """
    inputs, known = sources.train.inputs, None if init is None else init.inputs
    if init is not None and known is not None and known != inputs:
        raise UsageError(
            f"`init={init.name!r}` reads {known.in_words}, and these rows are read in another way; leave it out"
        )
    if inputs is None or len(inputs.texts) == 1:
        return recipe
    if not isinstance(recipe.model, ModelConfig):
        raise UsageError(f"model.design = {recipe.model.design!r} reads one text, not {len(inputs.texts)}")
    try:
        shape: dict[str, Any] = recipe.model.model_dump(exclude={"design"}) | {"texts": len(inputs.texts)}
        if init is not None and init.new_words and known is not None:  # words that were learned stand after it
            shape["separator"] = init.tokenizer.separator_id
        return recipe.model_copy(update={"model": SeveralTextsConfig(**shape)})
    except ValidationError as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UsageError(f"recipe: model: {why}") from error


def _row_weights(table: Table) -> FloatArray | None:
    return table.frame["weight"].to_numpy().astype(np.float32) if "weight" in table.frame.columns else None
