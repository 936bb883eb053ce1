"""How experiments with labels are rated: by the log loss, and by how many answers are right."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from glassformer.data.arrays import Array, BoolArray
from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.baselines import MajorityBaseline, run_baseline
from glassformer.evaluation.intervals import mcnemar, share_right
from glassformer.evaluation.metrics import correct_rows, losses
from glassformer.evaluation.record import Estimate
from glassformer.experiments.judging import Figure, Judge, Rating
from glassformer.prediction.model_folder import TrainedModel

_FEWEST_OF_CLASS = 2  # rows to learn from: see `LabelSet`


class LabelJudge(Judge):
    """Rates labels. A row is right (1) or wrong (0), and has a log loss in nats."""

    kind = "labels"
    figures = (
        Figure(key="accuracy", name="accuracy"),
        Figure(key="log_loss", name="log loss", lower_is_better=True, decides=True),
    )
    lowest: ClassVar = 0.0
    better = "more accurate"
    loss = "log loss in nats"
    without_reading = "always gave the most frequent label"

    def check_measured(self, table: Table, measured: Table) -> None:
        LabelSet.from_table(table).encode(measured)

    def check_learned(self, table: Table, learned: Table) -> None:
        names = LabelSet.from_table(table).names
        try:
            missing = set(names) - set(LabelSet.from_table(learned).names)
        except UsageError as error:
            raise _too_rare(table.source, str(error)) from error
        if missing:
            raise _too_rare(table.source, f"{min(missing)!r} would occur only in the measured rows.")

    def strata(self, table: Table) -> Array:
        return LabelSet.from_table(table).encode(table)

    def needed(self, table: Table, learned: BoolArray) -> BoolArray:
        counts = dict(_labels(replace(table, frame=table.frame.filter(learned))).value_counts().iter_rows())
        rare = [name for name in LabelSet.from_table(table).names if counts.get(name, 0) < _FEWEST_OF_CLASS]
        own = table.frame["label"]
        which = own.list.eval(pl.element().is_in(rare)).list.any() if table.multilabel else own.is_in(rare)
        return which.to_numpy()

    def never_held_out(self, table: Table, unseen: Table) -> list[str]:
        seen = set(_labels(unseen).drop_nulls().to_list())
        return [name for name in LabelSet.from_table(table).names if name not in seen]

    def rated(self, metrics: Mapping[str, Any]) -> Rating:
        best, readers = metrics["best"], metrics.get("readers", {})
        return Rating(
            loss=best.get("calibrated_loss", best["validation_loss"]),
            own_loss=best["validation_loss"],
            figure=readers.get("accuracy", best.get("validation_accuracy")),
        )

    def rows(self, trained: TrainedModel, table: Table) -> dict[str, Array]:
        probs, labels = self.answers(trained, table).astype(np.float32), trained.config.label_set.encode(table)
        return {
            "accuracy": correct_rows(probs, labels),
            "log_loss": np.round(losses(probs, labels).mean(axis=1), 6),
        }

    def rows_without_reading(self, learned: Table, table: Table) -> dict[str, Array]:
        labels = LabelSet.from_table(learned)
        answers = run_baseline(
            MajorityBaseline(len(labels.names)),
            train_texts=learned.frame["text"].to_list(),
            truth=labels.encode(learned),
            texts=table.frame["text"].to_list(),
        )
        return {"accuracy": correct_rows(answers.answers, labels.encode(table))}

    def estimate(self, key: str, rows: Array, table: Table, **drawn: Any) -> Estimate:
        if key == "accuracy":
            return share_right(rows.astype(np.bool_), **drawn)
        return super().estimate(key, rows, table, **drawn)

    def p(self, rows: Mapping[str, Array], others: Mapping[str, Array]) -> float:
        """Return p of McNemar's test."""
        return mcnemar(*(each["accuracy"].astype(np.bool_) for each in (rows, others)))[2]


PART = LabelJudge()


def _labels(table: Table) -> pl.Series:
    labels = table.frame["label"]
    return labels.explode() if table.multilabel else labels


def _too_rare(source: str, why: str) -> UsageError:
    return UsageError(
        f"{source}: when a fifth of the rows is held out to measure on, some label has too few rows left. {why} "
        "Merge or remove rare labels, or measure on another table with `test=`."
    )
