"""The readers beside the transformer: fit them, and choose those that help by held-out rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import torch
from pydantic import BaseModel, PositiveFloat

from glassformer.data.arrays import Array, FloatArray, numbers_from
from glassformer.data.json_files import as_record, read_json
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.model_config import HUB, OWN_BODY, DesignConfig, ModelConfig
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.reader_files import kind_of_reader
from glassformer.readers.body.vectors import Body, body_folder, check_body
from glassformer.readers.encoder.prediction import TextEncoder
from glassformer.readers.encoder.training import fit_encoder, read_encoder
from glassformer.readers.folds import folds_of, repeats_few
from glassformer.readers.reader import Column, FittedReader, Fold, Reader, Rows, fit_installed
from glassformer.readers.rules.fitting import fit_rules
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import Saying
from glassformer.training.loop import Observer
from glassformer.training.preparation import Prepared, rules_of
from glassformer.training.unfinished import keep_held_out, kept_held_out
from glassformer.training.word_vectors import body_reader, is_strange

GAIN = 3.32
"""The nats by which a reader must raise the log likelihood of the held-out rows: 99% of χ² with one degree of freedom,
halved (the likelihood ratio test). Not 95%, because the same rows chose the best of several epochs. With several labels
per text, the labels count as independent."""
TOO_LITTLE = "A transformer showed no sure gain on the first held-out rows"
_WITHOUT_DOUBT = ("counting", "body", "encoder", "rules")
J = TypeVar("J")


@dataclass(frozen=True, kw_only=True, eq=False)
class Lessons:
    """What the readers beside the transformer learn: all rows, those of validation last.

    Attributes:
        truth: see `Rows`, also for `weights` and `loss`.
        strata: (rows,) or (rows, labels) numbers whose proportions each fold keeps.
        fit_counting: fits the counting reader to texts, folds and the groups of the rows, given whether word vectors
            or an encoder read beside it.
    """

    truth: Array
    strata: Array
    weights: FloatArray
    loss: Callable[[Any, Any], Any]
    fit_counting: Callable[[pl.Series, Sequence[Fold], Array | None, bool], FittedReader]


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedReaders:
    """The readers beside the transformer, by name, with their scores for the held-out rows.

    If there are validation rows, these are held out. Otherwise every row is held out once, by one of the folds.

    Attributes:
        truth, row_weights: of the held-out rows.
    """

    fitted: Mapping[str, FittedReader]
    folds: Sequence[Fold]
    truth: Array
    row_weights: FloatArray

    @property
    def held_out(self) -> dict[str, FloatArray]:
        return {name: each.held_out for name, each in self.fitted.items()}

    @property
    def weighed(self) -> dict[str, FloatArray]:
        """Those that held-out rows weigh."""
        return {name: each.held_out for name, each in self.fitted.items() if each.reader.weighed}

    @property
    def fixed(self) -> FloatArray | None:
        """(rows of the folds, width) the sum of the others. None if there are none."""
        found = [each.held_out for each in self.fitted.values() if not each.reader.weighed]
        return np.sum(found, axis=0) if found else None

    @property
    def seconds(self) -> float:
        """The time that fitting took."""
        return sum(each.seconds for each in self.fitted.values())

    def of_first(self, rows: int) -> LearnedReaders:
        """Return the same with the first held-out rows alone."""
        fitted = {name: replace(each, held_out=each.held_out[:rows]) for name, each in self.fitted.items()}
        return replace(self, fitted=fitted, truth=self.truth[:rows], row_weights=self.row_weights[:rows])

    def shifted(self, by: Mapping[str, FloatArray]) -> LearnedReaders:
        """Return the same with a number (width,) added to all scores of some readers."""
        fitted = dict(self.fitted)
        for name, more in by.items():
            reader = fitted[name].reader.shifted(more)
            assert reader is not None
            fitted[name] = replace(fitted[name], reader=reader, held_out=fitted[name].held_out + more)
        return replace(self, fitted=fitted)

    def kept(self, readers: Readers | None) -> dict[str, Reader]:
        """Return those that have a weight."""
        weights = {} if readers is None else readers.weights
        return {name: each.reader for name, each in self.fitted.items() if weights.get(name)}


def learn_readers(
    prepared: Prepared, lessons_of: Callable[[Prepared], Lessons], observer: Observer, *, rules: Reader | None = None
) -> LearnedReaders | None:
    """Fit the readers that the recipe names to all rows, or read those that this run has fitted before.

    The body or encoder of a reader that was fitted before is not read again.

    Args:
        rules: those of a model, of which weights are found anew. None: they are read from the file that is named.

    Raises:
        UsageError: no installed package adds such a reader.
    """
    names = prepared.recipe.model.beside
    for name in names:
        kind_of_reader(name)  # it is refused before others are fitted
    work, shape = prepared.work, (prepared.splits.tables[-1].frame.height, len(prepared.labels.names))
    kept = {
        name: found for name in names if work is not None and (found := _kept(work / name, name, shape)) is not None
    }
    body = None if {"body", "encoder"} & kept.keys() else body_of(prepared.recipe.model)
    if "body" in names and isinstance(body, Body) and is_strange(prepared, body, observer):
        body, own = None, prepared.own_texts
        if own is None or not own.for_body:
            names = tuple(name for name in names if name != "body")
    if not names:
        return None
    if rules is None and "rules" in names and "rules" not in kept:
        rules = rules_of(prepared.recipe.model, prepared.saying)
    lessons = lessons_of(prepared)
    folds, groups = folds_for(prepared, lessons.strata, observer)
    cut = (folds, groups, not {"body", "encoder"}.isdisjoint(names))

    def fit(name: str, rows: Rows) -> FittedReader:
        if name == "body" and not isinstance(body, TextEncoder):
            return body_reader(prepared, body, rows, folds, observer)
        if isinstance(body, TextEncoder) and name == "encoder":
            device, tune = prepared.device, prepared.recipe.training.tune_body
            return fit_encoder(body, rows, folds, tune=tune, work=work, device=device, observer=observer)
        if isinstance(rules, RulesReader) and name == "rules":
            return fit_rules(rules, rows, folds, [fitted[each].held_out for each in _WITHOUT_DOUBT if each in fitted])
        return fit_installed(name, rows, folds)

    fitted: dict[str, FittedReader] = {}
    for name in names:  # rules come last
        fitted[name] = kept.get(name) or _fitted(prepared, name, lessons, cut, fit, observer)
    held_out = np.concatenate([fold.held_out for fold in folds])
    return LearnedReaders(
        fitted=fitted, folds=folds, truth=lessons.truth[held_out], row_weights=lessons.weights[held_out]
    )


def body_of(model: DesignConfig) -> Body | TextEncoder | None:
    """Return what the body or encoder reader is fitted with. Raises what `Body.load` and `read_encoder` raise."""
    if (
        not isinstance(model, ModelConfig)
        or model.body in ("none", OWN_BODY)
        or not {"body", "encoder"} & {*model.beside}
    ):
        return None
    if model.body.startswith(HUB):
        return read_encoder(model.body)
    return Body.load(body_folder(model.body))


def check_body_exists(model: DesignConfig) -> None:
    """Raise `UsageError` if a recipe names a body that does not exist, before anything is learned."""
    if isinstance(model, ModelConfig) and "body" in model.beside and model.body not in ("auto", OWN_BODY):
        try:
            check_body(body_folder(model.body))
        except UsageError as error:
            raise UsageError(f"`model.body={model.body}`: {error.message}") from error


def check_readers(model: DesignConfig, saying: Saying) -> None:
    """Raise what `learn_readers` would raise about the settings of the readers, before anything is learned."""
    check_body_exists(model)
    if "encoder" in model.beside:
        body_of(model)
    rules_of(model, saying)
    for name in model.beside:
        try:
            kind_of_reader(name)
        except UsageError as error:
            raise UsageError(f"`model.readers={name}`: {error.message}") from error


def folds_for(prepared: Prepared, labels: Array, observer: Observer) -> tuple[list[Fold], Array | None]:
    """Return the rows that counting readers learn from and those that they are weighed by, and the groups of the rows.

    Args:
        labels: of the training rows, then of the validation rows. Each fold keeps their proportion.
    """
    train, groups = prepared.splits.train, _groups(prepared.splits.train)
    if prepared.splits.validation is not None:
        cut = train.frame.height
        return [Fold(learned=numbers_from(0, cut), held_out=numbers_from(cut, len(labels)))], groups
    same = text_keys(train.frame["text"]).rank("dense").to_numpy()
    if groups is None and repeats_few(same):
        observer.on_message(
            f"the {len(same):,} rows repeat {counted(len(np.unique(same)), 'text')}, so held-out rows repeat texts "
            "that were learned; the accuracy below is that of texts seen before"
        )
    folds = folds_of(labels, seed=prepared.recipe.training.seed, groups=groups, texts=same)
    observer.on_message(f"cross-fitting: each of the {len(same):,} rows is held out once, in {len(folds)} parts")
    return folds, groups


def _fitted(
    prepared: Prepared,
    name: str,
    lessons: Lessons,
    cut: tuple[Sequence[Fold], Array | None, bool],
    fit: Callable[[str, Rows], FittedReader],
    observer: Observer,
) -> FittedReader:
    """Fit a reader, and keep it for a run that is resumed."""
    tables = prepared.splits.tables
    some = f", and to {tables[0].frame.height:,} of them to find its weight" if len(tables) > 1 else ""
    observer.on_message(f"fitting the {name} reader to all {len(lessons.truth):,} rows{some}")
    texts = pl.concat([table.frame["text"] for table in tables], rechunk=False)
    if name == "counting":
        fitted = lessons.fit_counting(texts, *cut)
    else:
        rows = Rows(
            texts=Column(texts),
            truth=lessons.truth,
            width=len(prepared.labels.names),
            weights=lessons.weights,
            loss=lessons.loss,
            inputs=prepared.splits.train.inputs,
            seed=prepared.recipe.training.seed,
            labels=prepared.labels.names,
        )
        on = [prepared.device] if prepared.device.startswith("cuda") else []
        with torch.random.fork_rng(devices=on):  # training goes on with the numbers of its own seed
            torch.manual_seed(rows.seed)
            fitted = fit(name, rows)
    if prepared.work is not None:
        _keep(prepared.work / name, fitted)
    return fitted


def helpful(
    names: Sequence[str], joined: Callable[[Sequence[str]], J], gains: Callable[[J, J], bool]
) -> tuple[list[str], J]:
    """Choose readers: those without a doubt, and then each that makes the answers to held-out rows clearly better.

    Counting and the body, or an encoder in its place, are without a doubt: both were better together than alone on
    nearly all tables, and a few rows cannot show it. The weight that one of them gets may still be 0. Without them, it
    is the first reader.

    Args:
        joined: fits the weights of some readers.
        gains: whether readers answer clearly better with one more (the second) than without it (the first).

    Returns:
        Their names, and the result of `joined` for them.
    """
    chosen = [name for name in names if name in _WITHOUT_DOUBT] or list(names[:1])
    found = joined(chosen)
    for name in [name for name in names if name not in chosen]:
        more = joined([*chosen, name])
        if gains(found, more):
            chosen.append(name)
            found = more
    return chosen, found


def judged_by(rows: int, folds: int) -> str:
    """Say by which rows the readers are measured."""
    if folds > 1:
        return f"all {rows:,} rows, each answered by readers that had not learned it"
    return counted(rows, "held-out row")


def _groups(table: Table) -> Array | None:
    frame = table.frame
    return frame["group"].rank("dense").to_numpy() if "group" in frame.columns else None


def weights_of(table: Table) -> FloatArray:
    """Return the weight of each row, (rows,)."""
    frame = table.frame
    if "weight" not in frame.columns:
        return np.ones(frame.height, np.float32)
    return frame["weight"].to_numpy().astype(np.float32)


def _kept(work: Path, name: str, shape: tuple[int, int]) -> FittedReader | None:
    """Return the reader that an interrupted run has fitted, or None."""
    found = kept_held_out(work, shape)
    if found is None:
        return None
    try:
        about = as_record(_About, read_json(work / _ABOUT_FILE), work / _ABOUT_FILE)
        reader = kind_of_reader(name).load(work)
    except GlassformerError:  # damaged: fit again
        return None
    return FittedReader(reader=reader, held_out=found[0], seconds=found[1], **dict(about))


def _keep(work: Path, fitted: FittedReader) -> None:
    """Write the reader for `_kept`. The held-out logits, which say that it is complete, are written last."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    fitted.reader.save(work)
    about = _About(odds=fitted.odds, doubts=fitted.doubts)
    (work / _ABOUT_FILE).write_text(about.model_dump_json(), encoding="utf-8")
    keep_held_out(work, fitted.held_out, fitted.seconds)


class _About(BaseModel):
    """What is kept of a reader beside its files (see `FittedReader`)."""

    odds: PositiveFloat | None
    doubts: tuple[str, ...]


_ABOUT_FILE = "about.json"
