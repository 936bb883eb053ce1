"""What a model usually answers: the figures of its answers to rows that it had not learned."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import Counter
from functools import lru_cache
from operator import not_
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.wording import counted, label_name
from glassformer.errors import GlassformerError
from glassformer.targets.costs import CostRow, Costs
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.number.held_out import Mean, Share, unseen_figures
from glassformer.targets.probabilities import confidences_of, given_by
from glassformer.targets.review import Thresholds

_MOST_ROWS, _MOST_VALUES = 2_000, 400_000
_MOST_BYTES = 16 * _MOST_VALUES  # one row has as many values as there are labels, which may be more
_WHOLE = 65_535  # of a probability; 16 bits hold it


class KeptRows(BaseModel):
    """What was said of some of the held-out rows. When costs change, answers to them are judged anew.

    Attributes:
        probs: the probabilities (rows, labels) in 65,535ths.
        truth: the numbers of the right labels (rows,), or of several labels ones and zeros (rows, labels).
    """

    model_config = ConfigDict(frozen=True)

    rows: int = Field(ge=1, le=_MOST_ROWS)
    probs: str
    truth: str | None

    @classmethod
    def of(cls, probs: Array, truth: Array | None) -> Self:
        """Keep some rows, evenly spread."""
        rows = min(len(probs), _MOST_ROWS, max(1, _MOST_VALUES // probs.shape[1]))
        places = np.linspace(0, len(probs) - 1, rows).round().astype(np.int64)
        return cls(
            rows=rows,
            probs=_packed(np.rint(probs[places].astype(np.float64) * _WHOLE)),
            truth=None if truth is None else _packed(truth[places]),
        )

    @model_validator(mode="after")
    def _unpacks(self) -> Self:
        for packed in (self.probs, self.truth or self.probs):
            _unpacked(packed, self.rows)
        return self

    def read(self, *, multilabel: bool) -> tuple[FloatArray, Array | None]:
        """Return both arrays."""
        probs = (_unpacked(self.probs, self.rows) / _WHOLE).astype(np.float32)
        truth = None if self.truth is None else _unpacked(self.truth, self.rows).astype(np.int64)
        return probs, truth if truth is None or multilabel else truth[:, 0]


def _packed(values: Array) -> str:
    return b64encode(zlib.compress(values.astype("<u2").tobytes(), 9)).decode()


def _unpacked(packed: str, rows: int) -> Array:
    """Return the values (rows, any). Raises `ValueError` if they are damaged. A few letters may stand for gigabytes."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(b64decode(packed), _MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if not unpacking.eof or not content or len(content) % (2 * rows):
        raise ValueError(f"it does not hold as many values for each of {counted(rows, 'row')}")
    return np.frombuffer(content, "<u2").reshape(rows, -1)


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
    kept: KeptRows | None = Field(default=None, exclude_if=not_)
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
            kept=KeptRows.of(answers.probs, labels),
        )


@lru_cache(maxsize=4)  # it is asked for with each text
def _judged(
    kept: KeptRows, rows: tuple[CostRow, ...], labels: tuple[tuple[str, str], ...], multilabel: bool
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
