"""Run the training of a model that answers with a number. The steps are those of `run.py`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor

from glassformer.data.arrays import FloatArray, Numbers
from glassformer.data.labels import LabelSet
from glassformer.data.numbers import check_varies, numbers_of
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.data.wording import counted, figure, short
from glassformer.errors import UsageError
from glassformer.evaluation.drift import LabelFigures
from glassformer.models.model_config import ModelConfig
from glassformer.models.pretrained import PretrainedConfig
from glassformer.prediction.answering_config import TRANSFORMER, Readers
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.counting.ridge import fit_ridge, strata_of
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import NumberSaying
from glassformer.targets.number.held_out import HeldOutNumbers, Mean, ReaderAlone, Scale
from glassformer.targets.number.target import COVERAGE, Number, number_of, rows_needed
from glassformer.targets.number.training_held_out import HeldOutNumberRows, Off, readers_in_words
from glassformer.targets.number.training_regression import (
    JoinedNumbers,
    Regression,
    join_numbers,
    mean_loss,
    number_losses,
)
from glassformer.targets.review import places
from glassformer.tracing.snapshot import Scored
from glassformer.training import preparation
from glassformer.training.loop import Observer
from glassformer.training.objectives import check_one_label
from glassformer.training.preparation import Prepared, check_head, rules_of
from glassformer.training.readers import GAIN, LearnedReaders, Lessons, helpful, judged_by
from glassformer.training.recipe import Recipe
from glassformer.training.run import Ended, finished_model


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedNumber(Prepared):
    """A run before its first step. Its only label is the column that is learned."""

    family: ClassVar = "number"

    scale: Scale

    @property
    def in_words(self) -> str:
        scale = self.scale
        return f"numbers from {short(scale.lowest)} to {short(scale.highest)}, mean {short(scale.mean)}"

    def encoded(self, table: Table) -> np.ndarray[Any, Any]:
        """Return the numbers as the readers learn them: (rows,), float32."""
        return ((numbers_of(table) - self.scale.mean) / self.scale.deviation).astype(np.float32)

    def label_figures(self, table: Table) -> LabelFigures:
        return LabelFigures("number", {"number": numbers_of(table)})

    @property
    def scored(self) -> Scored:
        return Scored(
            loss=partial(mean_loss, config=self.recipe.training),
            answers=partial(_in_its_unit, scale=self.scale),
            unit="as training counts it",
            column=self.labels.names[0],
        )

    @property
    def saying(self) -> NumberSaying:
        return NumberSaying(column=self.labels.names[0], mean=self.scale.mean, deviation=self.scale.deviation)

    @cached_property
    def class_weights(self) -> Tensor:
        return torch.ones(1)

    def errors(self, answers: Numbers, left_out: Numbers) -> Numbers:  # noqa: ARG002
        """Return how far the right numbers of held-out rows are from their answers, in their unit: (rows,).

        Args:
            answers: on the scale of training, with weights that are fitted to these rows.
            left_out: the errors if the weights are fitted without the row.
        """
        return left_out * self.scale.deviation

    def task(self, beside: Sequence[FloatArray] = ()) -> Regression:
        return Regression(self.data, self.training, max_seq_len=self.recipe.model.max_seq_len, beside=beside)


def _in_its_unit(scores: FloatArray, scale: Scale) -> FloatArray:
    """Return scores (texts, 1) of the transformer alone as numbers. Not a lambda: a time lapse of it can be pickled."""
    return scale.mean + scale.deviation * scores


def warn(trained: TrainedModel, _: Splits, observer: Observer) -> None:
    """Say it if the answers are not better than the mean, or if too few rows were held out for intervals."""
    held_out = number_of(trained.config.target).held_out(trained.metrics)
    if held_out is None:
        return
    if held_out.r2 <= 0:
        observer.on_message(
            f"warning: on held-out rows the answers explain nothing of the variance (R² {figure(held_out.r2)}): the "
            "model learned nothing that helps. Check the column"
        )
    if held_out.rows < (needed := rows_needed(COVERAGE)):
        observer.on_message(
            f"warning: answers will have no intervals: {counted(held_out.rows, 'row was', 'rows were')} held out, and "
            f"intervals of {COVERAGE:.0%} need at least {needed}. Hold out more rows"
        )


def prepare(sources: Sources, recipe: Recipe, **how: Any) -> PreparedNumber:
    """Split the rows (see `prepare`, also for the arguments)."""
    check_recipe(recipe)
    labels = LabelSet(names=(sources.train.label_column or "number",))
    check_head(recipe, labels)
    check_varies(numbers_of(sources.train), sources.train)
    prepared = preparation.prepare(sources, recipe, labels=labels, **how)
    splits = prepared.splits
    learned = numbers_of(splits.train)
    check_varies(learned, splits.train)
    if splits.validation is not None:
        so = "nothing can be measured on them. Hold out more rows, or others"
        check_varies(numbers_of(splits.validation), splits.validation, rows="held-out row", so=so)
    if learned.std() == 0:
        raise UsageError(f"{splits.train.source}: the numbers are too small or too close together; multiply them first")
    scale = Scale(
        mean=float(learned.mean()),
        deviation=float(learned.std()),
        lowest=float(learned.min()),
        highest=float(learned.max()),
    )
    found = PreparedNumber(**{each.name: getattr(prepared, each.name) for each in fields(prepared)}, scale=scale)
    rules_of(recipe.model, found.saying)
    return found


def check_recipe(recipe: Recipe) -> None:
    """Raise `UsageError` if the design answers with labels only, or the recipe sets what only labels have."""
    if not isinstance(recipe.model, ModelConfig | PretrainedConfig):
        raise UsageError(f"model.design = {recipe.model.design!r} answers with labels, not with a number; leave it out")
    if recipe.training.class_weights != "none":
        raise UsageError("training.class_weights: a number has no classes to weigh; leave it out")
    if recipe.training.costs:
        raise UsageError("`training.costs=`: a number has no labels that could be missed; leave it out")
    if recipe.training.label_smoothing:
        raise UsageError("training.label_smoothing: a number has no labels to smooth; leave it out")
    check_one_label(recipe.training, given="a number")


def lessons(prepared: Prepared, *, fewest: int | None = None) -> Lessons:  # noqa: ARG001 (all n-grams are kept)
    """Return what the readers beside the transformer learn."""
    parts = [prepared.train_labels] + ([] if prepared.validation_labels is None else [prepared.validation_labels])
    targets, seed = np.concatenate(parts).astype(np.float64), prepared.recipe.training.seed
    return Lessons(
        truth=targets,
        strata=strata_of(targets),
        weights=np.ones(len(targets), np.float32),
        loss=lambda scores, truth: number_losses(scores[:, 0], truth.to(scores.dtype), prepared.recipe.training),
        fit_counting=lambda texts, folds, groups, _: fit_ridge(texts, targets, folds=folds, groups=groups, seed=seed),
    )


def finish(run: Ended) -> tuple[TrainedModel, HeldOutNumberRows | None]:
    """Weigh the readers by the held-out rows. Return the model as the model folder will hold it, and these rows."""
    prepared, learned, crossed = run.prepared, run.learned, run.crossed
    assert isinstance(prepared, PreparedNumber)
    bias, readers, held_out, off = _weighed(prepared, learned, run.transformer)
    rows = None if off is None else HeldOutNumberRows(**HeldOutNumberRows.where(prepared, learned), off=off)
    if held_out is not None:
        cut_short = crossed is not None and crossed.broken is not None
        held_out = held_out.model_copy(update={"cut_short": cut_short, **run.seen[1]})
    target = Number(column=prepared.labels.names[0], scale=prepared.scale, bias=bias)
    metrics = _held_out_metrics(run, held_out, rows)
    trained = _on_base(finished_model(run, target=target, readers=readers, metrics=metrics), target.base)
    if held_out is not None and not prepared.record:  # of a student, these are the numbers of its teacher
        said = readers_in_words(held_out, trained.config.weights)
        run.trainer.observer.on_message(f"readers: R² on {judged_by(held_out.rows, held_out.folds)}: {said}")
    return trained, rows


def _on_base(trained: TrainedModel, base: float) -> TrainedModel:
    """Return the model with rules whose decisions take the place of the bias too."""
    readers = {
        name: replace(reader, saying=reader.saying.model_copy(update={"mean": base}))
        if isinstance(reader, RulesReader)
        else reader
        for name, reader in trained.readers.items()
    }
    return replace(trained, readers=readers)


def gain(learned: LearnedReaders, transformer: FloatArray) -> float:
    """Return the nats by which the transformer raises the log likelihood of held-out rows over the other readers."""
    others, truth, fixed = [each[:, 0] for each in learned.weighed.values()], learned.truth, learned.fixed
    return _nats(join_numbers([*others, transformer[:, 0]], truth, fixed), join_numbers(others, truth, fixed))


def doubts(table: Table) -> list[str]:  # noqa: ARG001
    return []


def news(sources: Sources) -> list[str]:  # noqa: ARG001
    return []


def _held_out_metrics(run: Ended, held_out: HeldOutNumbers | None, rows: HeldOutNumberRows | None) -> dict[str, Any]:
    """Return the entries of `metrics.json` about held-out rows. A model that explains nothing doubts no number."""
    if held_out is None or rows is None:
        return {}
    taught = bool(run.prepared.record)  # a teacher's table may have no numbers
    added = run.source is not None and bool(run.source.added)  # rows of several tables
    kept = None if taught else rows.kept(numbered=not added)
    found: dict[str, Any] = {"held_out": held_out.model_copy(update={"kept": kept}).model_dump()}
    if held_out.r2 > 0 and not taught and not added:
        doubts = rows.doubts()
        found |= {} if doubts is None else {"number_doubts": doubts.model_dump()}
    return found


def _weighed(
    prepared: PreparedNumber, learned: LearnedReaders | None, transformer: FloatArray | None
) -> tuple[float, Readers | None, HeldOutNumbers | None, Off | None]:
    """Find the weights of all readers. Each after the first gets 0 unless the answers are clearly better with it.

    Args:
        transformer: its answers (rows, 1) to the held-out rows, on the scale of training. None if it was not trained.

    Returns:
        The bias, the weights, figures, and how far each held-out row is off. The last two are None if nothing was held
        out.
    """
    held_out = {} if learned is None else {name: found[:, 0] for name, found in learned.weighed.items()}
    given = [] if learned is None else [name for name in learned.fitted if name not in held_out]
    fixed = None if learned is None else learned.fixed
    held_out |= {} if transformer is None else {TRANSFORMER: transformer[:, 0]}
    truth = prepared.validation_labels if learned is None else learned.truth
    if truth is None or not (held_out or given):
        return 0.0, None, None, None
    rows = len(truth)

    def joined(names: Sequence[str]) -> JoinedNumbers:
        return join_numbers([held_out[name] for name in names], truth, fixed)

    alone = {name: join_numbers([each], truth) for name, each in held_out.items()}
    chosen, found = helpful(list(held_out), joined, lambda without, with_it: _nats(with_it, without) > GAIN)
    weights = dict.fromkeys([*held_out, *given, TRANSFORMER], 0.0) | dict(zip(chosen, found.weights, strict=True))
    weights |= dict.fromkeys(given, 1.0)
    answers = found.answers
    off = found.left_out * prepared.scale.deviation  # the weights were fitted to these rows
    errors = prepared.errors(answers, found.left_out)
    spread = max(float(np.square(truth - truth.mean()).sum()), 1e-12)  # a teacher may answer all texts alike
    figures = HeldOutNumbers(
        rows=rows,
        folds=1 if learned is None else len(learned.folds),
        r2=_r2(found, spread),
        mae=float(np.abs(off).mean()),
        spearman=rank_correlation(answers, truth),
        readers={
            name: ReaderAlone(r2=_r2(each, spread), bias=each.bias, weight=each.weights[0])
            for name, each in alone.items()
        },
        known=None if len(errors) == rows else len(errors),
        distances=distances(np.abs(errors)),
        answer=Mean.of(prepared.scale.mean + prepared.scale.deviation * answers),
    )
    others = {name: each.left_out * prepared.scale.deviation for name, each in alone.items() if len(alone) > 1}
    unruled = found.without_given * prepared.scale.deviation if given else None
    off_all = Off(model=off, alone=others, ranked=answers, unruled=unruled)
    return found.bias, Readers.weighing(weights), figures, off_all


def _r2(joined: JoinedNumbers, spread: float) -> float:
    return 1 - float(np.square(joined.left_out).sum()) / spread


def _nats(both: JoinedNumbers, alone: JoinedNumbers) -> float:
    """Return how much the log likelihood of rows with normal errors is higher with a reader more."""
    if both.error >= alone.error:
        return 0.0
    return both.fitted / 2 * math.log(alone.error / max(both.error, 1e-300))


def distances(off: np.ndarray[Any, Any]) -> tuple[float | None, ...]:
    """Return the ⌈(n + 1) · share⌉-th smallest of n distances for 1%, … 99%, or None if n is too small."""
    found = np.append(np.sort(off), np.inf)[places(len(off) + 1)[:99] - 1]
    return tuple(None if math.isinf(each) else each for each in found.tolist())


def rank_correlation(answers: np.ndarray[Any, Any], truth: np.ndarray[Any, Any]) -> float | None:
    """Return Spearman's correlation, or None if all answers or all numbers are the same."""
    if answers.min() == answers.max() or truth.min() == truth.max():
        return None
    return float(spearmanr(answers, truth).statistic)
