"""What a model usually answers: the figures of its answers to rows that it had not learned."""

from collections import Counter
from functools import lru_cache
from operator import not_
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.wording import label_name
from glassformer.errors import GlassformerError
from glassformer.targets.costs import CostRow, Costs
from glassformer.targets.kept_rows import KeptRows, packed, packed_numbers, places_kept, unpacked
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.number.held_out import Mean, Share
from glassformer.targets.probabilities import confidences_of, given_by
from glassformer.targets.review import Thresholds

_WHOLE = 65_535  # of a probability; 16 bits hold it


class KeptAnswers(KeptRows):
    """What was said of some of the held-out rows. When costs change, answers to them are judged anew.

    Attributes:
        probs: the probabilities (rows, labels) in 65,535ths.
        truth: the numbers of the right labels (rows,), or of several labels ones and zeros (rows, labels).
    """

    probs: str
    truth: str | None

    @classmethod
    def of(cls, probs: Array, truth: Array | None, numbers: Array | None = None) -> Self:
        """Keep some rows, evenly spread."""
        places = places_kept(*probs.shape)
        return cls(
            rows=len(places),
            probs=packed(np.rint(probs[places].astype(np.float64) * _WHOLE)),
            truth=None if truth is None else packed(truth[places]),
            numbers=None if numbers is None else packed_numbers(numbers[places]),
        )

    @model_validator(mode="after")
    def _unpacks(self) -> Self:
        for letters in (self.probs, self.truth or self.probs):
            unpacked(letters, self.rows)
        return self

    def read(self, *, multilabel: bool) -> tuple[FloatArray, Array | None]:
        """Return both arrays."""
        probs = (unpacked(self.probs, self.rows) / _WHOLE).astype(np.float32)
        truth = None if self.truth is None else unpacked(self.truth, self.rows).astype(np.int64)
        return probs, truth if truth is None or multilabel else truth[:, 0]


class HeldOutAnswers(BaseModel):
    """The answers to held-out rows (`held_out_answers` in `metrics.json`)."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    rows: int = Field(ge=1)
    labels: dict[str, Share]
    """The share of the rows with each answer. With several labels per text, they do not add up to 1."""
    confidence: Mean | None
    """None if costs were changed since, and `kept` is None."""
    unseen_share: Mean | None = None
    """See `Seen.unseen_shares`. Of a long table, some rows are read. None if the model keeps no seen words."""
    unlike_training: Share | None = None
    """The share of the rows that are unlike the training data, or None."""
    thresholds: Thresholds | None = None
    """The same."""
    costs: tuple[CostRow, ...] = Field(default=(), exclude_if=not_)
    """The costs of wrong answers by which the rows were answered."""
    kept: KeptAnswers | None = Field(default=None, exclude_if=not_)
    """None in sentiment-en alone."""

    def under(self, costs: tuple[CostRow, ...], labels: tuple[Any, ...], *, multilabel: bool) -> Self:
        """Return what is known if wrong answers cost this. Other costs give other answers.

        Args:
            labels: those of the model, in the order of its probabilities.
        """
        if costs == self.costs:
            return self
        if self.kept is None:
            return self.model_copy(update={"labels": {}, "confidence": None, "thresholds": None})
        found = _judged(self.kept, costs, tuple((label_name(label), str(label)) for label in labels), multilabel)
        sets = None if self.thresholds is None else self.thresholds.label_probability  # costs do not change them
        thresholds = found["thresholds"].model_copy(update={"label_probability": sets})
        return self.model_copy(update=found | {"thresholds": thresholds, "costs": costs})

    @classmethod
    def of(
        cls,
        answers: LabelAnswers,
        *,
        labels: Array | None = None,
        costs: tuple[CostRow, ...] = (),
        numbers: Array | None = None,
        **unseen: Any,
    ) -> Self:
        """Sum up the answers to held-out rows.

        Args:
            unseen: see `unseen_figures`. Nothing if the model keeps no seen words.
            labels: the right labels as numbers (see `Thresholds.of`). None if they are not known.
            numbers: those of the rows (see `KeptRows`).
        """
        read = answers.named
        given = Counter(str(label) for found in read for label in (found if answers.multilabel else [found]))
        return cls(
            rows=len(read),
            labels={str(label): round(given[str(label)] / len(read), 6) for label in answers.labels},
            confidence=Mean.of(answers.confidences),
            **unseen,
            thresholds=Thresholds.of(answers.probs, labels, multilabel=answers.multilabel, costs=answers.costs),
            costs=costs,
            kept=KeptAnswers.of(answers.probs, labels, numbers),
        )


@lru_cache(maxsize=4)  # it is asked for with each text
def _judged(
    kept: KeptAnswers, rows: tuple[CostRow, ...], labels: tuple[tuple[str, str], ...], multilabel: bool
) -> dict[str, Any]:
    """Return the figures of `HeldOutAnswers` that depend on costs, by the rows that were kept."""
    probs, truth = kept.read(multilabel=multilabel)
    of_labels = (
        probs.shape[1] if truth is None else max(probs.shape[1], truth.shape[1] if multilabel else truth.max() + 1)
    )
    if of_labels != len(labels):
        raise GlassformerError(
            f"metrics.json has held-out answers for {of_labels:,} labels, and config.json has {len(labels):,}: the "
            "files come from different models; copy the folder again"
        )
    costs = Costs.of(rows, [name for name, _ in labels], multilabel=multilabel)
    shares = given_by(probs, multilabel=multilabel, costs=costs).mean(axis=0)
    return {
        "rows": kept.rows,
        "labels": {shown: round(share, 6) for (_, shown), share in zip(labels, shares.tolist(), strict=True)},
        "confidence": Mean.of(confidences_of(probs, multilabel=multilabel, costs=costs)),
        "thresholds": Thresholds.of(probs, truth, multilabel=multilabel, costs=costs),
    }
