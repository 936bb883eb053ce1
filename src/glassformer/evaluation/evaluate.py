"""Assemble an evaluation from the logits of a model and the answers of baselines on the same labelled rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import polars as pl
from jaxtyping import Float, Shaped
from pydantic import JsonValue

from glassformer.data.inputs import texts_alone
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.baselines import BaselineOutcome, TfidfBaseline
from glassformer.evaluation.intervals import RESAMPLES, bootstrap_mean, mcnemar
from glassformer.evaluation.metrics import confusion_counts, correct_rows, measure
from glassformer.evaluation.ranking import class_curves, class_thresholds, ranking
from glassformer.evaluation.ranks import ranks_of
from glassformer.evaluation.readers import ReaderOutcome, which_reader_decides
from glassformer.evaluation.reliability import confidences, reliability
from glassformer.evaluation.result import (
    Calibration,
    Comparison,
    Contestant,
    DataSummary,
    DroppedRows,
    Duel,
    Evaluation,
    Machine,
)
from glassformer.evaluation.review import review
from glassformer.evaluation.slices import find_slices
from glassformer.evaluation.verdict import TRANSFORMER, TWO_READERS, verdict
from glassformer.evaluation.worst_errors import worst_errors
from glassformer.targets.probabilities import probabilities
from glassformer.targets.review import Thresholds


def evaluate(
    *,
    logits: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    texts: Sequence[str],
    rows: Sequence[int],
    class_names: Sequence[str],
    multilabel: bool,
    ordered: bool = False,
    temperature: float,
    data: DataSummary,
    model: Mapping[str, JsonValue],
    baselines: Sequence[BaselineOutcome] = (),
    readers: Sequence[ReaderOutcome] = (),
    thresholds: Thresholds | None = None,
    columns: pl.DataFrame | None = None,
    fit_seconds: float | None = None,
    predict_seconds: float | None = None,
    size_bytes: int | None = None,
    dropped: Sequence[DroppedRows] = (),
    notes: Sequence[str] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
    command: str = "",
) -> Evaluation:
    """Measure a model and the baselines on the same rows.

    Args:
        logits: the model's logits, not divided by the temperature.
        labels: class numbers (n,), or multi-hot (n, n_classes) with `multilabel`.
        rows: the row number of each text in its file; it is shown with the worst errors.
        ordered: whether each class is more than the one before it.
        temperature: the result of `fit_temperature` on the validation rows.
        model: facts about the model for the report: name, preset, parameters, versions, ….
        baselines: the results of `run_baseline`. The verdict compares the model with the most accurate one.
        readers: the results of `reader_outcomes`: both readers of the model, or none if it has only one.
        thresholds: those that held-out rows of training gave. None if the model does not know them.
        columns: other columns of the same rows (see `other_columns`), to slice by.
        fit_seconds, predict_seconds, size_bytes: the cost of the model; None if not measured.

    Raises:
        UsageError: there are no rows.
        GlassformerError: the logits are NaN or infinite, or the sizes do not match.
    """
    answers = {baseline.name: baseline.probs for baseline in baselines}
    answers |= {reader.name: reader.probs for reader in readers if reader.probs is not None}
    _check(logits, labels, texts, rows, class_names, multilabel, answers)
    probs = probabilities(logits, temperature=temperature, multilabel=multilabel)
    measured = _Rows(labels=labels, class_names=class_names, multilabel=multilabel, seed=seed, resamples=resamples)
    contestant = measured.contestant(
        TWO_READERS if readers else TRANSFORMER,
        str(model.get("name", "")),
        probs,
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        size_bytes=size_bytes,
    )
    raw = probabilities(logits, multilabel=multilabel)
    confusion = None if multilabel else confusion_counts(probs, labels)
    return Evaluation(
        data=data,
        model=dict(model),
        class_names=tuple(class_names),
        multilabel=multilabel,
        metrics=contestant.metrics,
        confusion=None if confusion is None else tuple(tuple(int(cell) for cell in line) for line in confusion),
        calibration=Calibration(
            temperature=temperature,
            before=reliability(*confidences(raw, labels, multilabel)),
            after=reliability(*confidences(probs, labels, multilabel)),
        ),
        duel=_duel(measured, contestant, probs, baselines, readers),
        class_curves=class_curves(probs, labels, class_names, multilabel=multilabel),
        ranks=ranks_of(answers | {contestant.name: probs}, labels, seed=seed, resamples=resamples) if ordered else (),
        class_thresholds=class_thresholds(probs, labels, class_names, multilabel=multilabel),
        review=review(
            probs, labels, class_names, multilabel=multilabel, thresholds=thresholds, seed=seed, resamples=resamples
        ),
        slices=find_slices(
            [texts_alone(text) for text in texts], correct_rows(probs, labels, multilabel=multilabel), columns
        ),
        worst_errors=worst_errors(probs, labels, texts, rows, class_names, multilabel=multilabel),
        dropped=tuple(dropped),
        notes=tuple(notes),
        resamples=resamples,
        seed=seed,
        machine=Machine.here(),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The labels of the measured rows, and how to measure on them."""

    labels: Shaped[np.ndarray, "n ..."]
    class_names: Sequence[str]
    multilabel: bool
    seed: int
    resamples: int

    def contestant(
        self,
        name: str,
        description: str,
        probs: Float[np.ndarray, "n n_classes"],
        *,
        fit_seconds: float | None = None,
        predict_seconds: float | None = None,
        size_bytes: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> Contestant:
        kind = self.multilabel
        return Contestant(
            name=name,
            description=description,
            metrics=measure(
                probs, self.labels, self.class_names, multilabel=kind, seed=self.seed, resamples=self.resamples
            ),
            fit_seconds=fit_seconds,
            predict_seconds=predict_seconds,
            size_bytes=size_bytes,
            ranking=ranking(probs, self.labels, self.class_names, multilabel=kind),
            notes=notes,
        )

    def compare(
        self,
        model: Contestant,
        probs: Float[np.ndarray, "n n_classes"],
        other: Contestant,
        other_probs: Float[np.ndarray, "n n_classes"],
        *,
        alike: bool = False,
    ) -> Comparison:
        correct, other_correct = (
            correct_rows(each, self.labels, multilabel=self.multilabel) for each in (probs, other_probs)
        )
        difference = bootstrap_mean(
            correct.astype(np.int8) - other_correct.astype(np.int8), seed=self.seed, resamples=self.resamples
        )
        only_model, only_other, p = mcnemar(correct, other_correct)
        return Comparison(
            baseline=other.name,
            difference=difference,
            only_model_right=only_model,
            only_baseline_right=only_other,
            mcnemar_p=p,
            verdict=verdict(
                model=model.name,
                baseline=other.name,
                accuracy=model.metrics.accuracy.value,
                baseline_accuracy=other.metrics.accuracy.value,
                macro_f1=model.metrics.macro_f1.value,
                baseline_macro_f1=other.metrics.macro_f1.value,
                difference=difference,
                p=p,
                rows=len(self.labels),
                alike=alike,
            ),
        )


def _duel(
    rows: _Rows,
    model: Contestant,
    probs: Float[np.ndarray, "n n_classes"],
    baselines: Sequence[BaselineOutcome],
    readers: Sequence[ReaderOutcome],
) -> Duel:
    contestants = [
        rows.contestant(
            baseline.name,
            baseline.description,
            baseline.probs,
            fit_seconds=baseline.fit_seconds,
            predict_seconds=baseline.predict_seconds,
            size_bytes=baseline.size_bytes,
            notes=baseline.notes,
        )
        for baseline in baselines
    ]
    asked = [(reader, reader.probs) for reader in readers if reader.probs is not None]
    counts = [reader.reader for reader, _ in asked] == ["counting"]
    comparisons = [
        rows.compare(model, probs, contestant, baseline.probs, alike=counts and baseline.name == TfidfBaseline.name)
        for contestant, baseline in zip(contestants, baselines, strict=True)
    ]
    strongest = max(range(len(contestants)), key=lambda i: contestants[i].metrics.accuracy.value, default=None)
    if len(asked) == 1:  # its answers are those of the model
        asked = []
    alone = [rows.contestant(reader.name, reader.description, own) for reader, own in asked]
    against = [rows.compare(model, probs, each, own) for each, (_, own) in zip(alone, asked, strict=True)]
    return Duel(
        model=model,
        baselines=tuple(contestants),
        comparisons=tuple(comparisons),
        verdict="No baseline was measured on these rows." if strongest is None else comparisons[strongest].verdict,
        readers=tuple(alone),
        reader_comparisons=tuple(against),
        reader_verdict=which_reader_decides(readers, model, alone, against),
    )


def _check(
    logits: Float[np.ndarray, "n n_classes"],
    labels: Shaped[np.ndarray, "n ..."],
    texts: Sequence[str],
    rows: Sequence[int],
    class_names: Sequence[str],
    multilabel: bool,
    answers: Mapping[str, Float[np.ndarray, "n n_classes"]],
) -> None:
    if len(labels) == 0:
        raise UsageError("There is no labelled row to evaluate on; give a table with at least one text and its label.")
    expected = (len(labels), len(class_names))
    sizes = {"logits": logits.shape, **{name: probs.shape for name, probs in answers.items()}}
    if multilabel:
        sizes["labels"] = labels.shape
    for what, size in sizes.items():
        if size != expected:
            raise GlassformerError(f"{what}: expected {expected[0]:,} rows × {expected[1]:,} classes, got {size}.")
    if not len(texts) == len(rows) == len(labels):
        raise GlassformerError(
            f"{len(labels):,} labels, {len(texts):,} texts and {len(rows):,} row numbers do not match."
        )
    if not np.isfinite(logits).all():
        bad = int((~np.isfinite(logits).all(axis=1)).sum())
        raise GlassformerError(f"The model gave NaN or infinite logits for {bad:,} of {len(labels):,} rows.")
