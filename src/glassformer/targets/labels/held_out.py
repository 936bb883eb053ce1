"""What a model usually answers: the figures of its answers to rows that it had not learned."""

from __future__ import annotations

from collections import Counter
from operator import not_
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from glassformer.data.arrays import Array, FloatArray
from glassformer.targets.costs import CostRow
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.number.held_out import Mean, unseen_figures
from glassformer.targets.review import Thresholds


class HeldOutAnswers(BaseModel):
    """The answers to held-out rows (`held_out_answers` in `metrics.json`)."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    rows: int = Field(ge=1)
    labels: dict[str, float]
    """The share of the rows with each answer. With several labels per text, they do not add up to 1."""
    confidence: Mean | None
    """None if it is not known for the costs of the model, as they were changed after training."""
    unseen_share: Mean | None = None
    """See `Seen.unseen_shares`. Of a long table, some rows are read. None if the model keeps no seen words."""
    unlike_training: float | None = None
    """The share of the rows that are unlike the training data, or None."""
    thresholds: Thresholds | None = None
    """None if an older version trained the model, or if its costs were changed."""
    costs: tuple[CostRow, ...] = Field(default=(), exclude_if=not_)
    """The costs of wrong answers by which the rows were answered."""

    def under(self, costs: tuple[CostRow, ...]) -> Self:
        """Return what is known if wrong answers cost this. Other costs give other answers."""
        if costs == self.costs:
            return self
        return self.model_copy(update={"labels": {}, "confidence": None, "thresholds": None})

    @classmethod
    def of(
        cls,
        answers: LabelAnswers,
        unseen: FloatArray | None,
        *,
        threshold: float | None,
        labels: Array | None = None,
        costs: tuple[CostRow, ...] = (),
    ) -> Self:
        """Sum up the answers to held-out rows.

        Args:
            unseen: the unseen shares of these rows, or of some of them.
            threshold: the largest unseen share of a text that is not unlike the training data. Both are None if the
                model keeps no seen words.
            labels: the right labels as numbers (see `Thresholds.of`). None if they are not known.
            costs: the costs that the answers follow.
        """
        read = answers.read()
        given = Counter(str(label) for found in read for label in (found if answers.multilabel else [found]))
        return cls(
            rows=len(read),
            labels={str(label): round(given[str(label)] / len(read), 6) for label in answers.labels},
            confidence=Mean.of(answers.confidences()),
            **({} if unseen is None or threshold is None else unseen_figures(unseen, threshold)),
            thresholds=Thresholds.of(answers.probs, labels, multilabel=answers.multilabel, costs=answers.costs),
            costs=costs,
        )
