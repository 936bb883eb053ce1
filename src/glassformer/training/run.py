"""One run: a labelled table in, a model folder out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import nn

from glassformer.data.labels import LabelSet
from glassformer.data.sources import SourceConfig, Sources
from glassformer.data.splits import Splits, fingerprint, make_splits
from glassformer.data.store import TokenStore
from glassformer.data.table import Dropped
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_model, parameter_count
from glassformer.prediction.calibration import fit_temperature
from glassformer.prediction.model_folder import CHECKPOINT_FOLDER, STATE_FILE, FolderConfig, TrainedModel, save_model
from glassformer.prediction.scoring import score
from glassformer.training.card import model_card
from glassformer.training.classification import Classification, TrainingData
from glassformer.training.initial_weights import InitialWeights, start_from
from glassformer.training.loop import Observer, Silent, Trainer
from glassformer.training.memory import keep_large_buffers
from glassformer.training.objectives import class_weights
from glassformer.training.order import passes_per_epoch
from glassformer.training.recipe import Recipe
from glassformer.training.unfinished import (
    abandon,
    encode,
    learn_tokenizer,
    open_work,
    prepare_out,
    run_to_end,
    versions,
)

_MANY_UNKNOWN = 0.25  # of the training tokens


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What is known of a run before its first step.

    Attributes:
        passes: how often an epoch reads each row: more than once where the rows are few.
    """

    splits: Splits
    parameters: int
    passes: int


def train_classifier(
    sources: Sources,
    recipe: Recipe,
    *,
    source: SourceConfig | None = None,
    out: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    observer: Observer | None = None,
    on_prepared: Callable[[Prepared], None] | None = None,
    init: InitialWeights | None = None,
) -> TrainedModel:
    """Split, learn a vocabulary, encode, train, calibrate; with `out`, leave a model folder there.

    Args:
        source: what `sources` was read from, kept in the model folder so that its rows can be found again.
        resume: continue the unfinished run in `out`; data and recipe must be what they were.
        device: a torch device.
        on_prepared: hears of the rows and the size of the model before training begins.
        init: weights to start from, those that `recipe` was loaded with; their tokenizer is used as it is.

    Raises:
        UsageError: the data cannot be learned from, or `out` is taken.
        InterruptedTraining: on Ctrl-C; `out` can be resumed.
        NotANumberError: training diverged; the best weights so far, if any, are in `out`.
    """
    keep_large_buffers()
    observer = observer or Silent()
    labels = LabelSet.from_table(sources.train)
    splits = make_splits(
        sources.train,
        recipe.validation,
        seed=recipe.training.seed,
        validation=sources.validation,
        test=sources.test,
    )
    work = None
    if out is not None:
        prepare_out(out, resume=resume, overwrite=overwrite)
        work = out / CHECKPOINT_FOLDER
        open_work(work, _identity(splits, recipe, labels, init), resume=resume)
    try:
        tokenizer = (
            learn_tokenizer(splits.train.frame["text"], recipe.tokenizer, work) if init is None else init.tokenizer
        )
        data, trainer = _trainer(splits, labels, tokenizer, recipe, work, device, observer)
        begun = resume and trainer.checkpoint is not None and trainer.checkpoint.is_file()
        origin = "" if init is None or begun else start_from(trainer.model, recipe.model, init, labels)
    except GlassformerError:
        if work is not None and not resume:
            abandon(work)
        raise
    if on_prepared:
        parameters = parameter_count(recipe.model, tokenizer.vocab_size, len(labels.names))
        passes = passes_per_epoch(data.train.lengths, recipe.training, max_seq_len=recipe.model.max_seq_len)
        on_prepared(Prepared(splits=splits, parameters=parameters, passes=passes))
    if origin:
        observer.on_message(origin)
    _warn_of_unknown(data.train, observer, learned=init is None)

    def save() -> TrainedModel:
        trained = _finished(trainer, data, tokenizer, labels, splits, recipe, source, init)
        if out is not None:
            save_model(out, trained, card=model_card(trained))
        return trained

    return run_to_end(trainer, out, resume=resume, save=save)


def _warn_of_unknown(train: TokenStore, observer: Observer, *, learned: bool) -> None:
    unknown = float((train.tokens == UNKNOWN_ID).mean())
    if unknown <= _MANY_UNKNOWN:
        return
    if learned:
        observer.on_message(
            f"warning: {unknown:.0%} of the training tokens occur too seldom to be in the vocabulary and are read as "
            "unknown; try --set tokenizer.min_frequency=1, or --set tokenizer.kind=character for names and codes"
        )
    else:
        observer.on_message(
            f"warning: {unknown:.0%} of the training tokens are not in the vocabulary that the weights came with and "
            "are read as unknown; other weights, or none, may suit these texts better"
        )


def new_model(recipe: Recipe, labels: LabelSet, vocab_size: int, device: str) -> nn.Module:
    """The model that a run begins with: a function of the recipe's seed.

    Raises:
        UsageError: the design does not fit the vocabulary or the kind of labels.
    """
    if labels.multilabel and recipe.model.one_label_only:
        raise UsageError(f"model.design = {recipe.model.design!r} answers with one label per text, not with several")
    torch.manual_seed(recipe.training.seed)
    try:
        return build_model(recipe.model, vocab_size, len(labels.names)).to(device)
    except ValueError as error:
        raise UsageError(f"recipe: model: {error}") from error


def _trainer(
    splits: Splits,
    labels: LabelSet,
    tokenizer: TextTokenizer,
    recipe: Recipe,
    work: Path | None,
    device: str,
    observer: Observer,
) -> tuple[TrainingData, Trainer[nn.Module]]:
    """Encoded data, and a new model ready to train on it."""
    model = new_model(recipe, labels, tokenizer.vocab_size, device)
    train, validation = splits.train, splits.validation
    train_labels = labels.encode(train)
    data = TrainingData(
        train_labels=train_labels,
        validation_labels=None if validation is None else labels.encode(validation),
        class_weights=class_weights(recipe.training, labels.names, train_labels, multilabel=labels.multilabel),
        multilabel=labels.multilabel,
        train=encode(train.frame["text"], tokenizer, work, "train"),
        validation=None if validation is None else encode(validation.frame["text"], tokenizer, work, "validation"),
    )
    return data, Trainer(
        model,
        Classification(data, recipe.training, max_seq_len=recipe.model.max_seq_len),
        recipe.training,
        checkpoint=None if work is None else work / STATE_FILE,
        observer=observer,
    )


def _identity(splits: Splits, recipe: Recipe, labels: LabelSet, init: InitialWeights | None) -> dict[str, Any]:
    """What must not change between a run and its continuation."""
    return {
        "train": fingerprint(splits.train),
        "validation": None if splits.validation is None else fingerprint(splits.validation),
        "labels": list(labels.names),
        "recipe": recipe.model_dump(mode="json"),
        "init": None if init is None else init.record,
    }


def _finished(
    trainer: Trainer[nn.Module],
    data: TrainingData,
    tokenizer: TextTokenizer,
    labels: LabelSet,
    splits: Splits,
    recipe: Recipe,
    source: SourceConfig | None,
    init: InitialWeights | None,
) -> TrainedModel:
    """Calibrate on validation and put together what the model folder will hold."""
    state = trainer.state
    temperature = 1.0
    if data.validation is not None and data.validation_labels is not None:
        logits = score(
            trainer.model, data.validation, max_seq_len=recipe.model.max_seq_len, n_classes=len(labels.names)
        )
        temperature = fit_temperature(logits, data.validation_labels, multilabel=labels.multilabel)
    config = FolderConfig(
        model=recipe.model,
        vocab_size=tokenizer.vocab_size,
        tokenizer=recipe.tokenizer,
        labels=labels.names,
        multilabel=labels.multilabel,
        temperature=temperature,
        data=_data_record(splits, source),
        init=None if init is None else init.record,
        new_words=() if init is None else init.new_words,
        recipe=recipe.model_dump(mode="json"),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        training_seconds=round(state.seconds, 2),
    )
    return TrainedModel(config=config, model=trainer.model.cpu().eval(), tokenizer=tokenizer, metrics=state.metrics())


def _data_record(splits: Splits, source: SourceConfig | None) -> dict[str, Any]:
    train, validation = splits.train, splits.validation
    tables = [train] if validation is None else [train, validation]
    return {
        "source": train.source,
        "read_as": None if source is None else source.model_dump(),
        "text_column": train.text_column,
        "label_column": train.label_column,
        "rows": train.frame.height,
        "validation_rows": 0 if validation is None else validation.frame.height,
        "fingerprint": fingerprint(train),
        "dropped": [_dropped_record(table.source, one) for table in tables for one in table.dropped],
        "notes": list(splits.notes),
    }


def _dropped_record(source: str, dropped: Dropped) -> dict[str, Any]:
    return {"source": source, "reason": dropped.reason, "count": len(dropped.rows), "rows": dropped.rows[:20]}


def as_labels(trained: TrainedModel, labels: tuple[Any, ...]) -> TrainedModel:
    """The same model answering with other label values, in the same order (the Python API keeps the caller's types)."""
    return dataclasses.replace(trained, config=trained.config.model_copy(update={"labels": labels}))
