"""Assemble an evaluation from the logits of a model and the answers of baselines on the same labelled rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

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


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a model costs. None: it was not measured."""

    fit_seconds: float | None = None
    predict_seconds: float | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """The measured rows with their labels, and how to measure on them.

    Attributes:
        labels: class numbers (n,), or multi-hot (n, n_classes) with `multilabel`.
        rows: the row number of each text in its file; it is shown with the worst errors.
        ordered: whether each class is more than the one before it.
        columns: other columns of the same rows (see `other_columns`), to slice by.
    """

    labels: Shaped[np.ndarray, "n ..."]
    texts: Sequence[str]
    rows: Sequence[int]
    class_names: Sequence[str]
    multilabel: bool
    ordered: bool = False
    columns: pl.DataFrame | None = None
    seed: int = 0
    resamples: int = RESAMPLES

    def contestant(
        self,
        name: str,
        description: str,
        probs: Float[np.ndarray, "n n_classes"],
        cost: Cost | BaselineOutcome,
        notes: tuple[str, ...] = (),
    ) -> Contestant:
        kind = self.multilabel
        return Contestant(
            name=name,
            description=description,
            metrics=measure(
                probs, self.labels, self.class_names, multilabel=kind, seed=self.seed, resamples=self.resamples
            ),
            fit_seconds=cost.fit_seconds,
            predict_seconds=cost.predict_seconds,
            size_bytes=cost.size_bytes,
            ranking=ranking(probs, self.labels, self.class_names, multilabel=kind),
            notes=notes,
        )

    def check(
        self, logits: Float[np.ndarray, "n n_classes"], answers: Mapping[str, Float[np.ndarray, "n n_classes"]]
    ) -> None:
        """Raise an error if there are no rows, sizes do not match, or logits are NaN or infinite."""
        count = len(self.labels)
        if count == 0:
            raise UsageError(
                "There is no labelled row to evaluate on; give a table with at least one text and its label."
            )
        expected = (count, len(self.class_names))
        sizes = {"logits": logits.shape, **{name: probs.shape for name, probs in answers.items()}}
        if self.multilabel:
            sizes["labels"] = self.labels.shape
        for what, size in sizes.items():
            if size != expected:
                raise GlassformerError(f"{what}: expected {expected[0]:,} rows × {expected[1]:,} classes, got {size}.")
        if not len(self.texts) == len(self.rows) == count:
            raise GlassformerError(
                f"{count:,} labels, {len(self.texts):,} texts and {len(self.rows):,} row numbers do not match."
            )
        if not np.isfinite(logits).all():
            bad = int((~np.isfinite(logits).all(axis=1)).sum())
            raise GlassformerError(f"The model gave NaN or infinite logits for {bad:,} of {count:,} rows.")

    def looked_into(self, probs: Float[np.ndarray, "n n_classes"]) -> dict[str, Any]:
        """Return the parts of an `Evaluation` that follow from the probabilities and the rows alone."""
        kind = self.multilabel
        right = correct_rows(probs, self.labels, multilabel=kind)
        confusion = None if kind else confusion_counts(probs, self.labels)
        return {
            "confusion": None if confusion is None else tuple(tuple(map(int, line)) for line in confusion),
            "class_curves": class_curves(probs, self.labels, self.class_names, multilabel=kind),
            "class_thresholds": class_thresholds(probs, self.labels, self.class_names, multilabel=kind),
            "slices": find_slices([texts_alone(text) for text in self.texts], right, self.columns),
            "worst_errors": worst_errors(probs, self.labels, self.texts, self.rows, self.class_names, multilabel=kind),
        }

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


def evaluate(
    rows: LabelledRows,
    logits: Float[np.ndarray, "n n_classes"],
    *,
    temperature: float,
    data: DataSummary,
    model: Mapping[str, JsonValue],
    baselines: Sequence[BaselineOutcome] = (),
    readers: Sequence[ReaderOutcome] = (),
    thresholds: Thresholds | None = None,
    cost: Cost = Cost(),
    dropped: Sequence[DroppedRows] = (),
    notes: Sequence[str] = (),
    command: str = "",
) -> Evaluation:
    """Measure a model and the baselines on the same rows.

    Args:
        logits: the model's logits, not divided by the temperature, which validation rows gave.
        model: facts about the model for the report: name, preset, parameters, versions, ….
        baselines: the verdict compares the model with the most accurate one.
        readers: the results of `reader_outcomes`: both readers of the model, or none if it has only one.
        thresholds: those that held-out rows of training gave. None if the model does not know them.

    Raises:
        UsageError, GlassformerError: see `LabelledRows.check`.
    """
    answers = {baseline.name: baseline.probs for baseline in baselines}
    answers |= {reader.name: reader.probs for reader in readers if reader.probs is not None}
    rows.check(logits, answers)
    probs = probabilities(logits, temperature=temperature, multilabel=rows.multilabel)
    name = TWO_READERS if readers else TRANSFORMER
    contestant = rows.contestant(name, str(model.get("name", "")), probs, cost)
    drawn: dict[str, Any] = {"seed": rows.seed, "resamples": rows.resamples}
    return Evaluation(
        data=data,
        model=dict(model),
        class_names=tuple(rows.class_names),
        multilabel=rows.multilabel,
        metrics=contestant.metrics,
        calibration=_calibration(rows, logits, probs, temperature),
        duel=_duel(rows, contestant, probs, baselines, readers),
        ranks=ranks_of(answers | {contestant.name: probs}, rows.labels, **drawn) if rows.ordered else (),
        review=review(probs, rows.labels, rows.class_names, multilabel=rows.multilabel, thresholds=thresholds, **drawn),
        **rows.looked_into(probs),
        dropped=tuple(dropped),
        notes=tuple(notes),
        **drawn,
        machine=Machine.here(),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _calibration(
    rows: LabelledRows,
    logits: Float[np.ndarray, "n n_classes"],
    probs: Float[np.ndarray, "n n_classes"],
    temperature: float,
) -> Calibration:
    raw = probabilities(logits, multilabel=rows.multilabel)
    return Calibration(
        temperature=temperature,
        before=reliability(*confidences(raw, rows.labels, rows.multilabel)),
        after=reliability(*confidences(probs, rows.labels, rows.multilabel)),
    )


def _duel(
    rows: LabelledRows,
    model: Contestant,
    probs: Float[np.ndarray, "n n_classes"],
    baselines: Sequence[BaselineOutcome],
    readers: Sequence[ReaderOutcome],
) -> Duel:
    contestants = [
        rows.contestant(baseline.name, baseline.description, baseline.probs, baseline, baseline.notes)
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
    alone = [rows.contestant(reader.name, reader.description, own, Cost()) for reader, own in asked]
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
