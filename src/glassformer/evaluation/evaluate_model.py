"""Measure a model folder on a labelled table, and compare it with baselines trained on the same training rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import JsonValue

from glassformer.data.known import KNOWN
from glassformer.data.labels import conflicting_rows
from glassformer.data.sources import SourceConfig, read_like_training, read_sources
from glassformer.data.splits import fingerprint
from glassformer.data.store import TokenStore
from glassformer.data.table import Table, counted, text_keys
from glassformer.data.tokenizers import UNKNOWN_ID
from glassformer.errors import UsageError
from glassformer.evaluation.baselines import BaselineOutcome, MajorityBaseline, TfidfBaseline, run_baseline
from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.result import DataSummary, DroppedRows, Evaluation
from glassformer.evaluation.verdict import share
from glassformer.models.build import parameter_count
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import FILES, TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.scoring import logits_of, score

Say = Callable[[str], None]
_MANY = 0.05  # share of the measured texts that were in training


def evaluate_model(
    predictor: Predictor,
    folder: Path,
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    multilabel: str | None = None,
    fold_labels: bool = False,
    train: str | None = None,
    data_dir: Path | None = None,
    command: str = "",
    say: Say = lambda _: None,
    on_progress: Callable[[float], None] | None = None,
) -> Evaluation:
    """Measure a model on a table. Also train baselines on the model's training rows, and measure them on this table.

    Args:
        folder: the folder that the model was loaded from; its size is measured.
        data: a file, or the name of a known data set (its test split is used).
        text, label, multilabel: how to read the table; None means as the training table was read.
        fold_labels: read other spellings of the model's labels as these labels. If training did so, it is always done.
        train: the training table, if it is no longer at the place that the model folder names.
        say: called with messages about the progress.
        on_progress: called with the share of texts that the model has answered.

    Raises:
        UsageError: the table cannot be read or has a label that the model does not know, or `train` does not hold the
            rows that the model was trained on.
    """
    trained = predictor.trained
    remembered = trained.config.remembered
    read_as = remembered.read_as
    table = read_like_training(
        data,
        read_as,
        data_dir,
        text=text,
        label=label,
        multilabel=multilabel,
        labels=trained.config.label_set.names,
        fold=fold_labels or remembered.fold_labels,
    )
    if train is None:
        rows: Table | str = _remembered_rows(trained, read_as, data_dir)
    else:
        source = read_as or SourceConfig(
            train=train, text=text, label=label, multilabel=multilabel, fold_labels=remembered.fold_labels
        )
        rows = _named_rows(trained, source.model_copy(update={"train": train}), data_dir)
    return measure_model(
        predictor,
        folder,
        table,
        rows,
        split="test" if data in KNOWN else "the rows with text and label" if table.dropped else "the whole table",
        command=command,
        say=say,
        on_progress=on_progress,
    )


def measure_model(
    predictor: Predictor,
    folder: Path,
    table: Table,
    training_rows: Table | str,
    *,
    split: str,
    command: str = "",
    say: Say = lambda _: None,
    on_progress: Callable[[float], None] | None = None,
) -> Evaluation:
    """Measure a model and the baselines on a table in memory.

    Args:
        training_rows: the rows that the model was trained on, or a sentence that says why they are missing.
        split: the name of the table in the result.

    Raises:
        UsageError: the table holds a label that the model does not know.
    """
    trained = predictor.trained
    config = trained.config
    labels = trained.config.label_set.encode(table)
    texts = table.frame["text"].to_list()
    notes = list(table.notes)
    if conflicts := conflicting_rows(table):
        occur = counted(len(conflicts), "text occurs", "texts occur")
        notes.append(f"{occur} with different labels, so no model can get every row right")
    if not config.multilabel and len(set(labels.tolist())) == 1:
        only = trained.config.label_set.names[int(labels[0])]
        notes.append(f"{only!r} is the only class in this table: the accuracy is the recall of this class")
    say(f"answering {counted(len(texts), 'text')} of {table.source}")
    began = time.perf_counter()
    store = TokenStore.in_memory(trained.tokenizer.encode(texts))
    logits = score(
        logits_of(trained.model),
        store,
        max_seq_len=config.model.max_seq_len,
        n_classes=trained.config.n_classes,
        on_progress=on_progress,
    )
    predict_seconds = time.perf_counter() - began
    notes += _reading_notes(store, config)
    baselines: list[BaselineOutcome] = []
    if isinstance(training_rows, str):
        notes.append(training_rows)
    else:
        notes += _overlap(training_rows, table)
        baselines = _run_baselines(training_rows, trained, texts, say)
    return evaluate(
        logits=logits,
        labels=labels,
        texts=texts,
        rows=table.frame["row"].to_list(),
        class_names=trained.config.label_set.names,
        multilabel=config.multilabel,
        temperature=config.temperature,
        data=DataSummary(
            source=table.source,
            split=split,
            rows=len(texts),
            sha256=fingerprint(table),
            trained_on=config.remembered.data.source,
            training_rows=config.remembered.data.rows,
        ),
        model=_model_summary(trained, folder),
        baselines=baselines,
        fit_seconds=config.training_seconds,
        predict_seconds=predict_seconds,
        size_bytes=sum((folder / name).stat().st_size for name in FILES),
        dropped=[
            DroppedRows(reason=dropped.reason, count=len(dropped.rows), first_rows=tuple(dropped.rows[:20]))
            for dropped in table.dropped
        ],
        notes=notes,
        seed=config.remembered.recipe.training.seed,
        command=command,
    )


def _reading_notes(store: TokenStore, config: FolderConfig) -> list[str]:
    unknown = float(np.mean(store.tokens == UNKNOWN_ID)) if len(store.tokens) else 0.0
    longer = int((store.lengths > config.model.max_seq_len - 1).sum())
    notes = [f"{unknown:.1%} of the tokens are unknown to the vocabulary"]
    if longer:
        notes.append(
            f"{longer:,} of {len(store):,} texts {'is' if longer == 1 else 'are'} longer than the window of "
            f"{config.model.max_seq_len} tokens; they were read in overlapping windows, and the logits averaged"
        )
    return notes


def _named_rows(trained: TrainedModel, source: SourceConfig, data_dir: Path | None) -> Table:
    """Read the training rows from the table that the user gives."""
    rows = _split_again(trained, source, data_dir)
    if rows is None:
        raise UsageError(
            f"`train={source.train!r}`: this table does not hold the rows that the model was trained on; "
            "leave out `train=` to measure without a baseline"
        )
    return rows


def _remembered_rows(trained: TrainedModel, source: SourceConfig | None, data_dir: Path | None) -> Table | str:
    """Read the training rows from the table that the model folder names, or say why this is impossible."""
    without = "so no baseline could be trained"
    if source is None:
        return f"The model was trained from Python on rows in memory, {without}; name a table of them with `train=`."
    try:
        rows = _split_again(trained, source, data_dir)
    except UsageError as error:
        return f"The training rows cannot be read ({str(error).rstrip('.')}), {without}; name them with `train=`."
    if rows is None:
        return (
            f"{source.train} has changed since the model was trained on it, {without}; name the old one with `train=`."
        )
    return rows


def _split_again(trained: TrainedModel, source: SourceConfig, data_dir: Path | None) -> Table | None:
    """Return the rows that the model was trained on, or None if the table holds other rows now."""
    remembered = trained.config.remembered
    validation, seed = remembered.recipe.validation, remembered.recipe.training.seed
    rows = read_sources(source, validation, data_dir).split(validation, seed=seed).train
    return rows if fingerprint(rows) == remembered.data.fingerprint else None


def _overlap(train: Table, table: Table) -> list[str]:
    both = int(text_keys(table.frame["text"]).is_in(text_keys(train.frame["text"]).unique().implode()).sum())
    if not both:
        return []
    measured = table.frame.height
    what = f"{both:,} of {counted(measured, 'measured text')} {'was' if both == 1 else 'were'} also in training"
    effect = f"this raises the accuracy by at most {share(both / measured)}"
    return [f"{what}; {effect if both / measured < _MANY else 'all figures are too good'}"]


def _run_baselines(train: Table, trained: TrainedModel, texts: list[str], say: Say) -> list[BaselineOutcome]:
    multilabel, n_classes = trained.config.multilabel, trained.config.n_classes
    train_texts, train_labels = train.frame["text"].to_list(), trained.config.label_set.encode(train)
    say(f"training the baselines on the same {len(train_texts):,} rows")
    return [
        run_baseline(baseline, train_texts=train_texts, train_labels=train_labels, texts=texts)
        for baseline in (MajorityBaseline(n_classes), TfidfBaseline(n_classes, multilabel=multilabel))
    ]


def _model_summary(trained: TrainedModel, folder: Path) -> dict[str, JsonValue]:
    config = trained.config
    shape: dict[str, Any] = config.model.model_dump(mode="json")
    return {
        "name": folder.resolve().name,
        "parameters": parameter_count(config.model, config.vocab_size, trained.config.n_classes),
        "vocabulary": config.vocab_size,
        "tokenizer": config.tokenizer.kind,
        "shape": shape,
        "training_seed": config.remembered.recipe.training.seed,
        "best_epoch": trained.metrics.get("best_epoch"),
        "created": config.created,
        "versions": dict(config.versions),
    }
