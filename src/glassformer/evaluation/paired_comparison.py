"""Compare two models on the same labelled rows: which is more accurate, by how much, and on which texts they differ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Bool

from glassformer.data.inputs import shown
from glassformer.data.labels import LabelSet
from glassformer.data.sources import read_like_training
from glassformer.data.spellings import fold_labels, label_key
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.data.wording import counted, label_name
from glassformer.errors import UsageError
from glassformer.evaluation.intervals import bootstrap_mean, mcnemar, share_right
from glassformer.evaluation.metrics import correct_rows, measure
from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.seen_rows import counted_of, effect_of, remembered_rows, shared
from glassformer.evaluation.verdict import macro_f1_against, p_value, same_rows_right, share, signed
from glassformer.prediction.predictor import Predictor

SIGNIFICANT = 0.05
_LABELS_NAMED = 10


class Flip(Record):
    """A text that only one of the two models answers rightly."""

    row: int
    text: str
    truth: str
    answer_a: str
    answer_b: str


class ModelComparison(Record):
    """The comparison of model A with model B. `difference` is A's accuracy − B's on the same rows."""

    model_a: str
    model_b: str
    data: str
    data_sha256: str
    rows: int
    accuracy_a: Estimate
    accuracy_b: Estimate
    macro_f1_a: Estimate
    macro_f1_b: Estimate
    difference: Estimate
    only_a_right: tuple[Flip, ...]
    only_b_right: tuple[Flip, ...]
    mcnemar_p: float
    verdict: str
    notes: tuple[str, ...]
    seed: int


def compare_models(
    folder_a: Path,
    folder_b: Path,
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    multilabel: str | None = None,
    fold_labels: bool = False,
    device: str = "cpu",
    data_dir: Path | None = None,
    seed: int = 0,
) -> ModelComparison:
    """Answer a labelled table with both models and compare the answers row by row.

    The difference has a paired 95% bootstrap interval, and p is that of McNemar's exact test. By default, columns and
    the folding of labels are those of model A.

    Raises:
        UsageError: both are the same folder, the table cannot be read, or the labels of the models or of the table
            differ.
    """
    if folder_a.resolve() == folder_b.resolve():
        raise UsageError(f"{folder_a} and {folder_b} are the same model; name two")
    predictors = [Predictor.load(folder, device=device) for folder in (folder_a, folder_b)]
    label_set, other = (predictor.trained.config.label_set for predictor in predictors)
    remembered = predictors[0].trained.config.remembered
    fold = fold_labels or remembered.fold_labels
    if differ := _how_labels_differ(label_set, other, fold=fold):
        raise UsageError(
            f"{folder_a} answers with {_some(label_set.names)}; {folder_b} answers with {_some(other.names)}; {differ}"
        )
    inputs, others = (predictor.trained.config.inputs for predictor in predictors)
    how: dict[str, Any] = {"text": text, "label": label, "multilabel": multilabel, "fold": fold}
    read = partial(read_like_training, data, remembered.read_as, data_dir, labels=label_set.names, **how)
    table = read(inputs=inputs)
    table_b = table if others == inputs else _same_rows(table, read(inputs=others))
    texts = list(map(shown, table.frame["text"]))
    both = zip((folder_a, folder_b), predictors, strict=True)
    of_each = zip(predictors, (table, table_b), strict=True)
    (right, answers, macro_f1) = zip(*(_answered(*each, seed, fold=fold) for each in of_each), strict=True)
    found = compare_right_rows((str(folder_a), str(folder_b)), right, [each.value for each in macro_f1], seed=seed)

    def flips(chosen: np.ndarray) -> tuple[Flip, ...]:
        return tuple(
            Flip(
                row=table.frame["row"][i],
                text=texts[i],
                truth=_shown(table.frame["label"][i]),
                answer_a=answers[0][i],
                answer_b=answers[1][i],
            )
            for i in np.flatnonzero(chosen).tolist()
        )

    return ModelComparison(
        model_a=str(folder_a),
        model_b=str(folder_b),
        data=table.source,
        data_sha256=fingerprint(table),
        rows=len(texts),
        accuracy_a=found.accuracies[0],
        accuracy_b=found.accuracies[1],
        macro_f1_a=macro_f1[0],
        macro_f1_b=macro_f1[1],
        difference=found.difference,
        only_a_right=flips(right[0] & ~right[1]),
        only_b_right=flips(right[1] & ~right[0]),
        mcnemar_p=found.p,
        verdict=found.verdict,
        notes=(*table.notes, *itertools.chain(*(_seen(each, predictor, table, data_dir) for each, predictor in both))),
        seed=seed,
    )


@dataclass(frozen=True, kw_only=True)
class RightRows:
    """Which of two classifiers is right on more rows, and whether that may be chance."""

    accuracies: tuple[Estimate, Estimate]
    difference: Estimate
    p: float
    verdict: str


def compare_right_rows(
    names: tuple[str, str], right: Sequence[Bool[np.ndarray, " n"]], macro_f1: Sequence[float], *, seed: int = 0
) -> RightRows:
    """Compare two classifiers by the rows that each answers rightly.

    Args:
        right: for each classifier, whether it is right on each of the same rows.
        macro_f1: of each classifier.
    """
    accuracies = (share_right(right[0], seed=seed), share_right(right[1], seed=seed))
    difference = bootstrap_mean(right[0].astype(np.int8) - right[1].astype(np.int8), seed=seed)
    p = mcnemar(right[0], right[1])[2]
    return RightRows(
        accuracies=accuracies,
        difference=difference,
        p=p,
        verdict=_verdict(names, accuracies[0], macro_f1, difference, p, len(right[0])),
    )


def _how_labels_differ(ours: LabelSet, theirs: LabelSet, *, fold: bool) -> str:
    """Return why models with these labels cannot be compared, or nothing if they can."""
    if (set(ours.names), ours.multilabel) == (set(theirs.names), theirs.multilabel):
        return ""
    keys = [sorted(map(label_key, labels.names)) for labels in (ours, theirs)]
    if keys[0] != keys[1] or ours.multilabel != theirs.multilabel:
        return "only models of the same labels can be compared"
    return "" if fold else "the labels differ only by case or white space; `fold_labels=True` takes them for the same"


def _seen(folder: Path, predictor: Predictor, table: Table, data_dir: Path | None) -> list[str]:
    """Return a note if texts of the table were among those that a model was trained or validated on."""
    config = predictor.trained.config
    seen = remembered_rows(config.remembered, config.label_set.encode, data_dir)
    if isinstance(seen, str):
        return [f"{folder}: {seen}; it is not known whether it saw texts of this table in training"]
    number = shared(table, seen.train, *([] if seen.validation is None else [seen.validation]))
    if not number:
        return []
    return [f"{folder}: {counted_of(number, table)} also training or validation texts; {effect_of(number, table)}"]


def _same_rows(table: Table, other: Table) -> Table:
    """Return the table as another model reads it. Raises `UsageError` if one of both needs a text that a row lacks."""
    if not table.frame["row"].equals(other.frame["row"]):
        raise UsageError(
            f"{table.source}: a row has the text of one model and not that of the other; remove the rows without both"
        )
    return other


def _answered(
    predictor: Predictor, table: Table, seed: int, *, fold: bool
) -> tuple[Bool[np.ndarray, " n"], list[str], Estimate]:
    """Return which rows a model answers rightly, its answers, and its macro F1."""
    labels = predictor.trained.config.label_set
    truth = labels.encode(fold_labels(table, labels.names) if fold else table)
    answered = predictor.answer(table.frame["text"].to_list())
    right = correct_rows(answered.probs, truth, multilabel=labels.multilabel)
    metrics = measure(answered.probs, truth, labels.names, multilabel=labels.multilabel, seed=seed)
    return right, [_shown(answer) for answer in answered.predictions()], metrics.macro_f1


def _shown(answer: object) -> str:
    """Return the label, or several labels joined."""
    return "|".join(map(label_name, answer)) if isinstance(answer, (list, pl.Series)) else label_name(answer)


def _some(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _LABELS_NAMED:,} more" if len(labels) > _LABELS_NAMED else ""
    return ", ".join(labels[:_LABELS_NAMED]) + more


def _verdict(
    names: tuple[str, str],
    accuracy_a: Estimate,
    macro_f1: Sequence[float],
    difference: Estimate,
    p: float,
    rows: int,
) -> str:
    name_a, name_b = names
    low, high = difference.low, difference.high
    if low == high == 0:
        return f"{name_a} and {name_b} {same_rows_right(accuracy_a.value, rows)}."
    if p < SIGNIFICANT and low * high > 0:
        better, worse = (name_a, name_b) if low > 0 else (name_b, name_a)
        near, far = sorted((abs(low), abs(high)))
        size = f"{share(abs(difference.value))} (95% interval {share(near)} to {share(far)}, {p_value(p)})"
        against = macro_f1_against(name_a, macro_f1[0], name_b, macro_f1[1], more_accurate=better)
        return f"{better} is more accurate than {worse} by {size}.{against}"
    size = f"{signed(difference.value)} (95% interval {signed(low)} to {signed(high)}, {p_value(p)})"
    return f"No clear difference between {name_a} and {name_b} on {counted(rows, 'row')}: {size}."
