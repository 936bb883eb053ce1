"""The two readers of a classifier: fit the counting reader, and weigh it and the transformer by held-out rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError
from glassformer.evaluation.metrics import correct_rows
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.answering_config import ReaderConfig, Readers
from glassformer.prediction.calibration import fit_temperature
from glassformer.readers.counting.fitting import FittedCounting, fit_counting
from glassformer.readers.counting.folds import Fold, folds_of, repeats_few
from glassformer.readers.counting.joining import join
from glassformer.readers.counting.reader import CountingReader
from glassformer.targets.probabilities import probabilities
from glassformer.training.held_out import keep_held_out, kept_held_out
from glassformer.training.loop import Observer
from glassformer.training.preparation import Prepared

_FOLDER = "counting"
GAIN = 3.32
"""The nats by which the transformer must raise the log likelihood of the held-out rows: 99% of χ² with one degree of
freedom, halved (the likelihood ratio test). Not 95%, because the same rows chose the best of several epochs. With
several labels per text, the labels count as independent."""
_LEAST_WEIGHT = 0.001  # of a counting reader that is worse than chance: the probabilities are then almost equal


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedCounting:
    """The counting reader of a run, with its logits for the held-out rows, their labels and their weights.

    If there are validation rows, these are held out. Otherwise every row is held out once, by one of the folds.
    """

    fitted: FittedCounting
    folds: Sequence[Fold]
    labels: Array
    row_weights: FloatArray

    @property
    def held_out(self) -> FloatArray:
        return self.fitted.held_out


def learn_counting(prepared: Prepared, observer: Observer, *, fewest: int | None = None) -> LearnedCounting | None:
    """Fit the recipe's counting reader to all rows, or read it if this run has fitted it before.

    Args:
        fewest: see `fit_counting`.
    """
    model = prepared.recipe.model
    if not isinstance(model, ModelConfig) or model.counting == "none":
        return None
    names, tables = prepared.labels, _tables(prepared)
    labels = np.concatenate([names.encode(table) for table in tables])
    folds, groups = folds_for(prepared, labels, observer)
    class_weights = prepared.class_weights.numpy()
    weights = np.concatenate([_weights_of(table) for table in tables])
    row_weights = weights if names.multilabel else weights * class_weights[labels]
    row_weights = row_weights / row_weights.mean()  # their scale would change how strongly counting is regularised
    fit = partial(
        fit_counting,
        model.counting,
        labels=labels,
        n_classes=len(names.names),
        folds=folds,
        groups=groups,
        row_weights=row_weights,
        positive_weights=class_weights if names.multilabel else None,
        fewest=fewest,
        seed=prepared.recipe.training.seed,
    )
    fitted = fit_or_read(prepared, len(labels), observer, fit)
    held_out = np.concatenate([fold.held_out for fold in folds])
    return LearnedCounting(fitted=fitted, folds=folds, labels=labels[held_out], row_weights=row_weights[held_out])


def folds_for(prepared: Prepared, labels: Array, observer: Observer) -> tuple[list[Fold], Array | None]:
    """Return the rows that counting readers learn from and those that they are weighed by, and the groups of the rows.

    Args:
        labels: of the training rows, then of the validation rows. Each fold keeps their proportion.
    """
    train, groups = prepared.splits.train, _groups(prepared.splits.train)
    if prepared.splits.validation is not None:
        cut = train.frame.height
        return [Fold(learned=np.arange(cut), held_out=np.arange(cut, len(labels)))], groups
    same = text_keys(train.frame["text"]).rank("dense").to_numpy()
    if groups is None and repeats_few(same):
        observer.on_message(
            f"the {len(same):,} rows repeat {counted(len(np.unique(same)), 'text')}, so held-out rows repeat texts "
            "that were learned; the accuracy below is that of texts seen before"
        )
    return folds_of(labels, seed=prepared.recipe.training.seed, groups=groups, texts=same), groups


def fit_or_read(
    prepared: Prepared, rows: int, observer: Observer, fit: Callable[[pl.Series], FittedCounting]
) -> FittedCounting:
    """Fit a counting reader to the texts of all rows, or read it if this run has fitted it before."""
    tables, names = _tables(prepared), prepared.labels
    work = None if prepared.work is None else prepared.work / _FOLDER
    fitted = _kept(work, len(names.names), multilabel=names.multilabel)
    if fitted is None:
        some = f", and to {tables[0].frame.height:,} of them to find its weight" if len(tables) > 1 else ""
        observer.on_message(f"fitting the counting reader to all {rows:,} rows{some}")
        fitted = fit(pl.concat([table.frame["text"] for table in tables], rechunk=False))
        if work is not None:
            _keep(work, fitted)
    return fitted


def _tables(prepared: Prepared) -> list[Table]:
    splits = prepared.splits
    return [splits.train] if splits.validation is None else [splits.train, splits.validation]


def weigh_readers(counting: LearnedCounting, transformer: FloatArray | None) -> tuple[Readers, float, dict[str, Any]]:
    """Find the weights of both readers, and one temperature, by the held-out rows.

    The transformer gets the weight 0 unless it explains these rows clearly better together with the counting reader.

    Args:
        transformer: its logits (rows, n_classes) for the held-out rows. None if it was not trained.

    Returns:
        The weights, the temperature, and figures for people.
    """
    labels, multilabel = counting.labels, counting.labels.ndim == 2
    alone = join([counting.held_out], labels, multilabel=multilabel, row_weights=counting.row_weights)
    weights: tuple[float, ...] = (max(alone.weights[0], _LEAST_WEIGHT), 0.0)
    gain = None
    if transformer is not None:
        both = join([counting.held_out, transformer], labels, multilabel=multilabel, row_weights=counting.row_weights)
        gain = (alone.loss - both.loss) * (labels.shape[1] if multilabel else 1)  # with several labels it is a mean
        gain /= float(np.square(counting.row_weights).sum() / counting.row_weights.sum())  # heavy rows vary more
        weights = both.weights if gain > GAIN else weights
    others = np.zeros_like(counting.held_out) if transformer is None else transformer
    logits = {"counting": weights[0] * counting.held_out, "transformer": weights[1] * others}
    together = logits["counting"] + logits["transformer"]
    readers = {
        name: ReaderConfig(weight=weight, temperature=fit_temperature(logits[name], labels, multilabel=multilabel))
        for name, weight in zip(logits, weights, strict=True)
    }
    figures = {
        "held_out_rows": len(labels),
        "folds": len(counting.folds),
        "gain_in_nats": gain,
        "counting_accuracy": _accuracy(counting.held_out, labels),
        "transformer_accuracy": None if transformer is None else _accuracy(transformer, labels),
        "accuracy": _accuracy(together, labels),
        "counting_seconds": round(counting.fitted.seconds, 2),
    }
    return Readers(**readers), fit_temperature(together, labels, multilabel=multilabel), figures


def readers_in_words(readers: Readers, figures: dict[str, Any]) -> str:
    """Say which reader answers, by the held-out rows."""
    rows = counted(figures["held_out_rows"], "held-out row")
    if figures["folds"] > 1:
        rows = f"all {figures['held_out_rows']:,} rows, each answered without having been learned"
    return f"readers: accuracy on {rows}: {each_alone(readers, figures)}"


def each_alone(readers: Readers, figures: dict[str, Any]) -> str:
    """Return the accuracy of each reader, and what follows from it."""
    alone = f"counting alone {figures['counting_accuracy']:.4f}"
    if figures["transformer_accuracy"] is None:
        return f"{alone}. No transformer was trained, so the model answers by counting"
    alone += f", the transformer alone {figures['transformer_accuracy']:.4f}"
    if readers.counting_alone:
        return f"{alone}. These rows do not show that the transformer helps, so the model answers by counting alone"
    lower = figures["gain_in_nats"] / figures["held_out_rows"]
    return f"{alone}, both together {figures['accuracy']:.4f}, with a log loss {lower:.4f} lower than that of counting"


def _accuracy(logits: FloatArray, labels: Array) -> float:
    multilabel = labels.ndim == 2
    return float(correct_rows(probabilities(logits, multilabel=multilabel), labels, multilabel=multilabel).mean())


def _groups(table: Table) -> Array | None:
    frame = table.frame
    return frame["group"].rank("dense").to_numpy() if "group" in frame.columns else None


def _weights_of(table: Table) -> FloatArray:
    frame = table.frame
    weights = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    return weights.astype(np.float32)


def _kept(work: Path | None, n_classes: int, *, multilabel: bool) -> FittedCounting | None:
    """Return the reader that an interrupted run has fitted, or None."""
    found = kept_held_out(work)
    if work is None or found is None:
        return None
    try:
        reader = CountingReader.load(work, n_classes=n_classes, multilabel=multilabel)
    except GlassformerError:  # damaged: fit again
        return None
    return FittedCounting(reader=reader, held_out=found[0], seconds=found[1])


def _keep(work: Path, fitted: FittedCounting) -> None:
    """Write the reader for `_kept`. The held-out logits, which say that it is complete, are written last."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    fitted.reader.save(work)
    keep_held_out(work, fitted.held_out, fitted.seconds)
